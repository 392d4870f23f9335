package rules

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// What an expression may be: so much that any reasonable one fits, and so
// little that the worst is still cheap.
const (
	maxWhenText  = 1000
	maxWhenNodes = 200
	// maxWhenPattern is how many instructions all regular expressions of a
	// when may compile to: RE2 takes at most one step an instruction and byte.
	maxWhenPattern = 250
	// maxWhenRead is how many bytes of a text a regular expression looks at, so
	// that a client's long header cannot make each of its requests dear.
	maxWhenRead = 2048
)

// whenCompiler turns the checked syntax tree of an expression into closures.
// It keeps the first thing that it cannot do.
type whenCompiler struct {
	when         when
	instructions int  // of the regular expressions so far
	parameter    bool // one was named since it was last cleared
	flaw         flaw
	offset       int // of the flaw, in characters
}

// expression compiles the rule's expression, nil if it has none, and gives its
// canonical form: how it was spaced, quoted and put in parentheses makes no other
// meter.
func (c *compiler) expression(source string) (w *when, canonical string) {
	if source == "" {
		return nil, ""
	}
	var wc whenCompiler
	root := wc.parse(source)
	if root != nil {
		wc.conjuncts(root)
		canonical = "when=" + root.String()
		if !wc.when.names {
			wc.refuse(root, "names no field, so its value is the same for all events", "name one of "+whenNames)
		}
	}
	if wc.flaw.text != "" {
		c.problems = append(c.problems, Problem{Rule: c.rule, Path: "when", Text: wc.flaw.text, Fix: wc.flaw.fix, Offset: wc.offset})
		return nil, ""
	}
	return internByText(&c.whens, canonical, &wc.when), canonical
}

// parse has the expression read and its types checked by expr; nil if it does
// not pass.
func (c *whenCompiler) parse(source string) ast.Node {
	if len(source) > maxWhenText {
		c.flaw = flaw{fmt.Sprintf("the expression is too long: %d bytes", len(source)), fmt.Sprintf("use at most %d, or several rules", maxWhenText)}
		return nil
	}
	fields := make(map[string]any)
	for name := range whenTexts {
		fields[name] = ""
	}
	for name := range whenNumbers {
		fields[name] = 0
	}
	program, err := expr.Compile(source, expr.Env(fields), expr.AsBool(), expr.MaxNodes(maxWhenNodes), expr.Optimize(false),
		expr.DisableAllBuiltins(), expr.EnableBuiltin("len"), expr.EnableBuiltin("lower"), expr.EnableBuiltin("upper"))
	if err == nil {
		return program.Node()
	}
	message := err.Error()
	if at := (*file.Error)(nil); errors.As(err, &at) {
		message, c.offset = at.Message, at.From
	}
	c.flaw = explainWhen(message)
	return nil
}

var whenFix = "use the fields " + whenNames + ", and the operators that docs/rules.md lists"

// refuse notes the first node that has no place in a rule.
func (c *whenCompiler) refuse(n ast.Node, text, fix string) {
	if c.flaw.text == "" {
		c.flaw, c.offset = flaw{text, fix}, n.Location().From
	}
}

// conjuncts compiles an expression: those of its parts that "and" joins into one truth of
// the event and one of a parameter, so that the former is asked once.
func (c *whenCompiler) conjuncts(root ast.Node) {
	var add func(n ast.Node)
	add = func(n ast.Node) {
		if and, ok := n.(*ast.BinaryNode); ok && (and.Operator == "and" || and.Operator == "&&") {
			and.Operator = "and" // one spelling, for the canonical form
			add(and.Left)
			add(and.Right)
			return
		}
		c.parameter = false
		part, into := c.truth(n), &c.when.holds
		if c.parameter {
			into = &c.when.each
		}
		if before := *into; before != nil {
			*into = func(s subject) bool { return before(s) && part(s) }
		} else {
			*into = part
		}
	}
	add(root)
	if c.when.holds == nil {
		c.when.holds = func(subject) bool { return true }
	}
}

func (c *whenCompiler) unknown(n ast.Node) {
	c.refuse(n, fmt.Sprintf("%.60s is not supported in a rule", n.String()), whenFix)
}

// truth compiles a node that is true or false. It returns nil where something
// was refused, and then nothing that was compiled is used.
func (c *whenCompiler) truth(n ast.Node) truth {
	switch n := n.(type) {
	case *ast.BoolNode:
		return func(subject) bool { return n.Value }
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			n.Operator = "not"
			inner := c.truth(n.Node)
			return func(s subject) bool { return !inner(s) }
		}
	case *ast.BinaryNode:
		return c.binary(n)
	}
	c.unknown(n)
	return nil
}

func (c *whenCompiler) binary(n *ast.BinaryNode) truth {
	switch n.Operator {
	case "and", "&&":
		n.Operator = "and" // one spelling, for the canonical form
		a, b := c.truth(n.Left), c.truth(n.Right)
		return func(s subject) bool { return a(s) && b(s) }
	case "or", "||":
		if text, words := wordsOf(n); text != nil {
			return c.containsAny(text, words)
		}
		n.Operator = "or"
		a, b := c.truth(n.Left), c.truth(n.Right)
		return func(s subject) bool { return a(s) || b(s) }
	case "!=":
		same := c.equal(n)
		return func(s subject) bool { return !same(s) }
	case "==":
		return c.equal(n)
	case "<", "<=", ">", ">=":
		return c.order(n)
	case "contains":
		return c.texts(n, strings.Contains)
	case "startsWith":
		return c.texts(n, strings.HasPrefix)
	case "endsWith":
		return c.texts(n, strings.HasSuffix)
	case "matches":
		return c.matches(n)
	case "in":
		return c.in(n)
	}
	c.unknown(n)
	return nil
}

