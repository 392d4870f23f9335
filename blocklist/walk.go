package blocklist

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
)

// All returns the blocks that are live at now in the order of their prefixes
// ([netip.Prefix.Compare]: IPv4 first), as they were when the iteration began:
// it holds no lock, and does not see changes made during it, which then cost more
// garbage. Blocks that the allowlist or the protected prefixes overrule are among them.
func (l *List) All(now time.Time) iter.Seq[edgeguard.Block] {
	return l.AllFrom(now, netip.Prefix{})
}

// AllFrom is All from a prefix on, which need not be blocked, and which is put
// right as in New; the zero one is before all. What comes before it costs
// nothing, so that pages of a long list can be asked for one by one.
func (l *List) AllFrom(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		l.mu.Lock()
		blocks := l.walkInOrder()
		l.mu.Unlock()
		defer l.walked()
		for e := range entriesFrom(blocks, from) {
			if e.binds(now, false) && !yield(e.block) {
				return
			}
		}
	}
}

// Around returns the blocks in force at now that cover all of prefix, its own
// included, the longest first. Find returns the first of them, unless the
// allowlist, a protected prefix or a node's signed address overrules it. Where prefix
// is a key with an address that a node claims unsigned, the wider blocks, which do not
// apply to it, are not among them.
func (l *List) Around(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	prefix, ok := clean(prefix)
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []edgeguard.Block
	passed := IsKey(prefix) && l.current.claimed.OverlapsPrefix(prefix)
	for p, e := range l.blocks.Supernets(prefix) {
		if e.binds(now, passed && !IsKey(p)) {
			found = append(found, e.block)
		}
	}
	return found
}

// Inside returns how many blocks of so many bits inside a wider prefix are in
// force at now, up to most.
func (l *List) Inside(now time.Time, wide netip.Prefix, bits, most int) (n int) {
	l.mu.Lock()
	blocks := l.walkInOrder()
	l.mu.Unlock()
	defer l.walked()
	for p, e := range blocks.Subnets(wide) {
		if n == most {
			break
		}
		if p.Bits() == bits && e.binds(now, false) {
			n++
		}
	}
	return n
}

// BlockOf returns the block of exactly this prefix that is live at now; nil if there is
// none. As with Find, it is the list's own and must not be changed.
func (l *List) BlockOf(now time.Time, prefix netip.Prefix) *edgeguard.Block {
	v := l.view.Load()
	if v == nil || !prefix.IsValid() {
		return nil
	}
	if e := v.index.exact(prefix); e != nil && e.binds(now, false) {
		return &e.block
	}
	return nil
}

// walkInOrder returns the blocks in order, which stay as they are until walked is
// called. It needs the lock.
func (l *List) walkInOrder() *blockTable {
	l.walks++
	return l.blocks
}

func (l *List) walked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.walks--
}

// order puts a block into the ordered table, and disorder takes it out: in place
// if no walk is going on. They need the lock.
func (l *List) order(e *entry) {
	if l.walks > 0 {
		l.blocks = l.blocks.InsertPersist(e.block.Prefix, e)
	} else {
		l.blocks.Insert(e.block.Prefix, e)
	}
}

func (l *List) disorder(e *entry) {
	if l.walks > 0 {
		l.blocks = l.blocks.DeletePersist(e.block.Prefix)
	} else {
		l.blocks.Delete(e.block.Prefix)
	}
}

// entriesFrom returns the entries of p and after it in order: what lies in p, then what
// lies in each network that begins where one around p has its upper half. No
// shorter prefix begins there, so nothing is left out.
func entriesFrom(blocks *blockTable, p netip.Prefix) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		p, ok := clean(p)
		if !ok {
			p = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		if !entriesInside(blocks, p, yield) {
			return
		}
		for length := p.Bits(); length > 0; length-- {
			if next, ok := upperHalf(p.Addr(), length); ok && !entriesInside(blocks, next, yield) {
				return
			}
		}
		if p.Addr().Is4() {
			entriesInside(blocks, netip.PrefixFrom(netip.IPv6Unspecified(), 0), yield)
		}
	}
}

// entriesInside returns the entries in p in order, and reports whether more are wanted.
func entriesInside(blocks *blockTable, p netip.Prefix, yield func(*entry) bool) bool {
	for _, e := range blocks.Subnets(p) {
		if !yield(e) {
			return false
		}
	}
	return true
}

// upperHalf returns the network of this length next to the address's own, if that
// is the lower half of the two.
func upperHalf(addr netip.Addr, length int) (_ netip.Prefix, ok bool) {
	b, bit := addr.AsSlice(), byte(0x80>>((length-1)%8))
	if b[(length-1)/8]&bit != 0 {
		return netip.Prefix{}, false
	}
	b[(length-1)/8] |= bit
	upper, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(upper, length).Masked(), true
}
