package rules

import "edgeguard"

// Terms is what a meter asks of an event, written out for a program that counts in
// place of a node, such as a proxy.
type Terms struct {
	// Fields are all that the match looks at, Host, Method, Path and Status among them.
	Fields             edgeguard.Field
	Host, Method, Path Texts
	// Status is in ascending runs that do not overlap; nil where it is not asked for.
	Status   []Range
	NotKinds edgeguard.Kind
	Fold     bool // all forms of a path are compared; see [Match.Fold]
	When     bool // there is an expression besides
	// Uncountable are the terms by which no proxy can count.
	Uncountable []string
	Costs       bool   // the cost depends on the event
	Cost        uint16 // of an event, without Costs
}

// Texts are the values of one field that match: any of Any, or all where Any is nil, and
// none of None. They are in normal form.
type Texts struct{ Any, None []Glob }

// Glob is a pattern: the texts between its stars, and one text alone where it has none.
type Glob []string

// Range is a run of numbers, both ends included.
type Range struct{ Low, High uint16 }

// Terms returns what the meter asks of an event.
func (m *Meter) Terms() Terms {
	p := &m.match
	t := Terms{
		Fields: p.need, NotKinds: p.notKinds,
		Host: p.host.texts(), Method: p.method.texts(), Path: p.path.texts(),
		Fold: m.fold, When: m.when != nil, Uncountable: p.uncountable, Costs: m.charges != nil, Cost: m.cost,
	}
	for _, s := range p.status {
		t.Status = append(t.Status, Range{s.low, s.high})
	}
	return t
}

func (t *term) texts() Texts { return Texts{globs(t.these), globs(t.those)} }

func globs(texts [][]string) (out []Glob) {
	for _, parts := range texts {
		p := newPattern(parts)
		out = append(out, p.asGlob())
	}
	return out
}

func (p *pattern) asGlob() Glob {
	if p.tail == nil {
		return Glob{p.head}
	}
	return append(append(Glob{p.head}, p.tail.middle...), p.tail.end)
}
