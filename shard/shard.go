package shard

import (
	"sync"
	"sync/atomic"
)

// shard is the keys behind one lock: a directory of pages, and what happened
// here. It fills one cache line, so that two locks never share one.
type shard struct {
	mu  sync.Mutex                // guards the directory's content, its pages, their entries' rings, and all below
	dir atomic.Pointer[directory] // nil while there is no page; loaded without mu to prefetch

	keys, rings uint32
	events
}

// events counts what became of keys.
type events struct {
	promoted, evicted, refused, expired, undercounted uint64
}

// admit returns a new key an entry and its page; nil if there is no room and
// no cooler key.
func (f *half) admit(s *shard, h uint64, k key, op *Op) (*entry, *page) {
	for {
		d, i := f.firstPage(s, h)
		if d == nil {
			s.refused++
			return nil, nil
		}
		p := f.mem.pageAt(d.pageOf(i))
		if uint32(f.layout.headOf(p).used) < f.layout.full {
			return f.insert(s, p, h, k, op.Now), p
		}
		if f.split(s, d, h, p) {
			continue
		}
		heat, ok := f.makeRoom(s, p, h, op)
		if !ok {
			return nil, nil
		}
		e := f.insert(s, p, h, k, op.Now)
		e.heat = heat
		return e, p
	}
}

// firstPage returns the shard's directory and the hash's place there, and makes the
// first page if there is none.
func (f *half) firstPage(s *shard, h uint64) (*directory, uint64) {
	d := s.dir.Load()
	if d != nil {
		return d, d.index(h)
	}
	n := f.mem.takeFirst(f.held)
	if n == 0 {
		return nil, 0
	}
	d = newDirectory(f.bits, 0)
	d.deep = 1
	d.setPage(0, 0, n)
	s.dir.Store(d)
	f.used.Store(true)
	return d, 0
}

// insert writes a new entry into a page that has room.
func (f *half) insert(s *shard, p *page, h uint64, k key, now uint32) *entry {
	e := f.layout.claim(p, h)
	*e = entry{head: now, form: cold}
	f.layout.setKey(e, k)
	if f.layout.peak != 0 {
		*f.layout.peakOf(e) = 0
	}
	s.keys++
	return e
}

// split moves the entries of a full page whose next bit is 1 into a new page.
// At most one page's entries move, whatever the table holds. False if there
// is no page to be had. The page is that of the hash h.
func (f *half) split(s *shard, d *directory, h uint64, p *page) bool {
	l := &f.layout
	depth := l.headOf(p).depth
	if depth == maxDepth {
		return false
	}
	n := f.mem.takeKeys()
	if n == 0 {
		return false
	}
	if depth == d.depth {
		if d = f.grow(s, d); d == nil {
			f.mem.giveKeys(n)
			return false
		}
	}
	place := 63 - f.bits - depth // of the next bit
	halves := [2]*page{p, f.mem.pageAt(n)}
	old := *p
	*p = page{}
	for e := range l.entriesOf(&old) {
		h := f.hashKey(l.keyOf(e))
		l.place(halves[h>>place&1], h, e)
	}
	depth++
	l.headOf(halves[0]).depth, l.headOf(halves[1]).depth = depth, depth
	d.setPage(d.index(h|1<<place), depth, n)
	if depth == d.depth {
		d.deep += 2
	}
	return true
}

// grow doubles the directory; nil if the budget does not allow it.
func (f *half) grow(s *shard, d *directory) *directory {
	if !f.mem.charge(d.bytes()) {
		return nil
	}
	d = d.double()
	s.dir.Store(d)
	return d
}

// dropEntry frees an entry and its ring.
func (f *half) dropEntry(s *shard, p *page, e *entry) {
	f.release(s, e)
	f.layout.remove(p, f.hashKey(f.layout.keyOf(e)), e)
	s.keys--
}

// release frees an entry's ring or blocks, if it has any.
func (f *half) release(s *shard, e *entry) {
	switch e.form {
	case warm:
		f.mem.giveRing(e.asWarm().ring)
		s.rings--
	case tree:
		f.releaseTree(s, e.asWarm())
	}
}
