package shard

import (
	"sync"

	"edgeguard/ring"
)

// sweep is where the next step of a sweep begins: in which half, and which of its
// shards are left at which hash. They take turns: a sweep that locks a shard again at
// once is faster than a decision that it has woken, which would then wait for a
// millisecond, until the lock is handed over to it.
type sweep struct {
	mu   sync.Mutex // guards all below
	half int
	left []cursor
	turn int
}

// cursor is where a sweep of one shard goes on.
type cursor struct {
	shard int
	from  uint64 // without the bits that chose the lock
}

// Sweep takes one bounded step through the table: it visits so many pages,
// forgets keys that are idle at now, turns rings with little in them back
// into pairs, joins sparse pages and frees memory. It returns how many
// keys it forgot. The next call goes on where this one ended, and none goes around twice. A lock is held
// for one page at a time. No event may follow whose Now is before now: its
// key might be forgotten too early.
func (t *Table) Sweep(now uint32, pages int) (dropped int) {
	t.sweep.mu.Lock()
	defer t.sweep.mu.Unlock()
	at := &t.sweep
	for begun := 0; pages > 0; {
		if len(at.left) == 0 {
			if begun++; begun > len(t.halves) {
				break // it has been around
			}
			at.half = 1 - at.half
			at.left = t.halves[at.half].cursors(at.left)
			continue
		}
		if at.turn++; at.turn >= len(at.left) {
			at.turn = 0
		}
		l := &at.left[at.turn]
		n, next, ok := t.halves[at.half].sweepPage(l.shard, l.from, now)
		dropped += n
		if ok {
			pages--
		}
		if l.from = next; next == 0 {
			*l = at.left[len(at.left)-1]
			at.left = at.left[:len(at.left)-1]
		}
	}
	return dropped
}

// cursors appends where the sweep of each shard begins, if there are keys to sweep.
func (f *half) cursors(out []cursor) []cursor {
	if f.used.Load() {
		for i := range f.shards {
			if f.shards[i].dir.Load() != nil { // of a table with few keys nearly none has a page
				out = append(out, cursor{shard: i})
			}
		}
	}
	return out
}

// sweepPage sweeps the page of the hash from, and returns the hash at which the
// next begins, 0 behind the last. Ok is false if the shard has no page.
func (f *half) sweepPage(shard int, from uint64, now uint32) (dropped int, next uint64, ok bool) {
	s := &f.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dir.Load()
	if d == nil {
		return 0, 0, false
	}
	i := d.index(from >> f.bits)
	p := f.mem.pageAt(d.pageOf(i))
	if f.layout.peak == 0 || s.rings > 0 { // or nothing is dropped or cooled
		dropped = f.forget(s, p, now)
	}
	depth := f.layout.headOf(p).depth
	f.join(s, d, i)
	return dropped, after(from, depth), true
}

// after returns the first hash behind those that share depth bits with h.
func after(h uint64, depth uint8) uint64 {
	rest := ^uint64(0) >> depth
	return (h | rest) + 1
}

// forget drops the idle keys of a page and cools the others.
func (f *half) forget(s *shard, p *page, now uint32) (dropped int) {
	for e := range f.layout.entriesOf(p) {
		switch {
		case f.layout.peak == 0 && f.idle(e, now):
			f.dropEntry(s, p, e)
			dropped++
		case e.form == warm:
			f.cool(s, e.asWarm(), now)
		case e.form == tree:
			f.coolTree(s, e, now)
		}
	}
	s.expired += uint64(dropped)
	return dropped
}

func (f *half) idle(e *entry, now uint32) bool {
	return now > e.head && (now-e.head >= ring.Slots || f.countOf(e, now) == 0)
}

// cool turns a warm entry back into a cold one if its pairs can hold it.
func (f *half) cool(s *shard, w *warmEntry, now uint32) {
	c := f.mem.counts(w.ring)
	if now > w.head {
		w.advance(c, now)
	}
	if r := w.ring; w.demote(c) {
		f.mem.giveRing(r)
		s.rings--
	}
}

// join merges the page at place i of the directory with the one that it was
// split from, if half a page holds both, and frees the shard's last page
// when it is empty.
func (f *half) join(s *shard, d *directory, i uint64) {
	l := &f.layout
	n := d.pageOf(i)
	p := f.mem.pageAt(n)
	head := l.headOf(p)
	if head.depth == 0 {
		if head.used == 0 {
			f.last(s, n)
		}
		return
	}
	m := d.pageOf(i ^ 1<<(d.depth-head.depth))
	q := f.mem.pageAt(m)
	other := l.headOf(q)
	if other.depth != head.depth || uint32(head.used)+uint32(other.used) > l.full/2 {
		return
	}
	for e := range l.entriesOf(q) {
		l.place(p, f.hashKey(l.keyOf(e)), e)
	}
	if head.depth == d.depth {
		d.deep -= 2
	}
	head.depth--
	d.setPage(i, head.depth, n)
	f.mem.giveKeys(m)
	if d.deep == 0 && d.depth > 0 {
		f.shrink(s, d)
	}
}

// shrink halves a directory that no page needs at its depth.
func (f *half) shrink(s *shard, d *directory) {
	h := d.halve()
	f.mem.charge(-h.bytes())
	var last uint32
	for _, n := range h.pages {
		if n != last && f.layout.headOf(f.mem.pageAt(n)).depth == h.depth {
			h.deep++
		}
		last = n
	}
	s.dir.Store(h)
}

// last frees the only page of a shard.
func (f *half) last(s *shard, n uint32) {
	s.dir.Store(nil)
	f.mem.giveLast(n, f.held)
}

// freeAll frees all pages and rings of the half, and what was reserved.
func (f *half) freeAll() {
	for i := range f.shards {
		s := &f.shards[i]
		s.mu.Lock()
		f.empty(s)
		s.mu.Unlock()
	}
}

func (f *half) empty(s *shard) {
	d := s.dir.Load()
	if d == nil {
		return
	}
	s.dir.Store(nil)
	var last uint32
	for _, n := range d.pages {
		if n == last {
			continue
		}
		last = n
		p := f.mem.pageAt(n)
		for e := range f.layout.entriesOf(p) {
			f.release(s, e)
		}
		f.mem.giveKeys(n)
	}
	f.mem.charge(4 - d.bytes())
	s.keys = 0
}