func (c *whenCompiler) equal(n *ast.BinaryNode) truth {
	switch kindOf(n.Left) {
	case reflect.String:
		return c.texts(n, func(a, b string) bool { return a == b })
	case reflect.Int:
		a, b := c.number(n.Left), c.number(n.Right)
		return func(s subject) bool { return a(s) == b(s) }
	case reflect.Bool:
		a, b := c.truth(n.Left), c.truth(n.Right)
		return func(s subject) bool { return a(s) == b(s) }
	}
	c.unknown(n)
	return nil
}

func (c *whenCompiler) order(n *ast.BinaryNode) truth {
	a, b := c.number(n.Left), c.number(n.Right)
	switch n.Operator {
	case "<":
		return func(s subject) bool { return a(s) < b(s) }
	case "<=":
		return func(s subject) bool { return a(s) <= b(s) }
	case ">":
		return func(s subject) bool { return a(s) > b(s) }
	}
	return func(s subject) bool { return a(s) >= b(s) }
}

// texts compiles an operator between two texts.
func (c *whenCompiler) texts(n *ast.BinaryNode, operator func(a, b string) bool) truth {
	a, b := c.compileText(n.Left), c.compileText(n.Right)
	return func(s subject) bool { return operator(a(s), b(s)) }
}

// in compiles membership in a list of constants or a range of numbers. Ranges
// are compared by their ends and never written out.
func (c *whenCompiler) in(n *ast.BinaryNode) truth {
	switch list := n.Right.(type) {
	case *ast.BinaryNode:
		low, lowOK := list.Left.(*ast.IntegerNode)
		high, highOK := list.Right.(*ast.IntegerNode)
		if list.Operator == ".." && lowOK && highOK {
			a := c.number(n.Left)
			return func(s subject) bool { v := a(s); return low.Value <= v && v <= high.Value }
		}
	case *ast.ArrayNode:
		return c.inList(n.Left, list.Nodes)
	}
	c.refuse(n.Right, fmt.Sprintf("%.60s is not a list of constants", n.Right.String()), "use one such as [403, 404], 400..499 or [\"GET\", \"HEAD\"]")
	return nil
}

func (c *whenCompiler) inList(value ast.Node, items []ast.Node) truth {
	var words []string
	var numbers []int
	for _, item := range items {
		switch item := item.(type) {
		case *ast.StringNode:
			words = append(words, item.Value)
		case *ast.IntegerNode:
			numbers = append(numbers, item.Value)
		default:
			c.refuse(item, fmt.Sprintf("%.60s is not a constant", item.String()), "list strings or whole numbers")
			return nil
		}
	}
	switch kind := kindOf(value); {
	case kind == reflect.String && len(numbers) == 0:
		a := c.compileText(value)
		return func(s subject) bool { return slices.Contains(words, a(s)) }
	case kind == reflect.Int && len(words) == 0:
		a := c.number(value)
		return func(s subject) bool { return slices.Contains(numbers, a(s)) }
	}
	c.refuse(value, "strings and whole numbers are never equal", "list values of the type of the field")
	return nil
}

// compileText compiles a node that is a text.
func (c *whenCompiler) compileText(n ast.Node) text {
	switch n := n.(type) {
	case *ast.StringNode:
		return func(subject) string { return n.Value }
	case *ast.IdentifierNode:
		if read, ok := whenTexts[n.Value]; ok {
			c.reads(n.Value)
			return read
		}
	case *ast.BuiltinNode:
		if change := changes[n.Name]; change != nil && len(n.Arguments) == 1 {
			inner := c.compileText(n.Arguments[0])
			return func(s subject) string { return change(inner(s)) }
		}
	}
	c.unknown(n)
	return nil
}

// number compiles a node that is a whole number.
func (c *whenCompiler) number(n ast.Node) number {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return func(subject) int { return n.Value }
	case *ast.IdentifierNode:
		if read, ok := whenNumbers[n.Value]; ok {
			c.reads(n.Value)
			return read
		}
	case *ast.BuiltinNode:
		if n.Name == "len" && len(n.Arguments) == 1 && kindOf(n.Arguments[0]) == reflect.String {
			inner := c.compileText(n.Arguments[0])
			return func(s subject) int { return utf8.RuneCountInString(inner(s)) }
		}
	}
	c.unknown(n)
	return nil
}

// reads notes that the expression reads a field.
func (c *whenCompiler) reads(name string) {
	c.when.names = true
	switch name {
	case "host":
		c.when.host = true
	case "path":
		c.when.path = true
	case "query":
		c.when.query = true
	}
	c.parameter = c.parameter || name == "parameter"
	c.when.fields |= fieldOf(name)
}

func kindOf(n ast.Node) reflect.Kind {
	if n.Type() == nil {
		return reflect.Invalid
	}
	return n.Type().Kind()
}
