package pattern

import (
	"regexp/syntax"
	"testing"
)

// What exprText says is the expression that it was given: it is parsed to the same tree.
func TestExprText(t *testing.T) {
	for _, expr := range []string{
		`^\S+ "[^"]*" (?P<addr>[^ ]+)$`, `(?i)from [^a]+ [a-c]*\W`, `x(?i:y[^k])z[^K]{2,3}?`, `(?s).*[^\x00-\x7f]\D+|\PL`, `[^a-z]`, `(?i:[^b])`,
		`(?:[^"\\]|\\.)*`, `a`, `[\x{100000}-\x{10ffff}]`, `\x{100001}[^z]`, `[^x][^y]\x{100001}[\x{100000}-\x{100004}]`,
	} {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		want := tree.String()
		text := exprText(tree)
		if tree.String() != want {
			t.Errorf("%s: the tree was changed", expr)
		}
		again, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %s: %v", expr, text, err)
		}
		if got := again.String(); got != want {
			t.Errorf("%s: %s is %s, want %s", expr, text, got, want)
		}
	}
}
