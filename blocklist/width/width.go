// Package width says how much of the address space a set of prefixes covers: their
// union, since a list names one address in many ways. It is one trie that keeps the sum of
// each branch, so that a change costs as many steps as a prefix has bits, however many
// others lie inside or around it.
//
// Adding up the prefixes was rejected: whoever writes a block twice would fill a bound
// with one network. So was a sorted list that is added up when somebody asks: what is
// admitted asks for each record.
package width

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Width is a part of the address space: IPv4 in addresses, IPv6 in networks of /48. A
// narrower IPv6 prefix counts as its whole /48, since that is what one client has.
type Width struct{ V4, V6 uint64 }

// PartOfSpace returns the greatest width of two families that is 1/n of all IPv4 addresses, or
// of the eight IPv6 /12 from which registries hand out networks. These are a 64th of
// 2000::/3: all IPv6 clients come from less than a sixteenth of that.
func PartOfSpace(n uint64) Width { return Width{1 << 32 / n, 1 << 39 / n} }

// WidthOf returns the width of one prefix.
func WidthOf(p netip.Prefix) Width { return placeOf(p).width() }

// Plus returns the sum of two widths.
func (w Width) Plus(more Width) Width { return Width{w.V4 + more.V4, w.V6 + more.V6} }

// Within reports whether neither family is wider than most.
func (w Width) Within(most Width) bool { return w.V4 <= most.V4 && w.V6 <= most.V6 }

const bitsV4, bitsV6 = 32, 48

// Union is the union of prefixes that come and go. A prefix that was added twice has to be
// removed twice. The zero value is empty. It is not safe for concurrent use.
type Union struct {
	nodes []node // the first is none
	free  uint32 // the first of the unused ones, which are linked by their first child
	roots [2]uint32
}

// node is a network: one that was added, or the longest that holds both of its children.
type node struct {
	key      uint64 // the network's first bits
	covered  uint64 // of it, in addresses or /48s
	children [2]uint32
	added    uint32 // how many times; 0 for one that only holds others
	length   uint8
}

// place is a prefix as the trie has it.
type place struct {
	key          uint64
	length, most uint8
	family       int
}

func placeOf(p netip.Prefix) place {
	if p.Addr().Is4() {
		b := p.Addr().As4()
		return place{uint64(binary.BigEndian.Uint32(b[:])) << 32, uint8(p.Bits()), bitsV4, 0}.masked()
	}
	b := p.Addr().As16()
	return place{binary.BigEndian.Uint64(b[:8]), uint8(min(p.Bits(), bitsV6)), bitsV6, 1}.masked()
}

func (p place) masked() place {
	p.key &= ^(^uint64(0) >> p.length)
	return p
}

func (p place) size() uint64 { return 1 << (p.most - p.length) }

func (p place) width() Width {
	if p.family == 0 {
		return Width{V4: p.size()}
	}
	return Width{V6: p.size()}
}

// bit returns the bit behind the first n of a key.
func bit(key uint64, n uint8) uint64 { return key >> (63 - n) & 1 }

// common returns how many of their first bits a node and a place share.
func (n *node) common(p place) uint8 {
	return min(uint8(bits.LeadingZeros64(n.key^p.key)), n.length, p.length)
}

// Add adds a valid prefix.
func (u *Union) Add(p netip.Prefix) {
	at := placeOf(p)
	if len(u.nodes) == 0 {
		u.nodes = make([]node, 1)
	}
	u.roots[at.family] = u.add(u.roots[at.family], at)
}

// Remove takes back one Add. It does nothing if there was none.
func (u *Union) Remove(p netip.Prefix) {
	at := placeOf(p)
	u.roots[at.family] = u.remove(u.roots[at.family], at)
}

// Width returns the width of the union.
func (u *Union) Width() Width { return Width{u.covered(u.roots[0]), u.covered(u.roots[1])} }

// WidthWith returns the width that the union would have with one prefix more.
func (u *Union) WidthWith(p netip.Prefix) Width {
	at := placeOf(p)
	before, all := u.inside(at), at.width()
	if at.family == 0 {
		all.V4 -= before
	} else {
		all.V6 -= before
	}
	return u.Width().Plus(all)
}

func (u *Union) covered(at uint32) uint64 {
	if at == 0 {
		return 0
	}
	return u.nodes[at].covered
}

// inside returns how much of a prefix is covered.
func (u *Union) inside(p place) uint64 {
	at := u.roots[p.family]
	for at != 0 {
		n := &u.nodes[at]
		switch common := n.common(p); {
		case common == p.length: // the node is the prefix, or lies in it
			return n.covered
		case common < n.length:
			return 0
		case n.added > 0:
			return p.size()
		}
		at = n.children[bit(p.key, n.length)]
	}
	return 0
}

// add adds a place to a branch, and returns the branch's first node.
func (u *Union) add(at uint32, p place) uint32 {
	if at == 0 {
		return u.make(p, 1)
	}
	common := u.nodes[at].common(p)
	switch {
	case common < u.nodes[at].length && common < p.length:
		leaf := u.make(p, 1)
		at = u.around(place{p.key, common, p.most, p.family}.masked(), 0, at)
		u.nodes[at].children[bit(p.key, common)] = leaf
	case common < u.nodes[at].length:
		at = u.around(p, 1, at)
	case common == p.length:
		u.nodes[at].added++
	default:
		side := bit(p.key, common)
		child := u.add(u.nodes[at].children[side], p)
		u.nodes[at].children[side] = child
	}
	u.sum(at, p.most)
	return at
}

// around makes a node of a place around another one.
func (u *Union) around(p place, added, inner uint32) uint32 {
	at := u.make(p, added)
	u.nodes[at].children[bit(u.nodes[inner].key, p.length)] = inner
	return at
}

func (u *Union) make(p place, added uint32) uint32 {
	one := node{key: p.key, length: p.length, added: added, covered: p.size()}
	if at := u.free; at != 0 {
		u.free = u.nodes[at].children[0]
		u.nodes[at] = one
		return at
	}
	u.nodes = append(u.nodes, one)
	return uint32(len(u.nodes) - 1)
}

// sum adds up what a node covers, of addresses with so many bits.
func (u *Union) sum(at uint32, most uint8) {
	n := &u.nodes[at]
	if n.added > 0 {
		n.covered = 1 << (most - n.length)
		return
	}
	n.covered = u.covered(n.children[0]) + u.covered(n.children[1])
}

// remove takes a place out of a branch, and returns the branch's first node: 0 if it is
// empty.
func (u *Union) remove(at uint32, p place) uint32 {
	if at == 0 || u.nodes[at].common(p) < u.nodes[at].length {
		return at
	}
	n := &u.nodes[at]
	if n.length < p.length {
		side := bit(p.key, n.length)
		n.children[side] = u.remove(n.children[side], p)
	} else if n.added > 0 {
		n.added--
	}
	if n.added == 0 && (n.children[0] == 0 || n.children[1] == 0) {
		only := n.children[0] + n.children[1]
		n.children[0], u.free = u.free, at
		return only
	}
	u.sum(at, p.most)
	return at
}
