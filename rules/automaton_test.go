package rules

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// Pieces of regular expressions, and of texts.
var (
	patternPieces = []string{"a", "b", "k", "S", "wp", ".", "[a-c]", "[^a]", "\\b", "\\B", "^", "$", "\\n", "(?m:^)", "(?m:$)", "\\A", "\\z", "(?s:.)", "\\s", "\\w",
		"|", "|", "(a|bk)", "(?i:ks)", "(b|)", "a+", "b*", "k?", "a{2,3}", ".*", "(a*)*", "é", "[^é]", "\\pL"}
	searchPieces = []string{"a", "b", "k", "K", "s", "S", "wp", "\n", " ", "-", "_", "aa", "é", "\u212a", "\u017f", "\x80", "", "ab"}
)

// TestAutomaton compares automata with Go's regexp, of which they are another way to say
// whether a text matches.
func TestAutomaton(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	some := func(pieces []string, most int) (text string) {
		for range r.IntN(most) {
			text += pieces[r.IntN(len(pieces))]
		}
		return text
	}
	var count [3]int
	for range 3_000 {
		pattern := some(patternPieces, 7)
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			continue // such as "^*"
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		compiled := regexp.MustCompile(pattern)
		for name, change := range map[string]func(string) string{"": strings.Clone, "lower": strings.ToLower, "upper": strings.ToUpper} {
			a := newAutomaton(program, change)
			if a == nil {
				t.Fatalf("%q needs too large a table", pattern)
			}
			for range 30 {
				text := some(searchPieces, 9)
				said := a.match(text)
				count[said]++
				if isASCII := !strings.ContainsFunc(text, func(c rune) bool { return c > 127 }); isASCII && said == undecided {
					t.Fatalf("%q on %q: undecided", pattern, text)
				}
				if want := compiled.MatchString(change(text)); said != undecided && want != (said == matches) {
					t.Fatalf("%q on %s %q: %v, want %v", pattern, name, text, !want, want)
				}
			}
		}
	}
	if min(count[matches], count[differs], count[undecided]) < 5_000 {
		t.Errorf("%d texts match, %d do not, %d are not in ASCII: the test shows little", count[matches], count[differs], count[undecided])
	}
}

// TestAutomatonTooLarge: an expression that needs exponentially many states has none, and its
// rule is judged all the same.
func TestAutomatonTooLarge(t *testing.T) {
	const pattern = "a.{30}b"
	parsed, _ := syntax.Parse(pattern, syntax.Perl)
	program, _ := syntax.Compile(parsed.Simplify())
	if newAutomaton(program, strings.Clone) != nil {
		t.Fatal("it has a table")
	}
	set, problems := Compile([]Spec{{Name: "a", Threshold: 5, When: `agent matches "` + pattern + `"`}})
	if problems != nil {
		t.Fatal(problems)
	}
	for agent, want := range map[string]bool{strings.Repeat("a", 32) + "b": true, strings.Repeat("a", 30) + "b": false} {
		ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldAgent, Agent: agent}
		if _, got := set.Meters[0].Match(&ev); got != want {
			t.Errorf("%q: %v, want %v", agent, got, want)
		}
	}
}
