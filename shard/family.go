package shard

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"edgeguard/ring"
)

// half is the part of a table that holds one family's keys.
type half struct {
	layout layout
	prefix prefix
	mem    *Memory
	seed   uint64
	bits   uint8 // of the hash that choose the lock, at least 1
	shift  uint8 // brings those bits to the right
	held   bool  // each shard's first page is kept for it
	marks  bool  // counts values, see marks.go
	shards []shard
	used   atomic.Bool // it had a key once: until then a sweep passes it by
}

func (f *half) initTable(mem *Memory, fam family, prefixBits uint8, c Config, seed uint64) {
	f.prefix = newPrefix(fam, prefixBits, c.With)
	f.prefix.everybody = c.Everybody
	f.layout = newLayout(f.prefix.keySize(fam), c.Peaks)
	f.mem, f.seed, f.marks = mem, seed, c.Distinct
	// One page a lock is the least that a half takes: 1/256 of the budget, if
	// that makes fewer than 256 locks.
	few := fam == v4 && c.FewV4
	f.bits = 1
	if !few {
		f.bits = uint8(min(max(bits.Len64(uint64(mem.pages/256))-1, 1), 8))
	}
	f.shift = 64 - f.bits
	f.shards = make([]shard, 1<<f.bits)
	f.held = !few && mem.reservePages(len(f.shards))
}

func (f *half) hashKey(k key) uint64 {
	if f.layout.key > 8 {
		return hash2(f.seed, k.first, k.rest)
	}
	return hash1(f.seed, k.first)
}

// lockShard locks the shard of the hash and returns it.
func (f *half) lockShard(h uint64) *shard {
	s := &f.shards[h>>(f.shift&63)]
	s.mu.Lock()
	return s
}

// findEntry returns a key's entry and its page, nil if it has none. The shard is
// locked.
func (f *half) findEntry(s *shard, h uint64, k key) (*entry, *page) {
	p := f.page(s, h)
	if p == nil {
		return nil, nil
	}
	return f.layout.findInPage(p, h, k), p
}

// page returns the page that a key with this hash belongs to, nil if there is
// none.
func (f *half) page(s *shard, h uint64) *page {
	d := s.dir.Load()
	if d == nil {
		return nil
	}
	return f.mem.pageAt(d.pageOf(d.index(h)))
}

// prefetch asks the processor for the line where the key's entry most likely
// is. It takes no lock: an address that is out of date is a wasted hint.
func (f *half) prefetch(h uint64) {
	d := f.shards[h>>(f.shift&63)].dir.Load()
	if d == nil {
		return
	}
	p := f.mem.pageAt(d.pageOf(d.index(h)))
	if p == nil {
		return
	}
	e := unsafe.Pointer(f.layout.entryAt(p, f.layout.homeGroup(h), 0))
	prefetch(e)
	if f.layout.group > lineSize {
		prefetch(unsafe.Add(e, lineSize))
	}
}

// add counts one event of the key k with hash h. The commonest of events, one more in
// the key's newest slot, is written out without function calls, and all other events
// leave it by one call: the fewer instructions there are between two cache misses, the
// more misses the processor overlaps.
func (f *half) add(h uint64, k key, op *Op) Count {
	s := &f.shards[h>>(f.shift&63)]
	if !s.mu.TryLock() { // Lock contains a call, and a call saves all these registers in memory
		return f.addSlow(f.lockShard(h), h, k, op)
	}
	d := s.dir.Load()
	if d == nil || k.first == 0 || f.marks {
		return f.addSlow(s, h, k, op)
	}
	p := f.mem.pageAt(d.pageOf(d.index(h)))
	var e *entry
	switch {
	case f.layout.group == lineSize:
		e = findSmall(p, h, uint32(k.first))
	case f.layout.stride == wideStride:
		e = f.layout.findWide(p, h, k.first)
	default:
		e = f.layout.match(f.layout.entryAt(p, f.layout.homeGroup(h), 0), k)
	}
	if e == nil {
		e = f.layout.findOn(p, f.layout.homeGroup(h), k)
	}
	if e == nil || op.Now != e.head || op.Slot != e.head {
		return f.addLocked(s, p, e, h, k, op)
	}
	c := Count{Added: op.Cost}
	if e.form == warm {
		c.Count, c.Added = e.asWarm().addToHead(op.Cost)
	} else if n, fits := e.addHead(op.Cost); fits {
		c.Count = n
	} else {
		return f.addLocked(s, p, e, h, k, op)
	}
	if f.layout.peak != 0 {
		f.layout.raise(e, c.Count)
	}
	s.mu.Unlock()
	return c
}

