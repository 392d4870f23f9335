package haproxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"edgeguard/rules"
)

// pieces mean something to haproxy.cfg, to an ACL, to a log format or to a regular
// expression.
var pieces = []string{
	"'", `"`, `\`, `\'`, `\"`, " ", "  ", "#", "}", "{", " } ", "||", " or ", " if ", "!", "$HOME", "${HOME}", "%[src]", "%", "%%", "-f", "-i", "--",
	"-m reg", "/etc/passwd", "*", "**", ".", "+", "(", ")", "[", "]", "|", "^", "$", "a", "/", ",", ";", "é", "\xff", "\u2028", `\x27`, `\n`, "&", "~",
	"http-request deny", "' http-request deny", "\n    http-request deny\n", "\r\n", "\t", "\x00", "\v",
}

// hostile returns a random path or host of these pieces.
func hostile(dice *rand.Rand, first string) string {
	var b strings.Builder
	b.WriteString(first)
	for range 1 + dice.IntN(5) {
		b.WriteString(pieces[dice.IntN(len(pieces))])
	}
	return b.String()
}

// escaped writes each byte as a client may send it.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z' || c == '/':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestHostile writes rules of hostile texts: whatever is in them, HAProxy accepts the
// config and compares with exactly that text, so that none ends its word, its line or its
// condition.
func TestHostile(t *testing.T) {
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 1))
	for range 5 {
		var specs []rules.Spec
		var paths []string
		for len(specs) < 40 {
			spec := rules.Spec{Name: fmt.Sprintf("r%d%s", len(specs), strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "", "\x00", "", "\v", "").Replace(hostile(dice, ""))), Threshold: 1}
			for range 1 + dice.IntN(100) {
				spec.Match.Path = append(spec.Match.Path, hostile(dice, "/"))
			}
			spec.Match.Fold = dice.IntN(3) == 0
			if dice.IntN(3) == 0 {
				spec.Match.Not = &rules.Match{Path: []string{hostile(dice, "*")}, Host: []string{hostile(dice, "a")}}
			}
			if _, problems := rules.Compile([]rules.Spec{spec}); problems == nil {
				specs, paths = append(specs, spec), append(paths, spec.Match.Path...)
			}
		}
		set := compile(t, specs...)
		c := ColumnsOf(set)
		a := start(t, c)
		for _, path := range paths {
			target := escaped(strings.ReplaceAll(path, "*", "x"))
			if strings.Contains(target, "%0") { // as a control character, which is left
				continue
			}
			if got, want := a.ask(t, "GET", target, "a", 200), wants(set, c, "GET", target, "a", 200); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %q: HAProxy counts %v, the rules %v", seed, target, got, want)
			}
		}
	}
}
