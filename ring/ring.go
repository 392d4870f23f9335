// Package ring counts what one key did in a sliding window of sixty slots.
//
// [Counts] is the array of slots, 120 bytes: what the shard package counts in. It
// keeps each key's head (the newest slot it knows) and running sum beside the
// key, and touches the array less. A [Ring] is one window, complete. It is the
// reference that shard is tested against, and what a window is read out as.
//
// It knows slot numbers and nothing of time: slot = floor(unix seconds /
// width), a uint32, which is enough until 2106 at one second a slot. It does
// not lock, and it holds no pointers.
//
// A window's time never runs back: a `now` behind the head is read as the
// head. Two goroutines that took the clock one after the other and arrive the
// other way round then agree on the count.
package ring

import "edgeguard"

// Slots is the length of the window in slots.
const Slots = edgeguard.Slots

// Ring is a sliding window over the last [Slots] slots. The zero value is an
// empty window, ready for use. It is 128 bytes, two cache lines, and not safe
// for concurrent use.
type Ring struct {
	head, sum uint32 // the newest slot known; always the sum of counts
	counts    Counts
}

// New returns the window whose newest slot is head and whose slots are counts.
func New(head uint32, counts Counts) Ring {
	return Ring{head: head, sum: counts.Sum(), counts: counts}
}

// Add moves the window on to now and adds cost to slot. It returns the count
// of the window that ends at now, this cost included. A late slot that is
// still in the window counts in its place; for an older one counted is false
// and nothing is added. A slot after now is read as now. A slot holds at most
// [Max] and does not wrap.
func (r *Ring) Add(now, slot uint32, cost uint16) (count uint32, counted bool) {
	if now > r.head {
		r.sum -= r.counts.Advance(r.head, now)
		r.head = now
	}
	slot = min(slot, r.head)
	if r.head-slot >= Slots {
		return r.sum, false
	}
	r.sum += uint32(r.counts.Add(slot, cost))
	return r.sum, true
}

// Count returns the sum of the slots now-59 to now.
func (r *Ring) Count(now uint32) uint32 {
	return r.sum - r.counts.Leaving(r.head, now)
}

// Last returns the sum of the last k slots: now-k+1 to now. A k over [Slots]
// is read as [Slots].
func (r *Ring) Last(now uint32, k int) uint32 {
	recent := r.Snapshot(now)
	var sum uint32
	for _, n := range recent[Slots-min(max(k, 0), Slots):] {
		sum += uint32(n)
	}
	return sum
}

// Until returns after how many slots, from now on, the count is at most n if
// nothing more comes: 0 if it already is, [Slots] at the most.
func (r *Ring) Until(now, n uint32) uint32 {
	gap, sum := max(now, r.head)-r.head, uint32(0)
	for age := uint32(0); age+gap < Slots && age <= r.head; age++ { // the newest first: a flood is there
		if sum += uint32(r.counts[(r.head-age)%Slots]); sum > n {
			return Slots - gap - age
		}
	}
	return 0
}

// Snapshot returns the slots now-59 to now, oldest first.
func (r *Ring) Snapshot(now uint32) Counts {
	var out Counts
	gap := max(now, r.head) - r.head
	for age := uint32(0); age+gap < Slots && age <= r.head; age++ {
		out[Slots-1-age-gap] = r.counts[(r.head-age)%Slots]
	}
	return out
}
