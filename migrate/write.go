package migrate

import (
	"errors"
	"fmt"
	"strings"

	"edgeguard/rules"
)

// Write returns the condition as the match and the expression of a rule. An event meets
// both exactly if it meets the condition.
func (n *Condition) Write() (rules.Match, string, error) {
	w := writer{}
	for _, part := range conjuncts(n) {
		if err := w.conjunct(part); err != nil {
			return rules.Match{}, "", err
		}
	}
	return w.match, strings.Join(w.when, " and "), nil
}

// conjuncts returns the parts that all have to hold.
func conjuncts(n *Condition) []*Condition {
	switch {
	case n.kind == always:
		return nil
	case n.kind == and:
		var all []*Condition
		for _, p := range n.parts {
			all = append(all, conjuncts(p)...)
		}
		return all
	case n.kind == not && n.parts[0].kind == or: // none of them
		var all []*Condition
		for _, p := range n.parts[0].parts {
			all = append(all, conjuncts(Negate(p))...)
		}
		return all
	}
	return []*Condition{n}
}

// writer writes conjuncts, one after the other.
type writer struct {
	match       rules.Match
	when        []string
	comparisons int
}

// mostComparisons is more than the bounds on an expression leave room for. What has more
// is not written at all.
const mostComparisons = 100

// conjunct writes one part: as a term of the match if it can be one.
func (w *writer) conjunct(n *Condition) error {
	if field, values, ok := terms(n); ok && termOf(&w.match, field) == nil {
		setTerm(&w.match, field, values)
		return nil
	}
	if n.kind == not {
		if value, ok := n.parts[0].matchValue(); ok {
			if w.match.Not == nil {
				w.match.Not = &rules.Match{}
			}
			field := n.parts[0].field
			setTerm(w.match.Not, field, append(termOf(w.match.Not, field), value))
			return nil
		}
	}
	if w.comparisons += n.leaves(); w.comparisons > mostComparisons {
		return fmt.Errorf("an expression has room for fewer than %d comparisons", mostComparisons)
	}
	text, err := n.expression(true)
	w.when = append(w.when, text)
	return err
}

// terms returns a leaf, or leaves of one field of which one has to hold, as values of a
// match.
func terms(n *Condition) (ConditionField, []string, bool) {
	parts := []*Condition{n}
	if n.kind == or {
		parts = n.parts
	}
	var values []string
	for _, p := range parts {
		value, ok := p.matchValue()
		if !ok || p.field != parts[0].field {
			return "", nil, false
		}
		values = append(values, value)
	}
	return parts[0].field, values, true
}

func termOf(m *rules.Match, field ConditionField) []string {
	switch field {
	case Path:
		return m.Path
	case Host:
		return m.Host
	case Method:
		return m.Method
	case Status:
		return m.Status
	}
	return nil
}

func setTerm(m *rules.Match, field ConditionField, values []string) {
	switch field {
	case Path:
		m.Path = values
	case Host:
		m.Host = values
	case Method:
		m.Method = values
	case Status:
		m.Status = values
	}
}

// expression writes a part in the language of `when:`, in parentheses if it stands among
// others.
func (n *Condition) expression(among bool) (string, error) {
	switch n.kind {
	case leaf:
		return n.comparison()
	case not:
		inner, err := n.parts[0].expression(false)
		return "not (" + inner + ")", err
	case and, or:
		word := map[kind]string{and: " and ", or: " or "}[n.kind]
		texts := make([]string, len(n.parts))
		var all error
		for i, p := range n.parts {
			var err error
			texts[i], err = p.expression(true)
			all = errors.Join(all, err)
		}
		text := strings.Join(texts, word)
		if among {
			text = "(" + text + ")"
		}
		return text, all
	}
	return "", errors.New("nothing would match")
}

// comparison writes a leaf.
func (n *Condition) comparison() (string, error) {
	field := string(n.field)
	switch {
	case n.field == Status && n.low == n.high:
		return fmt.Sprintf("status == %d", n.low), nil
	case n.field == Status:
		return fmt.Sprintf("status in %d..%d", n.low, n.high), nil
	case n.op == Pattern:
		return "", errors.New("a pattern with stars inside cannot stand in an expression: write it as a rule of its own")
	case n.op == Matches && n.fold:
		return fmt.Sprintf("%s matches %s", field, quote("(?i)"+n.text)), nil
	case n.fold:
		field = "lower(" + field + ")"
	}
	return fmt.Sprintf("%s %s %s", field, n.op, quote(n.text)), nil
}

// quote writes a text as the expression language reads it. It has no control character:
// see checkText.
func quote(text string) string { return `"` + quoted.Replace(text) + `"` }

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// leaves returns how many comparisons a part has.
func (n *Condition) leaves() int {
	if n.kind == leaf {
		return 1
	}
	sum := 0
	for _, p := range n.parts {
		sum += p.leaves()
	}
	return sum
}
