package rules

import (
	"math/bits"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// manyPaths is from how many meters with a path on the index is faster than asking
// each of them.
const manyPaths = 3

// MeterSet is a set of meters, a bit each.
type MeterSet []uint64

func (set MeterSet) add(meter int)      { set[meter>>6] |= 1 << (meter & 63) }
func (set MeterSet) has(meter int) bool { return set[meter>>6]>>(meter&63)&1 != 0 }

// All calls yield with the index of each meter, ascending.
func (set MeterSet) All(yield func(meter int) bool) {
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// index finds the meters that have a path and a status among theirs, in a time that hardly depends on how
// many they are. An automaton over all patterns would look at each byte of a path, and be
// several times the code.
type index struct {
	paths int // meters that have a path
	// always are those that have none, or compare other forms of it than the normal one.
	always  MeterSet
	answers []answers          // by status, ascending; the first are events without one
	exact   map[string][]int32 // by path, if it has no star; the runtime seeds the hash
	long    lengths            // of those paths
	heads   starred            // by what comes before the first star
	ends    starred            // by what comes after the last, of those that begin with one
}

// starred has patterns with a star by a text's first bytes, or by its last.
type starred struct {
	byWord map[uint64][]star
	masks  []uint64 // of as many bytes as some of the texts have, up to 8
}

// star is a pattern with a star, and the meters that have it: rules of one preset share lists.
type star struct {
	pattern
	meters []int32
}

// answers are the events with a status from one on, to the next of an index's.
type answers struct {
	from int // -1 for events without a status
	// fit are the meters that it suits, and always those of them that no path leaves out.
	fit, always MeterSet
	paths       bool // whether fit has more than always
}

func newIndex(meters []Meter) *index {
	// Twice the room that most sets need: in a fuller map, a look-up is longer by chance.
	x := &index{always: make(MeterSet, (len(meters)+63)/64), exact: make(map[string][]int32, 2*len(meters))}
	x.heads.byWord, x.ends.byWord = make(map[uint64][]star), make(map[uint64][]star)
	for i := range meters {
		m := &meters[i]
		if path := &m.match.path; m.match.need&edgeguard.FieldPath == 0 || path.open || m.fold {
			x.always.add(i)
		} else {
			x.paths++
			x.addTerm(i, path)
		}
	}
	if x.paths < manyPaths {
		for i := range meters {
			x.always.add(i)
		}
	}
	x.addAnswers(meters)
	return x
}

// addAnswers requires that always is complete.
func (x *index) addAnswers(meters []Meter) {
	froms := []int{-1, 0}
	for i := range meters {
		for _, s := range meters[i].match.status {
			froms = append(froms, int(s.low), int(s.high)+1)
		}
	}
	slices.Sort(froms)
	for _, from := range slices.Compact(froms) {
		a := answers{from: from, fit: make(MeterSet, len(x.always)), always: make(MeterSet, len(x.always))}
		for i := range meters {
			p := &meters[i].match
			if p.need&edgeguard.FieldStatus != 0 && (from < 0 || !p.status.has(uint16(from))) {
				continue
			}
			if a.fit.add(i); x.always.has(i) {
				a.always.add(i)
			} else {
				a.paths = true
			}
		}
		x.answers = append(x.answers, a)
	}
}

// answersLike returns those that the event is one of.
func (x *index) answersLike(ev *edgeguard.Event) *answers {
	i := 0
	if ev.Known&edgeguard.FieldStatus != 0 {
		for i = len(x.answers) - 1; x.answers[i].from > int(ev.Status); i-- {
		}
	}
	return &x.answers[i]
}

// addTerm adds the paths of a meter. What the term excludes is left to the meter.
func (x *index) addTerm(meter int, t *term) {
	for _, parts := range t.these {
		switch p := newPattern(parts); {
		case p.tail == nil:
			x.addExact(meter, p.head)
		case p.head == "":
			x.ends.add(p, meter, ending(p.tail.end), len(p.tail.end))
		default:
			x.heads.add(p, meter, beginning(p.head), len(p.head))
		}
	}
}

func (x *index) addExact(meter int, path string) {
	x.exact[path] = append(x.exact[path], int32(meter))
	x.long |= lengthsOf([]string{path})
}

func (l *starred) add(p pattern, meter int, word uint64, length int) {
	list := l.byWord[word]
	if at := slices.IndexFunc(list, func(s star) bool { return s.head == p.head && s.tail.same(p.tail) }); at >= 0 {
		list[at].meters = append(list[at].meters, int32(meter))
		return
	}
	l.byWord[word] = append(list, star{p, []int32{int32(meter)}})
	if mask := ^uint64(0) >> (64 - 8*min(length, 8)); !slices.Contains(l.masks, mask) {
		l.masks = append(l.masks, mask)
	}
}

// find adds the meters that have a path, in normal form, among theirs.
func (x *index) find(found MeterSet, path string) {
	if x.long.has(path) {
		for _, meter := range x.exact[path] {
			found.add(int(meter))
		}
	}
	x.heads.find(found, path, beginning(path))
	if len(x.ends.masks) > 0 {
		x.ends.find(found, path, ending(path))
	}
}

func (l *starred) find(found MeterSet, path string, word uint64) {
	for _, mask := range l.masks {
		list := l.byWord[word&mask]
		for i := range list {
			if s := &list[i]; strings.HasPrefix(path, s.head) && s.tail.match(path[len(s.head):]) {
				for _, meter := range s.meters {
					found.add(int(meter))
				}
			}
		}
	}
}

// findOdd is find for a target whose path is not in normal form: by each of its readings.
//
//go:noinline
func (x *index) findOdd(found MeterSet, target string) {
	var room [pathRoom]byte
	x.find(found, unsafetext.String(normalPath(room[:0], target)))
	if hasOther(target) {
		x.find(found, unsafetext.String(otherPath(room[:0], target)))
	}
}

// Indexed reports whether MayMatch ever leaves out a meter.
func (s *Set) Indexed() bool { return s.index.paths >= manyPaths }

// MayMatch returns the meters whose [Meter.Match] may match the event; it matches none of
// the others. They must only be read, and only until room, which they may lie in, is used
// again. It allocates if room is too small for a bit of each meter.
func (s *Set) MayMatch(ev *edgeguard.Event, room []uint64) MeterSet {
	x := s.index
	if !s.Indexed() {
		return x.always
	}
	a := x.answersLike(ev)
	if !a.paths || ev.Known&edgeguard.FieldPath == 0 {
		return a.always
	}
	found := append(MeterSet(room[:0]), x.always...)
	if path, plain := plainPath(ev.Path); plain {
		x.find(found, path)
	} else {
		x.findOdd(found, ev.Path)
	}
	for i := range found {
		found[i] &= a.fit[i]
	}
	return found
}
