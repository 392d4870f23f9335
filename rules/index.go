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

func (set MeterSet) add(meter int) { set[meter>>6] |= 1 << (meter & 63) }

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

// index finds the meters that have a path among theirs, in a time that hardly depends on how
// many they are. An automaton over all patterns would look at each byte of a path, and be
// several times the code.
type index struct {
	paths int // meters that have a path
	// always are those that have none, or compare other forms of it than the normal one.
	always MeterSet
	exact  map[string][]int32 // by path, if it has no star; the runtime seeds the hash
	long   lengths            // of those paths
	heads  starred            // by what comes before the first star
	ends   starred            // by what comes after the last, of those that begin with one
}

// starred has patterns with a star by a text's first bytes, or by its last.
type starred struct {
	byWord map[uint64][]star
	masks  []uint64 // of as many bytes as some of the texts have, up to 8
}

// star is a pattern with a star, and the meter that has it.
type star struct {
	pattern
	meter int
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
	return x
}

// addTerm adds the paths of a meter. What the term excludes is left to the meter.
func (x *index) addTerm(meter int, t *term) {
	for path, these := range t.many {
		if these {
			x.addExact(meter, path)
		}
	}
	for _, p := range t.list[t.bars:] {
		switch s := (star{p, meter}); {
		case p.tail == nil:
			x.addExact(meter, p.head)
		case p.head == "":
			x.ends.add(s, ending(p.tail.end), len(p.tail.end))
		default:
			x.heads.add(s, beginning(p.head), len(p.head))
		}
	}
}

func (x *index) addExact(meter int, path string) {
	x.exact[path] = append(x.exact[path], int32(meter))
	x.long |= lengthsOf([]string{path})
}

func (l *starred) add(s star, word uint64, length int) {
	l.byWord[word] = append(l.byWord[word], s)
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
				found.add(s.meter)
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
	if !s.Indexed() || ev.Known&edgeguard.FieldPath == 0 {
		return s.index.always
	}
	found := append(MeterSet(room[:0]), s.index.always...)
	if path, plain := plainPath(ev.Path); plain {
		s.index.find(found, path)
	} else {
		s.index.findOdd(found, ev.Path)
	}
	return found
}
