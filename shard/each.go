package shard

import (
	"unsafe"

	"edgeguard"
	"edgeguard/ring"
)

// Entry is one key as Each shows it.
type Entry struct {
	// Key has no With: the table keeps only the attributes' fingerprint. It has no Prefix
	// where keys have no address.
	Key edgeguard.Key
	// With is the [Fingerprint] of the attributes, 0 in a table without.
	With uint64
	// Count is the key's in the window that ends at the now of the call, Peak
	// the greatest there was, if the table keeps peaks.
	Count, Peak uint32
	// Head is the newest slot in which the key was seen.
	Head uint32
}

// RingOf returns the slots now-59 to now, oldest first, of a key that Each has
// shown: Ring for those who know its attributes by fingerprint only.
func (t *Table) RingOf(e Entry, now uint32) ([ring.Slots]uint16, bool) {
	f, k := t.keyOf(e)
	r, ok := f.wholeRing(k)
	return r.Snapshot(now), ok
}

// ClearEntry forgets a key that Each has passed: it is Clear for a caller that knows
// only the fingerprint of the attributes.
func (t *Table) ClearEntry(e Entry) {
	f, k := t.keyOf(e)
	f.clear(k)
}

// keyOf finds the entry's half of the table and its key there.
func (t *Table) keyOf(e Entry) (*half, key) {
	addr := e.Key.Prefix.Addr()
	if t.everybody {
		addr = edgeguard.Everybody.Addr()
	}
	f, k := t.halfAndKey(addr, "")
	if t.with {
		k.rest = e.With
	}
	return f, k
}

// EachEntry calls yield with every key until it returns false. A page is copied
// under its lock and shown without it, so yield may take its time and may use
// the table. A key that is there from beginning to end is shown exactly once;
// one that comes or goes during the walk may or may not be.
func (t *Table) EachEntry(now uint32, yield func(Entry) bool) {
	t.Where(now, func(uint32) bool { return true }, yield)
}

// Where is for a caller who looks at all counts and needs few of the keys, as EachEntry is
// for one who needs all. It calls wanted with each count, and yield with the keys of those for which that
// returns true.
func (t *Table) Where(now uint32, wanted func(count uint32) bool, yield func(Entry) bool) {
	var buf []copied
	for fam := range t.halves {
		f := &t.halves[fam]
		for i := range f.shards {
			for from, more := uint64(0), true; more; {
				buf = buf[:0]
				from = f.entries(i, from, now, func(c copied, _ *entry) { buf = append(buf, c) })
				more = from != 0
				for j := range buf {
					if wanted(buf[j].count) && !yield(f.shownEntry(family(fam), &buf[j])) {
						return
					}
				}
			}
		}
	}
}

// copied is what a walk takes of an entry under the lock, half as long as an Entry.
type copied struct {
	key               key
	count, peak, head uint32
}

// shownEntry makes of it what a walk shows.
func (f *half) shownEntry(fam family, c *copied) Entry {
	x := Entry{Key: edgeguard.Key{Prefix: f.prefix.addrOf(fam, c.key)}, Count: c.count, Peak: c.peak, Head: c.head}
	if f.prefix.with {
		x.With = c.key.rest
	}
	return x
}

// entries calls each, under the lock, with the keys of the page of the hash
// from, but not with those whose hash is smaller: they were shown before two
// pages were joined. It gives the hash at which the next page begins, 0 behind
// the last.
func (f *half) entries(shard int, from uint64, now uint32, each func(copied, *entry)) (next uint64) {
	s := &f.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dir.Load()
	if d == nil {
		return 0
	}
	p := f.mem.pageAt(d.pageOf(d.index(from >> f.bits)))
	f.fetch(p, now)
	for e := range f.layout.entriesOf(p) {
		k := f.layout.keyOf(e)
		if f.hashKey(k)<<f.bits < from {
			continue
		}
		c := copied{key: k, count: f.countOf(e, now), head: e.head}
		if f.layout.peak != 0 {
			c.peak = *f.layout.peakOf(e)
		}
		each(c, e)
	}
	return after(from, f.layout.headOf(p).depth)
}

// fetch asks the processor for the rings of a page that count needs, all together: one
// after the other each is a wait for memory.
func (f *half) fetch(p *page, now uint32) {
	for e := range f.layout.entriesOf(p) {
		if e.form == warm && now > e.head && now-e.head < ring.Slots {
			c := unsafe.Pointer(f.mem.counts(e.asWarm().ring))
			prefetch(c)
			prefetch(unsafe.Add(c, lineSize))
		}
	}
}
