package rules

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostCells bounds an automaton's table: 64 KiB. An expression that needs more, and there are
// short ones that need exponentially many states, is left to Go's regexp.
const mostCells = 1 << 15

// automaton is a regular expression as a table of states, which takes one look-up a byte and
// says of a text only whether the expression matches. Go's regexp, which must say where, tries
// one way after the other. The text is in ASCII; whether another matches it does not say.
type automaton struct {
	class [256]uint8 // by byte: bytes of one class lead to the same states
	next  []uint16   // by state and class; a state is the index of its first class
	atEnd []bool     // by index: whether a text matches that ends in the state
	start uint16
	done  uint16 // states up to this one are not left: the three below, in this order
}

// said is what an automaton says of a text.
type said uint8

const (
	matches said = iota
	differs
	undecided // the text is not in ASCII
)

// newAutomaton makes the automaton of an expression over texts that were changed, such as by
// strings.ToLower; nil if its table would be too large.
func newAutomaton(prog *syntax.Prog, change func(string) string) *automaton {
	b := builder{prog: prog, ids: make(map[string]int)}
	b.asks = slices.ContainsFunc(prog.Inst, func(inst syntax.Inst) bool { return inst.Op == syntax.InstEmptyWidth })
	classes := b.classify(change)
	if classes > 255 {
		return nil
	}
	a := &b.automaton
	for c := utf8.RuneSelf; c < len(a.class); c++ {
		a.class[c] = uint8(classes)
	}
	width := classes + 1 // of a row: the last class is of the bytes beyond ASCII
	for state := matches; state <= undecided; state++ {
		a.next = append(a.next, slices.Repeat([]uint16{uint16(int(state) * width)}, width)...)
		b.states, a.atEnd = append(b.states, position{}), append(a.atEnd, state == matches)
	}
	a.start = uint16(b.id(nil, b.neighbour(edge)) * width)
	a.done = uint16(int(undecided) * width)
	for state := int(undecided) + 1; state < len(b.states); state++ {
		row := b.row(state)
		for i := range row {
			row[i] *= uint16(width)
		}
		if len(b.states)*width > mostCells {
			return nil
		}
		a.atEnd = append(a.atEnd, b.ends(state))
		a.next = append(append(a.next, row...), uint16(int(undecided)*width))
	}
	ends := a.atEnd
	a.atEnd = make([]bool, len(a.next))
	for state := range ends {
		a.atEnd[state*width] = ends[state]
	}
	return a
}

// match says whether the expression matches a text.
func (a *automaton) match(text string) said {
	state := a.start
	for i := 0; i < len(text); i++ {
		if state = a.next[int(state)+int(a.class[text[i]])]; state <= a.done {
			break
		}
	}
	switch {
	case state == a.done:
		return undecided
	case a.atEnd[state]:
		return matches
	}
	return differs
}

// edge is what stands before a text and behind it, as [syntax.EmptyOpContext] has it.
const edge rune = -1

// builder makes the states: each is where all ways through the expression may stand.
type builder struct {
	automaton
	prog   *syntax.Prog
	asks   bool   // whether any instruction asks what is beside a place
	of     []byte // a byte of each class, as changed
	states []position
	ids    map[string]int
}

// position is where the ways stand between two bytes: at the instructions, before what they
// ask of the place, with the byte before it.
type position struct {
	at     []uint32 // ascending
	before rune
}

// classify finds the bytes that all instructions take alike, and that are alike as
// neighbours of a place: \b asks for letters, and $ may ask for the end of a line.
func (b *builder) classify(change func(string) string) (classes int) {
	known := make(map[string]int)
	for c := range utf8.RuneSelf {
		changed := change(string(rune(c)))[0]
		kind := []byte{byte(b.neighbour(rune(changed)))}
		for i := range b.prog.Inst {
			if takes(&b.prog.Inst[i], changed) {
				kind = append(kind, byte(i), byte(i>>8))
			}
		}
		class, ok := known[string(kind)]
		if !ok {
			class = len(known)
			known[string(kind)] = class
			b.of = append(b.of, changed)
		}
		b.class[c] = uint8(class)
	}
	return len(known)
}

// takes reports whether an instruction takes a byte.
func takes(inst *syntax.Inst, c byte) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return inst.MatchRune(rune(c))
	}
	return false
}

// id returns the number of the state of a position, which may be a new one. A match may begin
// at every place, unless the expression begins with ^.
func (b *builder) id(at []uint32, before rune) int {
	if len(at) == 0 && before != edge && b.prog.StartCond()&syntax.EmptyBeginText != 0 {
		return int(differs)
	}
	at = append(at, uint32(b.prog.Start))
	slices.Sort(at)
	at = slices.Compact(at)
	var key strings.Builder
	key.WriteRune(before + 1)
	for _, pc := range at {
		key.WriteRune(rune(pc))
	}
	id, ok := b.ids[key.String()]
	if !ok {
		id = len(b.states)
		b.ids[key.String()] = id
		b.states = append(b.states, position{at, before})
	}
	return id
}

// row returns the states that follow a state, by class.
func (b *builder) row(state int) []uint16 {
	row := make([]uint16, len(b.of))
	for class, c := range b.of {
		from, matched := b.reach(state, rune(c))
		if matched {
			continue // matches is 0
		}
		var at []uint32
		for _, pc := range from {
			if inst := &b.prog.Inst[pc]; takes(inst, c) {
				at = append(at, inst.Out)
			}
		}
		row[class] = uint16(b.id(at, b.neighbour(rune(c))))
	}
	return row
}

// neighbour returns one byte for all that a place cannot tell from c, before it.
func (b *builder) neighbour(c rune) rune {
	switch {
	case !b.asks:
		return ' '
	case c == edge, c == '\n':
		return c
	case syntax.IsWordChar(c):
		return 'a'
	}
	return ' '
}

// ends reports whether a text matches that ends in a state.
func (b *builder) ends(state int) bool {
	_, matched := b.reach(state, edge)
	return matched
}

// reach follows a state's instructions that take nothing, with next behind the place. It
// returns the others, and whether the expression has matched by then.
func (b *builder) reach(state int, next rune) (found []uint32, matched bool) {
	holds := syntax.EmptyOpContext(b.states[state].before, next)
	seen := make([]bool, len(b.prog.Inst))
	todo := slices.Clone(b.states[state].at)
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &b.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^holds == 0 {
				todo = append(todo, inst.Out)
			}
		case syntax.InstFail:
		default:
			found = append(found, pc)
		}
	}
	return found, false
}
