package pattern

import (
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
)

const (
	// maxNodes and maxSteps bound the work that an expression can cause when it is
	// compiled.
	maxNodes = 1500
	maxSteps = 5_000_000
)

var (
	errExpressionNoAddr = errors.New(`it has no group addr: write (?P<addr>[^ ]+) where the client's address is`)
	errInside           = errors.New("the group addr is inside another group, a repeat or an alternative: write it at the top level of the expression, once")
	errOpen             = errors.New("the place of the address is not fixed: begin with ^ or end with $, and say all that is between that end and the address")
	errIntricate        = errors.New("the expression is too intricate to be judged: shorten its repeats and alternatives")
	errTwoWays          = errors.New("a line can match with the address at two places, so that a client's text could move it: between the address and one end of the line " +
		"use only literals, and groups that cannot contain what ends them, such as [^ ]* before a blank; leave the delimiter out of the group addr, too")
)

// checkFixed refuses an expression in which the place of a group, such as that of the address,
// is not fixed. See the package's page.
func checkFixed(re *syntax.Regexp, group string) error {
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	at := slices.IndexFunc(parts, func(p *syntax.Regexp) bool { return p.Op == syntax.OpCapture && p.Name == group })
	if at < 0 {
		if slices.Contains(re.CapNames(), group) {
			return errInside
		}
		return errExpressionNoAddr
	}
	before, after := slices.Clone(parts[:at]), slices.Clone(parts[at+1:])
	front := parts[0].Op == syntax.OpBeginText
	back := parts[len(parts)-1].Op == syntax.OpEndText
	if !front && !back {
		return errOpen
	}
	anything := &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{{Op: syntax.OpAnyChar}}}
	if !front {
		before = slices.Insert(before, 0, anything)
	}
	if !back {
		after = append(after, anything)
	}
	m := &machine{}
	for _, part := range [][]*syntax.Regexp{before, {parts[at]}, after} {
		if err := m.add(part); err != nil {
			return err
		}
	}
	return m.readOneWay()
}

// machine is the automaton of an expression in three parts: before the address,
// the address, and behind it. Assertions, such as \b, are taken for true, so that
// it reads lines in all the ways that the expression does, and perhaps in more.
type machine struct {
	progs []*syntax.Prog
	first []int // the number of each part's first node
	size  int   // of all parts: the number of the node that ends the line

	part  []int      // of each node
	reads []runeBits // what each node reads; nil where it reads nothing
	next  [][]int    // where that leads, over what reads nothing
	steps int
}

func (m *machine) add(parts []*syntax.Regexp) error {
	whole := &syntax.Regexp{Op: syntax.OpConcat, Sub: parts}
	if len(parts) == 0 {
		whole = &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	prog, err := syntax.Compile(whole.Simplify())
	if err != nil {
		return err
	}
	m.progs, m.first = append(m.progs, prog), append(m.first, m.size)
	if m.size += len(prog.Inst); m.size > maxNodes {
		return errIntricate
	}
	return nil
}

// readOneWay reports an error if some line can be read with the address at two
// places. It follows all pairs of readings of one line, and whether they were at
// some character in different parts.
func (m *machine) readOneWay() error {
	m.prepare()
	seen := make([]bool, 2*(m.size+1)*(m.size+1))
	type pair struct {
		a, b  int
		apart bool
	}
	var waiting []pair
	push := func(as, bs []int, apart bool) {
		for _, a := range as {
			for _, b := range bs {
				m.steps++
				p := pair{min(a, b), max(a, b), apart}
				i := 2 * (p.a*(m.size+1) + p.b)
				if apart {
					i++
				}
				if !seen[i] {
					seen[i] = true
					waiting = append(waiting, p)
				}
			}
		}
	}
	start := m.follow(0, m.progs[0].Start, nil)
	push(start, start, false)
	for len(waiting) > 0 {
		p := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if p.a == m.size && p.b == m.size && p.apart {
			return errTwoWays
		}
		if m.steps > maxSteps {
			return errIntricate
		}
		if m.reads[p.a].meets(m.reads[p.b]) {
			push(m.next[p.a], m.next[p.b], p.apart || m.part[p.a] != m.part[p.b])
		}
	}
	return nil
}

// prepare finds what each node reads and where it leads.
func (m *machine) prepare() {
	runes := m.bounds()
	m.part, m.reads, m.next = make([]int, m.size+1), make([]runeBits, m.size+1), make([][]int, m.size+1)
	for part, prog := range m.progs {
		for pc := range prog.Inst {
			node, in := m.first[part]+pc, &prog.Inst[pc]
			m.part[node] = part
			switch in.Op {
			case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
				m.reads[node] = newRuneBits(runes, in.MatchRune)
				m.next[node] = m.follow(part, int(in.Out), nil)
			}
		}
	}
}

// follow returns the nodes that read, and the end of the line, as far as they are
// reached from an instruction without reading.
func (m *machine) follow(part, from int, seen map[int]bool) (nodes []int) {
	if seen == nil {
		seen = make(map[int]bool)
	}
	waiting := []int{from}
	for len(waiting) > 0 {
		pc := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		node := m.first[part] + pc
		if seen[node] {
			continue
		}
		seen[node] = true
		switch in := &m.progs[part].Inst[pc]; in.Op {
		case syntax.InstFail:
		case syntax.InstAlt, syntax.InstAltMatch:
			waiting = append(waiting, int(in.Out), int(in.Arg))
		case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
			waiting = append(waiting, int(in.Out))
		case syntax.InstMatch:
			if part+1 == len(m.progs) {
				nodes = append(nodes, m.size)
			} else {
				nodes = append(nodes, m.follow(part+1, m.progs[part+1].Start, seen)...)
			}
		default:
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// bounds returns the characters at which the answer of some node can change: one
// of each class of characters that no node distinguishes. A line has no newline.
func (m *machine) bounds() []rune {
	all := []rune{0, unicode.ReplacementChar}
	for _, prog := range m.progs {
		for i := range prog.Inst {
			if in := &prog.Inst[i]; in.Op == syntax.InstRune || in.Op == syntax.InstRune1 {
				for _, r := range in.Rune {
					all = append(all, r, r+1)
					for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
						all = append(all, f, f+1)
					}
				}
			}
		}
	}
	all = append(all, '\n'+1)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(r rune) bool { return r == '\n' })
}

// runeBits is a set of those characters.
type runeBits []uint64

func newRuneBits(runes []rune, has func(rune) bool) runeBits {
	bits := make(runeBits, len(runes)/64+1)
	for i, r := range runes {
		if has(r) {
			bits[i/64] |= 1 << (i % 64)
		}
	}
	return bits
}

func (a runeBits) meets(b runeBits) bool {
	for i := range min(len(a), len(b)) {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}
