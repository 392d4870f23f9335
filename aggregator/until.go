package aggregator

import (
	"edgeguard/ring"
	"edgeguard/shard"
)

// Retry-After foretells when a key will be at its limit, if nothing more comes. What is proven
// of the others is the least that will be left, and by that alone a client would be told to come
// too early: between two splits the others have gone on. How much, the answers say, and in which
// slot. It is no evidence, and no verdict goes by it: who forges a total makes those wait longer
// who are refused for what is proven.

// hear takes the answer to a push of a slot: what it has beyond what is known was counted in
// that slot, or since the answer before. most is the most that Redis can have of the others: what
// is known beyond it was taken to be in too late a slot, or was lost.
func (f *remainder) hear(slot, rest, most uint32) {
	if slot < f.at || slot < f.head {
		return
	}
	f.heard.Advance(f.head, slot)
	f.head = slot
	known := f.floorAt(slot) + f.heard.Sum()
	for old := slot - (ring.Slots - 1); known > most && old <= slot; old++ {
		n := &f.heard[old%ring.Slots]
		less := min(uint32(*n), known-most)
		*n, known = *n-uint16(less), known-less
	}
	if rest > known {
		f.heard.Add(slot, uint16(min(rest-known, ring.Max)))
	}
}

// takeRest keeps what an answer to a push of the present slot has of a key's others, and in
// which slots it had it of one over the limit of a rule that acts at each event. own is what is
// counted here by now. The caller holds the lock.
func (n *Totals) takeRest(part *suspects, id suspectID, s *suspect, p *Push, own, total uint32) {
	s.rest, s.restAt = total-min(total, own), p.head
	m, f := &n.meters[id.meter], n.remainder(part, id)
	if f == nil {
		if m.Renews == 0 || own+s.rest <= m.Renews || s.rest == 0 {
			return
		}
		f = &remainder{at: p.head, sent: p.sent, head: p.head}
		part.keepFloor(id, f)
	}
	f.hear(p.head, s.rest, total-min(total, p.Sum))
}

// Until returns after how many slots from op.Now on a key is at most at a limit, if nothing
// more comes. least goes by what is counted here and what is proven of the others in each of
// those windows; most takes what answers had, too. op is as for [Totals.RestOfFleet].
func (n *Totals) Until(meter int, op *shard.Op, limit uint32) (least, most uint32) {
	m := &n.meters[meter]
	own, _ := m.Table.SlotsOf(op.Addr, op.With, op.Now) // oldest first
	id := m.suspectOf(meter, op)
	p := n.partOf(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	s, f := p.known[id], n.remainder(p, id)
	var here, sure, told uint32 // in the window that ends i-1 slots from op.Now on
	if f != nil && f.head > op.Now {
		told = f.heard.Sum() - f.heard.Leaving(f.head, op.Now+ring.Slots)
	}
	for i := uint32(ring.Slots); i > 0 && least == 0; i-- {
		here += uint32(own[i-1])
		floor, heard := f.leaving(op.Now + i - 1)
		sure, told = sure+floor, told+heard
		if f == nil && s.restAt != 0 && op.Now+i == s.restAt+ring.Slots {
			told += s.rest // what more of the others is known nowhere else
		}
		if here+sure > limit {
			least = i
		}
		if most == 0 && here+sure+told > limit {
			most = i
		}
	}
	return least, most
}

// leaving is what leaves after the window that ends at a slot: of the floor, and of what
// was heard.
func (f *remainder) leaving(slot uint32) (floor, heard uint32) {
	if f == nil {
		return 0, 0
	}
	if slot-f.at < ring.Slots {
		floor = uint32(f.leaves[slot-f.at])
	}
	if oldest := slot - (ring.Slots - 1); f.head-oldest < ring.Slots {
		heard = uint32(f.heard[oldest%ring.Slots])
	}
	return floor, heard
}
