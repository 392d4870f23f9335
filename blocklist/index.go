package blocklist

import (
	"net/netip"
	"sync/atomic"
	"time"
)

// index finds the standing block of an address: a hash table of prefixes that
// is asked once for each length in use, the longest first. Where a trie needs
// several memory accesses that each wait for the one before, a hit here needs
// two: a bucket, and the first line of an entry.
//
// Any number of readers may look while the one writer changes it: they load
// pointers atomically, and the entries behind them do not change. A block that
// replaces one of the same prefix takes its place in one store. A look-up is
// no cut through all lengths at one instant: of two changes made while it runs
// it may see the later one only.
//
// It is extendible hashing (Fagin, Nievergelt, Pippenger, Strong 1979), as the
// table of counts is: a page that is full splits in two, and two that are
// sparse become one, so that no change rewrites more than one page's
// entries.
type index struct {
	seed   *seed
	v4, v6 lengths
	dir    atomic.Pointer[directory]
}

func newIndex() *index {
	x := &index{seed: newSeed()}
	d := newDirectory(0)
	d.pages[0].Store(new(page))
	x.dir.Store(d)
	return x
}

// findLongest returns the longest block of addr that binds at now, nil if there is none. One
// shorter than least counts only if it was forced here.
func (x *index) findLongest(now time.Time, addr netip.Addr, least uint8) *entry {
	n := numbers(addr)
	for _, length := range x.lengths(addr).longestFirst() {
		if e := x.get(n.masked(length), length); e != nil && e.binds(now, length < least) {
			return e
		}
	}
	return nil
}

// exact returns the block of exactly this masked prefix, nil if there is none.
// (A mapped IPv4 prefix has the network of an IPv4 one and is none.)
func (x *index) exact(p netip.Prefix) *entry {
	if e := x.get(split(p)); e != nil && e.block.Prefix == p {
		return e
	}
	return nil
}

func (x *index) get(n network, length uint8) *entry {
	h := x.seed.hashNetwork(n, length)
	e, _, _ := x.dir.Load().pageOf(h).findEntry(h, n, length)
	return e
}

// putBlock adds a block, in the place of the one of the same prefix if there is one.
// Its network must be set.
func (x *index) putBlock(e *entry) {
	h := x.seed.hashOfEntry(e)
	p := x.dir.Load().pageOf(h)
	if old, b, slot := p.findEntry(h, e.network, e.length); old != nil {
		b.entries[slot].Store(e)
		return
	}
	for p.n == pageFull {
		x.split(h, p)
		p = x.dir.Load().pageOf(h)
	}
	p.addEntry(h, e)
	x.lengths(e.block.Prefix.Addr()).add(e.length)
}

// remove takes out a block that is in it.
func (x *index) remove(e *entry) {
	h := x.seed.hashOfEntry(e)
	p := x.dir.Load().pageOf(h)
	_, b, slot := p.findEntry(h, e.network, e.length)
	p.remove(h, b, slot)
	x.lengths(e.block.Prefix.Addr()).remove(e.length)
	x.join(h, p)
}

// split puts two pages in the place of p, which is the one of h.
func (x *index) split(h hash, p *page) {
	d := x.dir.Load()
	if p.depth == d.depth {
		d = d.doubled()
	}
	bit := hash(1) << (63 - p.depth)
	low, high := &page{depth: p.depth + 1}, &page{depth: p.depth + 1}
	p.entries(func(e *entry) {
		if h := x.seed.hashOfEntry(e); h&bit == 0 {
			low.addEntry(h, e)
		} else {
			high.addEntry(h, e)
		}
	})
	d.setPage(h&^bit, low)
	d.setPage(h|bit, high)
	x.dir.Store(d)
}

// join puts one page in the place of p and its neighbour if both together are
// sparse. The directory stays as large as it was: it is small.
func (x *index) join(h hash, p *page) {
	if p.depth == 0 || p.n >= pageSparse {
		return
	}
	d := x.dir.Load()
	neighbour := d.pageOf(h ^ hash(1)<<(64-p.depth))
	if neighbour.depth != p.depth || p.n+neighbour.n >= pageSparse {
		return
	}
	both := &page{depth: p.depth - 1}
	add := func(e *entry) { both.addEntry(x.seed.hashOfEntry(e), e) }
	p.entries(add)
	neighbour.entries(add)
	d.setPage(h, both)
}

func (x *index) lengths(addr netip.Addr) *lengths {
	if addr.Is4() {
		return &x.v4
	}
	return &x.v6
}
