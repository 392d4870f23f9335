package shard

import (
	"net/netip"

	"edgeguard"
	"edgeguard/ring"
)

// Windows calls yield with every key's window until it returns false: what a
// snapshot keeps. head is the newest slot in which the key was seen, and
// counts are the slots head-59 to head, slot s at s % ring.Slots, so that
// ring.New(head, counts) is the window. with is the [Fingerprint] of the
// attributes, and prefix [edgeguard.Everybody] where keys have no address. As with Each, a page is copied under its lock and shown without
// it; counts may be kept until the next call of yield.
func (t *Table) Windows(yield func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool) {
	var keys []copied
	var counts []ring.Counts
	for fam := range t.halves {
		f := &t.halves[fam]
		add := func(c copied, e *entry) {
			keys = append(keys, c)
			counts = append(counts, f.countsOf(e))
		}
		for i := range f.shards {
			for from, more := uint64(0), true; more; {
				keys, counts = keys[:0], counts[:0]
				from = f.entries(i, from, 0, add)
				more = from != 0
				for k := range keys {
					e := f.shownEntry(family(fam), &keys[k])
					if t.everybody {
						e.Key.Prefix = edgeguard.Everybody
					}
					if !yield(e.Key.Prefix, e.With, e.Head, &counts[k]) {
						return
					}
				}
			}
		}
	}
}

// Restore counts a window that Windows has shown, in this process or in one
// before. It adds to what the key has; a slot that has left the window that
// ends at the key's head is dropped. Where the budget is used up, heat decides
// as always. A table of marks ignores it: a window does not say which values it counts.
func (t *Table) Restore(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) {
	f, k := t.keyOf(Entry{Key: edgeguard.Key{Prefix: prefix}, With: with})
	if f.marks {
		return
	}
	h := f.hashKey(k)
	s := f.lockShard(h)
	defer s.mu.Unlock()
	for age := min(ring.Slots-1, head); ; age-- {
		if n := counts[(head-age)%ring.Slots]; n > 0 {
			e, p := f.findEntry(s, h, k)
			f.addAt(s, p, e, h, k, &Op{Now: head, Slot: head - age, Cost: n})
		}
		if age == 0 {
			return
		}
	}
}
