package rules

import (
	"iter"
	"math/bits"

	"edgeguard"
)

// Sets is how many sets of meters [Set.Matches] needs room for.
const Sets = 3

// Indexed reports whether Matches asks fewer than all meters.
func (s *Set) Indexed() bool { return s.index.paths >= manyPaths }

// Matches calls yield with each meter that counts the event, ascending, and with its cost: as
// [Meter.Match] says of each, but what meters have in common is looked at once. It allocates if room
// is smaller than [Sets] times a bit of each meter, and for what Match allocates for.
func (s *Set) Matches(ev *edgeguard.Event, room []uint64) iter.Seq2[int, uint16] {
	return func(yield func(int, uint16) bool) {
		s.evaluate(ev, ev.Kind, nil, room, yield)
	}
}

// evaluation is what is known of one event beside all meters of a set. The event itself is in no
// field: an expression's closures may keep it, as far as the compiler knows, and all else with it.
type evaluation struct {
	kinds edgeguard.Kind
	// found are the meters that are still to be looked at. Of those in matched and in holds it is
	// known that they have the path, and that their expression holds.
	found, matched, holds meterSet
	paths                 *forms  // of the path; nil if it has but the one in plain
	plain                 [1]form // or if no meter reads any
	charges               *charge // the first of those of the meter before, and what they said
	cost                  uint16
}

// evaluate calls yield with the meters of some kinds that match; of says which are wanted, nil
// for all.
func (s *Set) evaluate(ev *edgeguard.Event, kinds edgeguard.Kind, of meterSet, room []uint64, yield func(int, uint16) bool) {
	x := s.index
	words := len(x.always)
	if len(room) < Sets*words {
		room = make([]uint64, Sets*words)
	}
	e := evaluation{kinds: kinds, found: room[:words], matched: room[words : 2*words], holds: room[2*words : 3*words]}
	wanted := e.matched // until they are found
	var reads, folds uint64
	status, method := x.byStatus(ev), x.byMethod(ev)
	for i := range wanted {
		w := status[i] & method[i]
		if of != nil {
			w &= of[i]
		}
		wanted[i], e.found[i] = w, w&x.always[i]
		reads, folds = reads|w&x.reads[i], folds|w&x.folds[i]
	}
	if ev.Known&edgeguard.FieldPath != 0 && reads != 0 {
		path, plain := plainPath(ev.Path)
		if !plain || folds != 0 {
			e.settleOdd(s, ev, wanted, folds != 0, yield)
			return
		}
		e.plain[0].path = path
		x.normal.addMeters(e.found, wanted, path)
	}
	if e.found.isAny() {
		e.yieldMatching(s, ev, yield)
	}
}

// settleOdd is settle for a path that is compared in other forms than as it was sent. It is a
// function of its own, so that only such paths pay for the room.
//
//go:noinline
func (e evaluation) settleOdd(s *Set, ev *edgeguard.Event, wanted meterSet, fold bool, yield func(int, uint16) bool) {
	var room [pathRoom]byte
	x := s.index
	f := readForms(ev.Path, fold, room[:0])
	for _, p := range f.normal[:f.normals] {
		x.normal.addMeters(e.found, wanted, p.path)
	}
	for _, p := range f.folded[:f.folds] {
		x.folded.addMeters(e.found, wanted, p.path)
		if p.bare != "" {
			x.folded.addMeters(e.found, wanted, p.bare)
		}
	}
	e.paths = &f
	e.yieldMatching(s, ev, yield)
}

// yieldMatching calls yield with those of the found meters that match.
func (e *evaluation) yieldMatching(s *Set, ev *edgeguard.Event, yield func(int, uint16) bool) {
	clear(e.matched)
	clear(e.holds)
	for i := range e.found {
		for e.found[i] != 0 { // what does not match takes others with it
			meter := i<<6 + bits.TrailingZeros64(e.found[i])
			e.found[i] &= e.found[i] - 1
			if cost, ok := e.match(s, ev, meter); ok && !yield(meter, cost) {
				return
			}
		}
	}
}

// match is [Meter.Match] of a meter.
func (e *evaluation) match(s *Set, ev *edgeguard.Event, i int) (cost uint16, ok bool) {
	x := s.index
	m, same := &s.Meters[i], &x.same[i]
	if e.kinds&m.Kind == 0 || m.match.need&^ev.Known != 0 || !x.plain.has(i) && !m.match.matchFields(ev) {
		return 0, false
	}
	switch {
	case m.chargesPaths:
		if cost, ok = m.weighAny(ev, e.pathsOf(m)); !ok {
			return 0, false
		}
	case e.matched.has(i):
	case !e.matchPath(m, !x.always.has(i)):
		e.found.remove(same.path)
		return 0, false
	default:
		e.matched.addAll(same.path)
	}
	if m.match.need&edgeguard.FieldHost != 0 && !m.match.matchHost(ev.Host) {
		return 0, false
	}
	if m.when != nil && !e.holds.has(i) {
		if !m.when.match(ev) { // the dearest part, and so the last
			e.found.remove(same.when)
			return 0, false
		}
		e.holds.addAll(same.when)
	}
	if m.chargesPaths {
		return cost, true
	}
	return e.charge(m, ev), true
}

// pathsOf returns the forms of the path that a meter compares.
func (e *evaluation) pathsOf(m *Meter) []form {
	if e.paths != nil {
		return e.paths.formsOf(m)
	}
	return e.plain[:]
}

// matchPath reports whether the path is one of the meter's; found says that the index found it
// among those. Of several forms it does not say which.
func (e *evaluation) matchPath(m *Meter, found bool) bool {
	p := &m.match
	if found && e.paths == nil {
		return len(p.path.those) == 0 || p.path.findText(e.plain[0].path) != isThose
	}
	for _, f := range e.pathsOf(m) {
		if p.matchPath(f) {
			return true
		}
	}
	return false
}

// charge returns what an event of a meter costs whose charges do not read the path. Rules of one
// preset share them.
func (e *evaluation) charge(m *Meter, ev *edgeguard.Event) (cost uint16) {
	if len(m.charges) == 0 {
		return m.cost
	}
	if e.charges != &m.charges[0] {
		e.charges, e.cost = &m.charges[0], m.charge(ev, form{})
	}
	return e.cost
}
