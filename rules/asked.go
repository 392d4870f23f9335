package rules

import (
	"iter"
	"slices"

	"edgeguard"
)

// Unanswered is what the rules that deny say of a request while it waits, before it has an answer:
// all their terms but the status. It does not change and is safe for concurrent use.
type Unanswered struct {
	// Rules are those that can be asked, in the order of the config.
	Rules []UnansweredRule
	terms Set            // a meter for each of Rules: what remains of its match
	of    [2][2]meterSet // which are looked at: of what is asked about and not counted, and of networks
}

// UnansweredRule is one of them.
type UnansweredRule struct {
	Rule  int // index in Set.Rules
	Meter int // index in Set.Meters
	// Answers says that its meter counts what only an answer tells: the request itself is
	// not counted, wherever it is asked about.
	Answers bool
	// Wide says that it denies only the IPv6 networks around its keys, which it blocks.
	Wide bool
	// Everybody says that its key has no address. Such a rule refuses only what it counts itself, so
	// that a node asks of it only which answers were its own refusals.
	Everybody bool
}

// newUnanswered finds the rules of a set that can be asked.
func newUnanswered(s *Set) *Unanswered {
	a := new(Unanswered)
	for i := range s.Rules {
		r := &s.Rules[i]
		m := &s.Meters[r.Meter]
		key := r.Action == edgeguard.ActionDeny
		wide := slices.ContainsFunc(r.Widths, func(w Width) bool { return w.Action == edgeguard.ActionDeny && w.Asked })
		if _, ok := m.Askable(); !ok || !key && !wide {
			continue
		}
		a.Rules = append(a.Rules, UnansweredRule{i, r.Meter, m.CountsAnswers(), !key, m.Everybody})
		a.terms.Meters = append(a.terms.Meters, m.withoutAnswer())
	}
	a.terms.index = newIndex(a.terms.Meters)
	for i := range 4 {
		look, wide := i&1, i>>1
		a.of[look][wide] = make(meterSet, len(a.terms.index.always))
		for rule := range a.Rules {
			if of := &a.Rules[rule]; (look == 1 || of.Answers) && (wide == 1 || !of.Wide) {
				a.of[look][wide].add(rule)
			}
		}
	}
	return a
}

// Matches calls yield with those of Rules, by their index, of which a request of whatever kind meets
// the terms other than the status; what the event may know of an answer does not matter. Unless look is
// set, only those that count answers are looked at, and unless wide is, none that is for networks only.
// room is as for [Set.Matches].
func (a *Unanswered) Matches(ev *edgeguard.Event, look, wide bool, room []uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		a.terms.evaluate(ev, ^edgeguard.Kind(0), a.of[oneIf(look)][oneIf(wide)], room, func(i int, _ uint16) bool { return yield(i) })
	}
}

// MayMatch reports whether Matches can call yield, as far as the event's method tells.
func (a *Unanswered) MayMatch(ev *edgeguard.Event, look, wide bool) bool {
	return a.terms.index.byMethod(ev).meets(a.of[oneIf(look)][oneIf(wide)])
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// httpKinds are the kinds of which a request can be asked about.
const httpKinds = edgeguard.KindRequest | edgeguard.KindResponse

// CountsAnswers reports whether the meter counts what only an answer tells: responses, or
// events with a status.
func (m *Meter) CountsAnswers() bool {
	return m.Kind == edgeguard.KindResponse || m.Fields()&edgeguard.FieldStatus != 0
}

// Askable reports whether a request that has no answer yet can be compared with the meter's
// terms, with the fields that its source must supply for it. It cannot where an expression
// reads the status: which part of it would remain is not always to be said.
func (m *Meter) Askable() (fields edgeguard.Field, ok bool) {
	if m.Kind&httpKinds == 0 || m.when != nil && m.when.fields&edgeguard.FieldStatus != 0 {
		return 0, false
	}
	without := m.withoutAnswer()
	return without.Fields(), true
}

// withoutAnswer returns the meter's terms and key without the status. What it costs and how
// it is counted do not matter to who asks; nor does which kinds of an event it excludes,
// because a question is none of them.
func (m *Meter) withoutAnswer() Meter {
	match := m.match
	match.need &^= edgeguard.FieldStatus
	match.status, match.notKinds = nil, 0
	return Meter{
		Kind: edgeguard.KindRequest, V4: m.V4, V6: m.V6, Attributes: m.Attributes,
		match: match, when: m.when, paths: match.need&edgeguard.FieldPath != 0, fold: m.fold, cost: 1,
	}
}
