package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// slowGlob is the obvious twin: it tries every run for every star.
func slowGlob(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '*' {
		return slowGlob(pattern[1:], s) || s != "" && slowGlob(pattern, s[1:])
	}
	return s != "" && s[0] == pattern[0] && slowGlob(pattern[1:], s[1:])
}

func matchOne(pattern, s string) bool {
	t := newTerm(false, [][]string{splitGlob(pattern)}, nil)
	return t.match(s)
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"/a", "/a", true},
		{"/a", "/ab", false},
		{"/ab", "/a", false},
		{"/a*", "/a", true},
		{"/a*", "/a/b/c", true},
		{"*.php", "/x.php", true},
		{"*.php", "/x.php5", false},
		{"/a*b", "/ab", true},
		{"/ab*b", "/ab", false}, // head and end must not overlap
		{"/a*/b*/c", "/a/b/c", true},
		{"/a*/b*/c", "/a/c/b/c", true},
		{"/a*/b*/c", "/a/c/b", false},
		{"**", "", true},
		{"*", "anything", true},
		{"*ab*ab*", "ab", false},
		{"*ab*ab*", "xabyabz", true},
	} {
		if got := matchOne(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

func TestPatternAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	letters := func(alphabet string, most int) string {
		b := make([]byte, random.IntN(most+1))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	matched := 0
	for range 50_000 {
		pattern, text := letters("ab*", 7), letters("ab", 9)
		want := slowGlob(pattern, text)
		if want {
			matched++
		}
		if got := matchOne(pattern, text); got != want {
			t.Fatalf("%q on %q: %v, the twin %v", pattern, text, got, want)
		}
	}
	if matched == 0 {
		t.Error("nothing ever matched: the test shows nothing")
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("/a*b", "/a/b")
	f.Add("*ab*ab*", "xabab")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if strings.Count(pattern, "*") > 4 || len(text) > 50 {
			t.Skip("the twin takes too long")
		}
		if got, want := matchOne(pattern, text), slowGlob(pattern, text); got != want {
			t.Fatalf("%q on %q: %v, the twin %v", pattern, text, got, want)
		}
	})
}

// TestTermAgainstTwin compares terms with many and few, positive and negative
// patterns with the sentence that defines them.
func TestTermAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 3_000 {
		var lists [2][]string
		var parts [2][][]string
		for side := range lists {
			for range random.IntN(2) * random.IntN(14) {
				pattern := fmt.Sprintf("%x", random.IntN(64))
				if random.IntN(5) == 0 {
					pattern = pattern[:1] + "*"
				}
				lists[side] = append(lists[side], pattern)
				parts[side] = append(parts[side], splitGlob(pattern))
			}
		}
		these, those := lists[0], lists[1]
		open := len(these) == 0
		term := newTerm(open, parts[0], parts[1])
		for n := range 70 {
			text := fmt.Sprintf("%x", n)
			want := (open || anyOf(these, text)) && !anyOf(those, text)
			if got := term.match(text); got != want {
				t.Fatalf("%q not %q on %q: %v, want %v", these, those, text, got, want)
			}
			if term.matchAsIs(text) && !want {
				t.Fatalf("%q not %q takes %q as it is", these, those, text)
			}
		}
	}
}

func anyOf(patterns []string, s string) bool {
	for _, pattern := range patterns {
		if slowGlob(pattern, s) {
			return true
		}
	}
	return false
}

// TestTermExtensions compares terms of many extensions, and of what nearly is one, with the
// same sentence.
func TestTermExtensions(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	some := func(from ...string) (text string) {
		for range random.IntN(4) {
			text += from[random.IntN(len(from))]
		}
		return text
	}
	spreads, matched := 0, 0
	for range 3_000 {
		var lists [2][]string
		var parts [2][][]string
		for side := range lists {
			for range random.IntN(2) * random.IntN(30) {
				pattern := []string{"*", "*", "*", "*", "", "/"}[random.IntN(6)] + "." + some("a", "b", "cd", "efg", "\x00", ".", "/", "*")
				lists[side] = append(lists[side], pattern)
				parts[side] = append(parts[side], splitGlob(pattern))
			}
		}
		these, those := lists[0], lists[1]
		open := len(these) == 0
		term := newTerm(open, parts[0], parts[1])
		if term.extensions != nil {
			spreads++
		}
		for range 100 {
			text := some("", "/", "x.", "xy") + "." + some("a", "b", "cd", "efg", "\x00", ".", "/")
			want := (open || anyOf(these, text)) && !anyOf(those, text)
			if got := term.match(text); got != want {
				t.Fatalf("%q not %q on %q: %v, want %v", these, those, text, got, want)
			}
			if want && !open {
				matched++
			}
		}
	}
	if spreads < 500 || matched < 5_000 {
		t.Errorf("%d terms with a map and %d matches: the test shows little", spreads, matched)
	}
}

// TestTermAsIs holds that a text which only looks like a normal form is not
// taken for one: the path /100%25 is /100%.
func TestTermAsIs(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    bool
	}{{"/xmlrpc.php", true}, {"/100%25", false}, {"/a?b", false}, {"/a*", false}} {
		term := newTerm(false, [][]string{splitGlob(c.pattern)}, nil)
		if got := term.matchAsIs(c.pattern); got != c.want {
			t.Errorf("%q as it is: %v, want %v", c.pattern, got, c.want)
		}
	}
}
