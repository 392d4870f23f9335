package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"edgeguard/internal/safetext"
	"edgeguard/rules"
)

// ConditionField is what of a request a leaf looks at.
type ConditionField string

// The fields. Paths are in normal form, hosts without port and in lower case, and
// methods in upper case, as rules compare them.
const (
	Path   ConditionField = "path"
	Host   ConditionField = "host"
	Method ConditionField = "method"
	Agent  ConditionField = "agent"
	Query  ConditionField = "query"
	Status ConditionField = "status"
)

// Op is how a leaf compares.
type Op string

// The comparisons of texts, in the words of `when:`. Pattern has stars.
const (
	Equals   Op = "=="
	Begins   Op = "startsWith"
	Ends     Op = "endsWith"
	Contains Op = "contains"
	Matches  Op = "matches" // a regular expression
	Pattern  Op = "pattern"
)

type kind uint8

const (
	always kind = iota
	leaf
	and
	or
	not
)

// Condition is a condition of another program's rule, or a part of one. What a rule of
// edgeguard cannot say exactly is an error, where a leaf is made or where the tree is
// written as match and expression: nothing is left out.
type Condition struct {
	kind  kind
	parts []*Condition

	field     ConditionField
	op        Op
	text      string   // of a text
	stars     []string // of a pattern: the texts between its stars
	fold      bool     // of a text: letters are compared in any case
	low, high int      // of a status
}

// Always returns the condition that every request meets.
func Always() *Condition { return &Condition{kind: always} }

// AllOf returns the condition that all parts hold.
func AllOf(parts ...*Condition) *Condition { return join(and, parts) }

// AnyOf returns the condition that one of the parts holds at least.
func AnyOf(parts ...*Condition) *Condition { return join(or, parts) }

// Negate returns the opposite.
func Negate(n *Condition) *Condition {
	if n.kind == not {
		return n.parts[0]
	}
	return &Condition{kind: not, parts: []*Condition{n}}
}

// join makes one node of parts of its kind, and leaves out what changes nothing.
func join(k kind, parts []*Condition) *Condition {
	n := &Condition{kind: k}
	for _, p := range parts {
		switch {
		case p.kind == k:
			n.parts = append(n.parts, p.parts...)
		case p.kind == always && k == or:
			return p
		case p.kind != always:
			n.parts = append(n.parts, p)
		}
	}
	if len(n.parts) == 0 {
		return Always()
	}
	if len(n.parts) == 1 {
		return n.parts[0]
	}
	return n
}

// StatusIs returns the condition that the status is one of a range.
func StatusIs(low, high int) (*Condition, error) {
	low, high = max(low, 100), min(high, 999)
	if low > high {
		return nil, errors.New("no status is in that range")
	}
	return &Condition{kind: leaf, field: Status, low: low, high: high}, nil
}

// TextIs returns the condition that a field compares so with a text. With fold, letters
// are compared in any case.
func TextIs(field ConditionField, op Op, text string, fold bool) (*Condition, error) {
	n := &Condition{kind: leaf, field: field, op: op, text: text, fold: fold}
	if err := checkText(text); err != nil {
		return nil, err
	}
	if op == Matches && strings.IndexFunc(text, beyondASCII) >= 0 {
		return nil, errors.New("the regular expression has characters beyond ASCII: edgeguard compares characters, and other programs bytes")
	}
	if op == Matches {
		return n, nil // what it compiles to is checked with the rule
	}
	if err := n.normal(); err != nil {
		return nil, err
	}
	return n, n.probe()
}

// TextLike returns the condition that the whole of a field is like a pattern: these texts,
// with any run of characters between each two.
func TextLike(field ConditionField, stars []string, fold bool) (*Condition, error) {
	if len(stars) == 1 {
		return TextIs(field, Equals, stars[0], fold)
	}
	first, last := stars[0], stars[len(stars)-1]
	switch inner := slices.ContainsFunc(stars[1:len(stars)-1], func(s string) bool { return s != "" }); {
	case len(stars) == 2 && last == "" && first != "":
		return TextIs(field, Begins, first, fold)
	case len(stars) == 2 && first == "" && last != "":
		return TextIs(field, Ends, last, fold)
	case len(stars) == 3 && first == "" && last == "" && inner:
		return TextIs(field, Contains, stars[1], fold)
	case first == "" && last == "" && !inner:
		return Always(), nil
	}
	if err := checkText(strings.Join(stars, "*")); err != nil {
		return nil, err
	}
	n := &Condition{kind: leaf, field: field, op: Pattern, fold: fold}
	for _, text := range stars {
		part := &Condition{field: field, op: Contains, text: text, fold: fold}
		if text != "" {
			if err := part.normal(); err != nil {
				return nil, err
			}
		}
		n.fold = part.fold
		n.stars = append(n.stars, part.text)
	}
	if n.fold || field != Path && field != Host {
		return nil, errors.New("a pattern with stars inside can only be said of a path in exact case, or of a host")
	}
	return n, n.probe()
}

