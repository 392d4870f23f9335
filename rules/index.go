package rules

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// manyPaths is from how many meters with a path on the index is faster than asking
// each of them.
const manyPaths = 3

// meterSet is a set of meters, a bit each.
type meterSet []uint64

func (set meterSet) add(meter int)      { set[meter>>6] |= 1 << (meter & 63) }
func (set meterSet) has(meter int) bool { return set[meter>>6]>>(meter&63)&1 != 0 }

// meets reports whether a set has any of the others.
func (set meterSet) meets(others meterSet) bool {
	for i := range set {
		if set[i]&others[i] != 0 {
			return true
		}
	}
	return false
}

// isAny reports whether a set has any.
func (set meterSet) isAny() bool {
	for _, word := range set {
		if word != 0 {
			return true
		}
	}
	return false
}

// addAll adds the others, and remove takes them out. Nil is none.
func (set meterSet) addAll(others meterSet) {
	for i := range others {
		set[i] |= others[i]
	}
}

func (set meterSet) remove(others meterSet) {
	for i := range others {
		set[i] &^= others[i]
	}
}

// index finds the meters that have a path, a method and a status among theirs, in a time that hardly depends on how
// many they are. An automaton over all patterns would look at each byte of a path, and be
// several times the code.
type index struct {
	paths int // meters that have a path
	// always are those that have none.
	always  meterSet
	answers []meterSet   // those that suit events without a status, and each run of statuses
	status  [1001]uint16 // by status, of which rules name those up to 999: which of answers
	methods []string     // that meters name
	asks    []meterSet   // by method: those that match any other method, those of each of methods, and those that need no method
	// plain are the meters whose method and status, which the index knows, are all that their match says
	// beside texts.
	plain meterSet
	// reads are the meters to which the path matters, and folds those of them to which its folded forms do.
	reads, folds   meterSet
	normal, folded texts
	// same are the terms of each meter that later ones have, too.
	same []same
}

// texts finds the meters that have a path in one form, normal or folded.
type texts struct {
	exact map[string][]int32 // by path, if it has no star; the runtime seeds the hash
	long  lengths            // of those paths
	heads starred            // by what comes before the first star
	ends  starred            // by what comes after the last, of those that begin with one
}

// same are later meters than one that have its paths, or its expression: a look-up
// for one meter answers for all of them. Nil for none.
type same struct{ path, when meterSet }

// starred has patterns with a star by a text's first bytes, or by its last.
type starred struct {
	byWord map[uint64][]star
	masks  []mask // of as many bytes as some of the texts have, up to 8
	// filter has a bit for each word, by its hash: nearly all that are looked up are in no pattern.
	filter [16]uint64
}

// mask is of so many bytes of a word, and has the meters with texts of that length.
type mask struct {
	bytes  uint64
	meters meterSet
}

// bit returns a word's place in the filter.
func (l *starred) bit(word uint64) (of *uint64, bit uint64) {
	hash := word * 0x9e3779b97f4a7c15 >> 54
	return &l.filter[hash>>6&15], 1 << (hash & 63)
}

// star is a pattern with a star, and the meters that have it: rules of one preset share lists.
type star struct {
	pattern
	meters []int32
}

// isOf reports whether any of its meters is wanted.
func (s *star) isOf(wanted meterSet) bool {
	for _, meter := range s.meters {
		if wanted.has(int(meter)) {
			return true
		}
	}
	return false
}

func newIndex(meters []Meter) *index {
	x := &index{normal: newTexts(len(meters)), folded: newTexts(len(meters))}
	x.always = make(meterSet, (len(meters)+63)/64)
	for i := range meters {
		m := &meters[i]
		switch path := &m.match.path; {
		case m.match.need&edgeguard.FieldPath == 0 || path.open:
			x.always.add(i)
		case m.fold:
			x.paths++
			x.folded.addTerm(i, path, len(x.always))
		default:
			x.paths++
			x.normal.addTerm(i, path, len(x.always))
		}
	}
	if x.paths < manyPaths {
		for i := range meters {
			x.always.add(i)
		}
	}
	x.plain = x.those(meters, func(m *Meter) bool {
		const known = edgeguard.FieldMethod | edgeguard.FieldStatus | edgeguard.FieldPath | edgeguard.FieldHost
		return m.match.need&^known == 0 && m.match.notKinds == 0 && m.match.target == 0
	})
	x.reads = x.those(meters, func(m *Meter) bool { return m.paths })
	x.folds = x.those(meters, func(m *Meter) bool { return m.paths && m.fold })
	x.addAnswers(meters)
	x.addMethods(meters)
	x.addSame(meters)
	return x
}

func (x *index) addAnswers(meters []Meter) {
	begins := [len(x.status)]bool{0: true}
	for i := range meters {
		for _, s := range meters[i].match.status {
			begins[s.low], begins[min(int(s.high)+1, len(begins)-1)] = true, true
		}
	}
	fits := func(fit func(*predicate) bool) {
		x.answers = append(x.answers, x.those(meters, func(m *Meter) bool { return m.match.need&edgeguard.FieldStatus == 0 || fit(&m.match) }))
	}
	fits(func(*predicate) bool { return false })
	for status := range x.status {
		if begins[status] {
			fits(func(p *predicate) bool { return p.status.has(uint16(status)) })
		}
		x.status[status] = uint16(len(x.answers) - 1)
	}
}