// addSlow is add in the shard of the hash, which is locked, and unlocks it.
func (f *half) addSlow(s *shard, h uint64, k key, op *Op) Count {
	e, p := f.findEntry(s, h, k)
	return f.addLocked(s, p, e, h, k, op)
}

// addLocked counts op in the key's entry e on page p, both nil if it has none, and unlocks
// the shard.
func (f *half) addLocked(s *shard, p *page, e *entry, h uint64, k key, op *Op) Count {
	c := f.addAt(s, p, e, h, k, op)
	s.mu.Unlock()
	return c
}

// addAt counts as addLocked does, and leaves the shard locked.
func (f *half) addAt(s *shard, p *page, e *entry, h uint64, k key, op *Op) Count {
	if e == nil {
		return f.addNew(s, h, k, op)
	}
	return f.addTo(s, p, e, op)
}

// addTo counts the event in the entry e of page p.
func (f *half) addTo(s *shard, p *page, e *entry, op *Op) Count {
	var c Count
	if f.marks {
		c = f.addValue(s, p, e, op)
	} else {
		c = f.addCost(s, p, e, op)
	}
	if f.layout.peak != 0 {
		f.layout.raise(e, c.Count)
	}
	return c
}

// addCost is addTo for a table of counts.
func (f *half) addCost(s *shard, p *page, e *entry, op *Op) Count {
	now := max(op.Now, e.head)
	slot := min(op.Slot, now)
	late := now-slot >= ring.Slots
	cost := op.Cost
	if late {
		slot, cost = now, 0
	}
	var count uint32
	added := cost
	if e.form == warm {
		count, added = f.addWarm(e.asWarm(), now, slot, cost)
	} else if n, fits := e.addToSlot(now, slot, cost); fits || cost == 0 {
		count = n
	} else {
		count, added = f.outgrow(s, p, e, slot, cost)
	}
	return Count{Count: count, Added: added, Late: late}
}

func (f *half) addWarm(w *warmEntry, now, slot uint32, cost uint16) (count uint32, added uint16) {
	if now > w.head {
		w.advance(f.mem.counts(w.ring), now)
	}
	if slot == w.head {
		return w.addToHead(cost)
	}
	return w.addLate(f.mem.counts(w.ring), slot, cost)
}

// addNew counts the first event of a key, if there is room for it.
func (f *half) addNew(s *shard, h uint64, k key, op *Op) Count {
	slot := min(op.Slot, op.Now)
	if op.Now-slot >= ring.Slots {
		return Count{Late: true}
	}
	if op.Cost == 0 {
		return Count{}
	}
	e, p := f.admit(s, h, k, op)
	if e == nil {
		return Count{Count: uint32(op.Cost), Added: op.Cost}
	}
	return f.addTo(s, p, e, op)
}

// countOf is the entry's count in the window that ends at now.
func (f *half) countOf(e *entry, now uint32) uint32 {
	if f.marks {
		return f.valuesOf(e, now)
	}
	if e.form == warm {
		w := e.asWarm()
		return w.count(f.mem.counts(w.ring), now)
	}
	return e.count(now)
}

// ringOf is the entry's window as a ring.
func (f *half) ringOf(e *entry) ring.Ring { return ring.New(e.head, f.countsOf(e)) }

// countsOf is the entry's slots, whatever form it has.
func (f *half) countsOf(e *entry) (c ring.Counts) {
	if f.marks {
		return f.lastSeen(e)
	}
	if e.form == warm {
		w := e.asWarm()
		c = *f.mem.counts(w.ring)
		c[w.head%ring.Slots] = w.last
		return c
	}
	e.counts(&c)
	return c
}
