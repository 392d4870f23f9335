package rules

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// matches compiles a regular expression. It must be written out: one made
// from an event would be a stranger's.
func (c *whenCompiler) matches(n *ast.BinaryNode) truth {
	pattern, ok := n.Right.(*ast.StringNode)
	if !ok {
		c.refuse(n.Right, "a regular expression must be a quoted string", "write it out, as in path matches \"^/a\"")
		return nil
	}
	parsed, err := syntax.Parse(pattern.Value, syntax.Perl)
	if err != nil {
		c.refuse(n.Right, fmt.Sprintf("invalid regular expression %.60q: %v", pattern.Value, err), "use the syntax of RE2")
		return nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err == nil {
		c.instructions += len(program.Inst)
	}
	if c.instructions > maxWhenPattern {
		c.refuse(n.Right, fmt.Sprintf("the regular expressions take %d steps for each character", c.instructions),
			fmt.Sprintf("use fewer repetitions: at most %d steps are allowed", maxWhenPattern))
		return nil
	}
	return c.searches(n.Left, program, maxWhenRead, regexp.MustCompile(pattern.Value).MatchString) // it parsed
}

// wordsOf returns the text and the words of an expression that says no more than that one text
// contains one of them, such as path contains "a" or path contains "b"; nil of another.
func wordsOf(n ast.Node) (text ast.Node, words []string) {
	of, ok := n.(*ast.BinaryNode)
	if !ok {
		return nil, nil
	}
	switch of.Operator {
	case "contains":
		if word, ok := of.Right.(*ast.StringNode); ok {
			return of.Left, []string{word.Value}
		}
	case "or", "||":
		text, words = wordsOf(of.Left)
		if other, more := wordsOf(of.Right); text != nil && other != nil && text.String() == other.String() {
			of.Operator = "or" // one spelling, for the canonical form
			return text, append(words, more...)
		}
	}
	return nil, nil
}

// containsAny compiles whether a text contains one of some words: by one pass over it.
func (c *whenCompiler) containsAny(text ast.Node, words []string) truth {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = regexp.QuoteMeta(word)
	}
	contains := func(s string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
	}
	var program *syntax.Prog
	if parsed, err := syntax.Parse(strings.Join(quoted, "|"), syntax.Perl); err == nil {
		program, _ = syntax.Compile(parsed.Simplify()) // it never fails
	}
	return c.searches(text, program, math.MaxInt, contains)
}

// searches returns whether a text, up to a length, is one that an expression matches; slow says the
// same of any text. The automaton reads lower and upper texts as they were sent, so that they need
// not be copied.
func (c *whenCompiler) searches(n ast.Node, program *syntax.Prog, most int, slow func(string) bool) truth {
	a := c.compileText(n)
	sent, change := a, func(s string) string { return s }
	if call, ok := n.(*ast.BuiltinNode); ok && changes[call.Name] != nil && len(call.Arguments) == 1 {
		sent, change = c.compileText(call.Arguments[0]), changes[call.Name]
	}
	automaton := newAutomaton(program, change)
	return func(s subject) bool {
		if automaton != nil {
			if said := automaton.match(head(sent(s), most)); said != undecided {
				return said == matches
			}
		}
		return slow(head(a(s), most))
	}
}

// changes are the functions of one text that give another. Both keep ASCII in ASCII.
var changes = map[string]func(string) string{"lower": strings.ToLower, "upper": strings.ToUpper}

func head(s string, most int) string { return s[:min(len(s), most)] }
