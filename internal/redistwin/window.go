package redistwin

import (
	"encoding/binary"

	"edgeguard"
	"edgeguard/aggregator"
)

const kept = aggregator.Kept

// window is a ring as Redis keeps it: the slots head-67 to head, slot s at
// s % 68.
type window struct {
	head   uint32
	counts [kept]uint32
}

// advance moves the head forward and empties the slots that enter.
func (w *window) advance(head uint32) {
	if head <= w.head {
		return
	}
	for i := range min(head-w.head, kept) {
		w.counts[(head-i)%kept] = 0
	}
	w.head = head
}

// holds reports whether a slot is among those kept.
func (w *window) holds(slot uint32) bool {
	return slot <= w.head && w.head-slot < kept
}

func (w *window) at(slot uint32) uint32 {
	if !w.holds(slot) {
		return 0
	}
	return w.counts[slot%kept]
}

// sum adds up the kept slots from (at least 0) to end.
func (w *window) sum(from, end int64) (sum uint32) {
	for s := max(from, 0); s <= end; s++ {
		sum += w.at(uint32(s))
	}
	return sum
}

// total returns the count of the window that ends at a slot.
func (w *window) total(end int64) uint32 { return w.sum(end-edgeguard.Slots+1, end) }

// slots returns the slots of the window that ends at a slot, oldest first, in two bytes each.
func (w *window) slots(end int64) string {
	var out []byte
	for s := end - edgeguard.Slots + 1; s <= end; s++ {
		out = binary.BigEndian.AppendUint16(out, uint16(w.sum(s, s)))
	}
	return string(out)
}