func (x *index) addMethods(meters []Meter) {
	for i := range meters {
		for _, parts := range slices.Concat(meters[i].match.method.these, meters[i].match.method.those) {
			if !slices.Contains(x.methods, parts[0]) {
				x.methods = append(x.methods, parts[0])
			}
		}
	}
	isOpen := func(m *Meter) bool { return m.match.need&edgeguard.FieldMethod == 0 }
	x.asks = append(x.asks, x.those(meters, func(m *Meter) bool { return isOpen(m) || m.match.method.open }))
	for _, method := range x.methods {
		x.asks = append(x.asks, x.those(meters, func(m *Meter) bool { return isOpen(m) || m.match.method.match(method) }))
	}
	x.asks = append(x.asks, x.those(meters, isOpen))
}

// addSame finds the meters that have equal terms.
func (x *index) addSame(meters []Meter) {
	x.same = make([]same, len(meters))
	paths, whens := make(map[string][]int), make(map[*when][]int)
	for i := range meters {
		m := &meters[i]
		if p := &m.match; p.need&edgeguard.FieldPath != 0 && !m.chargesPaths {
			text := fmt.Sprintf("%q %q %t", p.path.these, p.path.those, m.fold)
			for _, first := range paths[text] {
				x.addTo(&x.same[first].path, i)
			}
			paths[text] = append(paths[text], i)
		}
		if m.when != nil {
			for _, first := range whens[m.when] {
				x.addTo(&x.same[first].when, i)
			}
			whens[m.when] = append(whens[m.when], i)
		}
	}
}

func (x *index) addTo(set *meterSet, meter int) {
	if *set == nil {
		*set = make(meterSet, len(x.always))
	}
	set.add(meter)
}

// those returns the meters that fit.
func (x *index) those(meters []Meter, fits func(*Meter) bool) meterSet {
	set := make(meterSet, len(x.always))
	for i := range meters {
		if fits(&meters[i]) {
			set.add(i)
		}
	}
	return set
}

// byStatus returns the meters that match the event's status.
func (x *index) byStatus(ev *edgeguard.Event) meterSet {
	if ev.Known&edgeguard.FieldStatus == 0 {
		return x.answers[0]
	}
	return x.answers[x.status[min(int(ev.Status), len(x.status)-1)]]
}

// byMethod returns the meters that match the event's method.
func (x *index) byMethod(ev *edgeguard.Event) meterSet {
	switch {
	case ev.Known&edgeguard.FieldMethod == 0:
		return x.asks[len(x.asks)-1]
	case plainMethod(ev.Method):
		return x.asks[1+slices.Index(x.methods, ev.Method)]
	}
	return x.byOddMethod(ev.Method)
}

// byOddMethod finds a method that is not in capitals. The buffer for it is in this
// function, so that other events do not pay for it.
//
//go:noinline
func (x *index) byOddMethod(method string) meterSet {
	var room [methodRoom]byte
	return x.asks[1+slices.Index(x.methods, unsafetext.String(appendUpper(room[:0], method)))]
}

func newTexts(meters int) texts {
	// Twice the room that most sets need: in a fuller map, a look-up is longer by chance.
	t := texts{exact: make(map[string][]int32, 2*meters)}
	t.heads.byWord, t.ends.byWord = make(map[uint64][]star), make(map[uint64][]star)
	return t
}

// addTerm adds the paths of a meter. What the term excludes is left to the meter.
func (x *texts) addTerm(meter int, t *term, words int) {
	for _, parts := range t.these {
		switch p := newPattern(parts); {
		case p.tail == nil:
			x.addExact(meter, p.head)
		case p.head == "":
			x.ends.add(p, meter, words, ending(p.tail.end), len(p.tail.end))
		default:
			x.heads.add(p, meter, words, beginning(p.head), len(p.head))
		}
	}
}

func (x *texts) addExact(meter int, path string) {
	x.exact[path] = append(x.exact[path], int32(meter))
	x.long |= lengthsOf([]string{path})
}

func (l *starred) add(p pattern, meter, words int, word uint64, length int) {
	list := l.byWord[word]
	of, bit := l.bit(word)
	*of |= bit
	l.addMask(^uint64(0)>>(64-8*min(length, 8)), meter, words)
	if at := slices.IndexFunc(list, func(s star) bool { return s.head == p.head && s.tail.sameAs(p.tail) }); at >= 0 {
		list[at].meters = append(list[at].meters, int32(meter))
		return
	}
	l.byWord[word] = append(list, star{p, []int32{int32(meter)}})
}

func (l *starred) addMask(bytes uint64, meter, words int) {
	at := slices.IndexFunc(l.masks, func(m mask) bool { return m.bytes == bytes })
	if at < 0 {
		at = len(l.masks)
		l.masks = append(l.masks, mask{bytes, make(meterSet, words)})
	}
	l.masks[at].meters.add(meter)
}

// addMeters adds the meters that have a path, in the form of these texts, among theirs, as far as
// they are wanted.
func (x *texts) addMeters(found, wanted meterSet, path string) {
	if x.long.has(path) {
		for _, meter := range x.exact[path] {
			if wanted.has(int(meter)) {
				found.add(int(meter))
			}
		}
	}
	x.heads.find(found, wanted, path, beginning(path))
	if len(x.ends.masks) > 0 {
		x.ends.find(found, wanted, path, ending(path))
	}
}

func (l *starred) find(found, wanted meterSet, path string, word uint64) {
	for k := range l.masks {
		m := &l.masks[k]
		if of, bit := l.bit(word & m.bytes); *of&bit == 0 || !m.meters.meets(wanted) {
			continue
		}
		list := l.byWord[word&m.bytes]
		for i := range list {
			if s := &list[i]; strings.HasPrefix(path, s.head) && s.isOf(wanted) && s.tail.match(path[len(s.head):]) {
				for _, meter := range s.meters {
					if wanted.has(int(meter)) {
						found.add(int(meter))
					}
				}
			}
		}
	}
}
