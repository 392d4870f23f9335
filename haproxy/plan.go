package haproxy

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

const (
	// mostOfOne is how many entries one prefix, or the holes in one, may become.
	mostOfOne = 256
	// mostOfAll is how many entries all prefixes without a table become.
	mostOfAll = 1 << 16
)

// BlockPlan is how prefixes without a table of their length are in force.
type BlockPlan struct {
	Entries map[BlockKey]BlockEntry
	// Spares are the spared keys in each blocked one.
	Spares map[BlockKey][]BlockKey
	// Left are prefixes that are not in force, because they would be too many entries.
	Left map[netip.Prefix]bool
}

// planner makes a plan of a set of prefixes.
type planner struct {
	set map[netip.Prefix]time.Time // all, with their ends
	// odd are the prefixes between the lengths of two tables, by the key around them;
	// cells those of the shorter of the two that are blocked whole.
	odd, cells map[BlockKey][]piece
	plan       BlockPlan
}

// piece is a blocked prefix.
type piece struct {
	prefix netip.Prefix
	until  time.Time
}

func comparePieces(a, b piece) int {
	if c := a.prefix.Addr().Compare(b.prefix.Addr()); c != 0 {
		return c
	}
	return a.prefix.Bits() - b.prefix.Bits()
}

// NewBlockPlan returns how the prefixes of a set that have no table of their length are in
// force. The prefixes are masked, with their ends.
func NewBlockPlan(set map[netip.Prefix]time.Time) BlockPlan {
	p := &planner{set: set, odd: make(map[BlockKey][]piece), cells: make(map[BlockKey][]piece)}
	p.plan = BlockPlan{make(map[BlockKey]BlockEntry), make(map[BlockKey][]BlockKey), make(map[netip.Prefix]bool)}
	var widest []piece
	for prefix, until := range set {
		if _, exact := BlockKeyOf(prefix); exact {
			continue
		}
		if around, ok := blockKeyAround(prefix); ok {
			p.odd[around] = append(p.odd[around], piece{prefix, until})
		} else {
			widest = append(widest, piece{prefix, until})
		}
	}
	if len(p.odd) > 0 {
		for prefix, until := range set {
			if _, exact := BlockKeyOf(prefix); exact {
				p.cell(prefix, until)
			}
		}
	}
	slices.SortFunc(widest, comparePieces)
	p.planEach(widest, len(tables)-1)
	for _, around := range slices.SortedFunc(maps.Keys(p.odd), func(a, b BlockKey) int {
		if a.Table != b.Table { // what is decided of a /24 matters to the /16 around it
			return a.Table - b.Table
		}
		return a.Addr.Compare(b.Addr)
	}) {
		p.group(around)
	}
	return p.plan
}

// blockKeyAround returns the longest key that a prefix lies in, and is longer than.
func blockKeyAround(p netip.Prefix) (BlockKey, bool) {
	for i := range tables {
		if bits := tables[i].prefixBits(p.Addr().Is4()); 0 < bits && bits < p.Bits() {
			outer, _ := p.Addr().Prefix(bits) // no error: it is shorter
			return BlockKey{i, outer.Addr()}, true
		}
	}
	return BlockKey{}, false
}

// cell notes a prefix that is blocked whole for the group around it, if there is one.
func (p *planner) cell(prefix netip.Prefix, until time.Time) {
	if around, ok := blockKeyAround(prefix); ok && p.odd[around] != nil {
		p.cells[around] = append(p.cells[around], piece{prefix, until})
	}
}

// group plans the prefixes in one key: each by itself, or the key with its holes spared,
// whichever is fewer entries.
func (p *planner) group(around BlockKey) {
	odd, table := p.odd[around], around.Table-1
	slices.SortFunc(odd, comparePieces)
	until := odd[0].until
	holes, ok := p.holes(around)
	fewer, many := 1, 0
	for _, hole := range holes {
		fewer += keysOf(hole, table)
	}
	for _, piece := range odd {
		many += keysOf(piece.prefix, table)
	}
	if !ok || fewer > many || fewer > mostOfOne || len(p.plan.Entries)+fewer > mostOfAll {
		p.planEach(odd, table)
		return
	}
	p.plan.Entries[around] = BlockEntry{BlockedGPT, until}
	for _, hole := range holes {
		for k := range keysIn(hole, table) {
			p.plan.Entries[k] = BlockEntry{Spared, until}
			p.plan.Spares[around] = append(p.plan.Spares[around], k)
		}
	}
	p.cell(around.Prefix(), until)
}

// holes returns what of a key nothing blocks. It is ok if the rest of the key ends at one
// time, and no prefix around the key is blocked: then the holes can be spared.
func (p *planner) holes(around BlockKey) (holes []netip.Prefix, ok bool) {
	whole, odd := around.Prefix(), p.odd[around]
	for bits := whole.Bits(); bits > 0; bits-- {
		outer, _ := whole.Addr().Prefix(bits) // no error: it is shorter
		if _, blocked := p.set[outer]; blocked {
			return nil, false
		}
	}
	pieces := slices.Concat(odd, p.cells[around])
	for i, piece := range pieces {
		if i < len(odd) && !piece.until.Equal(odd[0].until) || piece.until.Before(odd[0].until) {
			return nil, false
		}
	}
	slices.SortFunc(pieces, comparePieces)
	return holesIn(whole, pieces), true
}

// holesIn returns what of a prefix the pieces in it leave, in order. They are sorted.
func holesIn(p netip.Prefix, pieces []piece) []netip.Prefix {
	switch {
	case len(pieces) == 0:
		return []netip.Prefix{p}
	case pieces[0].prefix == p:
		return nil
	}
	low, high := halves(p)
	at, _ := slices.BinarySearchFunc(pieces, high.Addr(), func(a piece, addr netip.Addr) int { return a.prefix.Addr().Compare(addr) })
	return append(holesIn(low, pieces[:at]), holesIn(high, pieces[at:])...)
}

// halves splits a prefix that is not a single address.
func halves(p netip.Prefix) (low, high netip.Prefix) {
	addr := p.Addr().AsSlice()
	addr[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	upper, _ := netip.AddrFromSlice(addr)
	return netip.PrefixFrom(p.Addr(), p.Bits()+1), netip.PrefixFrom(upper, p.Bits()+1)
}
