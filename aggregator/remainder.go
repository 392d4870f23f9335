package aggregator

import (
	"slices"

	"edgeguard/ring"
)

// What others counted is proven for the window of the slot in which a split was read. A rule
// that refuses each event needs it in the slots after that, too: there Redis is asked again
// only once the node has counted and pushed something, after it had to decide. But a split of
// slots says what of it is left in each later window if nothing more comes. Counts only grow: so
// that is a floor of what the others have.
//
// Nothing of it is saved: a floor is as good as the table that it is added to, which after a
// kill has other counts than the one it was read for.

// remainder is what is proven of the others' part of a key in the windows that end at a slot and
// at those after it, and what answers had beyond that. It is 256 bytes.
type remainder struct {
	at     uint32             // local; the window of this slot is the first
	sent   uint32             // the newest push of the key when the split was read
	leaves [ring.Slots]uint16 // how much of it leaves with each slot from at on
	head   uint32             // the newest slot of heard
	heard  ring.Counts        // what an answer in each slot had beyond what was known
}

// floorAt returns the floor in the window that ends at a slot; 0 before at and once all has left.
func (f *remainder) floorAt(slot uint32) (rest uint32) {
	if f == nil || slot < f.at || slot-f.at >= ring.Slots {
		return 0
	}
	for _, n := range f.leaves[slot-f.at:] {
		rest += uint32(n)
	}
	return rest
}

// Foresee keeps what a split with slots proves of the others' part of a key, in the window
// that ends at the epoch's slot head and in all later ones. fields are those that count, self
// is this node's ID. Without slots they prove nothing of later windows, and what was known
// stays.
func (n *Totals) Foresee(k Key, head uint32, fields []SplitField, self [8]byte) {
	id, ok := n.suspectOf(k)
	if !ok || n.meters[id.meter].Renews == 0 || !slices.ContainsFunc(fields, func(f SplitField) bool { return f.Slots != "" }) {
		return
	}
	m := &n.meters[id.meter]
	slot := n.localSlot(m, head)
	counts, end, here := m.readSlots(id, slot)
	own := ring.Counts(counts) // oldest first
	if !here {
		own, end = ring.Counts{}, slot
	}
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	from := max(s.clearedBefore, n.cleared.markOf(id), n.emptied.markOf(id))
	if !known || end >= slot+ring.Slots || slot < from || m.partial(slot) {
		return
	}
	f := remainder{at: end, sent: s.sent, head: end}
	if f.read(fields, self, &own, slot, from); own.Sum()+f.floorAt(end) > m.Renews {
		part.keepFloor(id, &f)
	} else {
		delete(part.remainders, id)
	}
}

// read sets what leaves after each slot by fields with the slots up to slot, of which those
// below from were forgotten. own is what this node counts of the slots up to f.at. What of that
// does not stand under its own name, an earlier boot may have pushed.
func (f *remainder) read(fields []SplitField, self [8]byte, own *ring.Counts, slot, from uint32) {
	var others, mine, here, least uint32
	for i := ring.Slots - 1; i >= 0; i-- {
		at := f.at - (ring.Slots - 1) + uint32(i)
		if at < from {
			break
		}
		here += uint32(own[i])
		if j := i + int(f.at-slot); j < ring.Slots { // others' slots end where they were asked to
			for k := range fields {
				if id, _ := fields[k].NodeID(); id == self {
					mine += uint32(fields[k].slotAt(j))
				} else {
					others += min(uint32(fields[k].slotAt(j)), 1<<31-others)
				}
			}
		}
		rest := others - min(others, here-min(here, mine))
		f.leaves[i] = uint16(min(rest-min(rest, least), ring.Max))
		least += uint32(f.leaves[i])
	}
}

// doubt drops the floor of a key where Redis has less by an answer to a later push: it lost
// counts, or something was forged and is removed. The caller holds the lock.
func (p *suspects) doubt(id suspectID, push *Push, a Answer) {
	if f := p.remainders[id]; f != nil && int32(push.sent-f.sent) > 0 && a.Total-min(a.Total, push.Sum) < f.floorAt(push.head) {
		delete(p.remainders, id)
	}
}

// soon is for how many slots after the present one what is proven is to be enough: a split
// is read where it is not. A client that comes less often may pass once each time.
const soon = ring.Slots / 4

// renews reports whether the others' part is to be proven again at a slot: an answer had more,
// and with what is proven the key is not over the limit for some slots to come. own is oldest
// first.
func (s *suspect) renews(own *ring.Counts, f *remainder, limit, slot uint32) bool {
	if limit == 0 || s.rest <= max(s.proof(slot), f.floorAt(slot)) {
		return false
	}
	left := uint32(0)
	for _, n := range own[soon:] {
		left += uint32(n)
	}
	return left+f.floorAt(slot+soon) <= limit
}

// keepFloor keeps the floor of a key. The caller holds the lock.
func (p *suspects) keepFloor(id suspectID, f *remainder) {
	if p.remainders == nil {
		p.remainders = make(map[suspectID]*remainder)
	}
	p.remainders[id] = f
}

// remainder returns a key's, nil if there is none: one that was read before an unblock counts
// no more. The caller holds the lock.
func (n *Totals) remainder(p *suspects, id suspectID) *remainder {
	f := p.remainders[id]
	if f == nil || f.at < max(n.cleared.markOf(id), n.emptied.markOf(id)) {
		return nil
	}
	return f
}