// checkText refuses what no rule is written with.
func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("the text is empty")
	case !safetext.Plain(text) || strings.ContainsRune(text, utf8.RuneError):
		return errors.New("the text has control characters, or is not UTF-8")
	}
	return nil
}

// normal refuses a text that no field in normal form can have, and one that is compared
// in any case where that is more than it says.
func (n *Condition) normal() error {
	switch n.field {
	case Path:
		if i := strings.IndexAny(n.text, "%?#"); i >= 0 {
			return fmt.Errorf("it has %q: edgeguard compares paths without their query and with escapes decoded", n.text[i])
		}
	case Host:
		if !n.fold && strings.ToLower(n.text) != n.text {
			return errors.New("it has upper-case letters: edgeguard compares hosts in lower case")
		}
		if strings.ContainsAny(n.text, ":*") || strings.HasSuffix(n.text, ".") && (n.op == Equals || n.op == Ends) {
			return errors.New("edgeguard compares hosts without their port and last dot")
		}
		n.text, n.fold = strings.ToLower(n.text), false
	case Method:
		if !n.fold && strings.ToUpper(n.text) != n.text {
			return errors.New("it has lower-case letters: edgeguard compares methods in upper case")
		}
		n.text, n.fold = strings.ToUpper(n.text), false
	}
	if n.fold && strings.IndexFunc(n.text, beyondASCII) >= 0 {
		return errors.New("it has letters beyond ASCII: edgeguard compares these in any case, too, and other programs do not")
	}
	if n.fold {
		n.text = strings.ToLower(n.text)
	}
	return nil
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

// probe refuses what a rule refuses.
func (n *Condition) probe() error {
	value, ok := n.matchValue()
	if !ok {
		if n.field != Path || n.op == Matches {
			return nil
		}
		exact := *n // in any case, it is written the same
		exact.fold = false
		value, _ = exact.matchValue()
	}
	spec := rules.Spec{Name: "probe", Threshold: 1}
	setTerm(&spec.Match, n.field, []string{value})
	if _, problems := rules.Compile([]rules.Spec{spec}); len(problems) > 0 {
		return errors.New(problems[0].Text)
	}
	return nil
}

// matchValue returns a leaf as a value of a match, if it can be one.
func (n *Condition) matchValue() (string, bool) {
	switch {
	case n.kind != leaf || n.fold || n.op == Matches:
		return "", false
	case n.field == Status && n.low == n.high:
		return strconv.Itoa(n.low), true
	case n.field == Status:
		return fmt.Sprintf("%d-%d", n.low, n.high), true
	case n.field == Method && n.op == Equals:
		return n.text, true
	case n.field != Path && n.field != Host:
		return "", false
	}
	stars := n.stars
	switch n.op {
	case Equals:
		stars = []string{n.text}
	case Begins:
		stars = []string{n.text, ""}
	case Ends:
		stars = []string{"", n.text}
	case Contains:
		stars = []string{"", n.text, ""}
	}
	escaped := make([]string, len(stars))
	for i, text := range stars {
		escaped[i] = strings.ReplaceAll(text, "*", "%2A") // a host has none, see normal
	}
	return strings.Join(escaped, "*"), true
}

// IsAlways reports whether every request meets the condition.
func (n *Condition) IsAlways() bool { return n.kind == always }

// UsesField reports whether the condition looks at a field.
func (n *Condition) UsesField(field ConditionField) bool {
	return n.kind == leaf && n.field == field || slices.ContainsFunc(n.parts, func(p *Condition) bool { return p.UsesField(field) })
}
