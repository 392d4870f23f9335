package aggregator

import (
	"math"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/ring"
	"edgeguard/shard"
)

// Meter is one meter of the detector as the fleet sees it.
type Meter struct {
	// Fingerprint identifies it on all nodes.
	Fingerprint uint64
	// Width is its slot in seconds.
	Width uint32
	// Limit is the lowest limit of its rules with scope fleet; 0: there is
	// none, and the meter is not reported.
	Limit uint32
	// Renews is the lowest limit of those of them that act at each event while the total
	// is over it, so that the total has to be proven again and again; 0: there is none.
	Renews uint32
	// SparesOutages says that its rules go by the status.
	SparesOutages bool
	// V4 and V6 are the prefix lengths of its keys, as in shard.Config; 0 means
	// 32 and 64.
	V4, V6 uint8
	// With says that its keys carry attributes, as in shard.Config.
	With bool
	// Everybody says that its keys have no address, as in shard.Config: no unblock is of
	// them.
	Everybody bool
	// Table holds this node's counts on proven evidence.
	Table *shard.Table
}

// meter is a Meter with its changing state.
type meter struct {
	Meter
	share atomic.Uint32 // a key is reported once its count reaches this
	since atomic.Uint32 // the first local slot that is pushed
	// stepped is the first local slot that follows all that was pushed before a
	// step of the clock: after a step back, slots up to it have numbers for the
	// second time. Redis may store more under these than belongs to a sum.
	stepped atomic.Uint32
	// redrawn is the first slot after the node had to draw another
	// boot; lost is what the table had evicted at the last look, and lostAt the
	// slot in which that had last become more.
	redrawn, lostAt atomic.Uint32
	lost            atomic.Uint64
	joined          atomic.Uint32 // the slot in which the node last joined its fleet
}

// prefix returns the prefix under which an address is counted.
func (m *meter) prefix(addr netip.Addr) netip.Prefix {
	if m.Everybody {
		return edgeguard.Everybody
	}
	bits := m.V6
	if addr.Is4() {
		bits = m.V4
	}
	p, _ := addr.Prefix(int(bits))
	return p
}

// setShare recomputes the share and reports whether it is lower than before.
// With quiet, the counts that so many nodes leave unreported add up to at most
// share*limit.
func (m *meter) setShare(quiet bool, share float64, nodes int) (less bool) {
	least := uint32(math.MaxUint32)
	switch {
	case m.Limit == 0:
	case quiet:
		// 1e-9: rounding may put the product just above a whole number.
		least = max(1, uint32(math.Ceil(share*float64(m.Limit)/float64(nodes)-1e-9)))
	default:
		least = 1
	}
	return least < m.share.Swap(least)
}

// partial reports whether Redis may store more in the window that ends at head
// than the sum claims, so that the two must not be compared.
func (m *meter) partial(head uint32) bool {
	return int64(m.stepped.Load()) > int64(head)-(ring.Slots-1)
}

// slotAt returns the local slot of a local time.
func (m *meter) slotAt(now time.Time) uint32 { return uint32(max(now.Unix(), 0) / int64(m.Width)) }

// readSlots returns the key's slots head-59 to head, oldest first. head is now, or a
// little later where events are ahead of the caller's clock. A table answers a
// now that is behind the ring's head with the ring at its head, without saying
// so; but then the next slot yields the same counts, which otherwise are
// shifted by one. False: the key has no counts, or the caller's clock is far
// behind.
func (m *meter) readSlots(id suspectID, now uint32) (counts [ring.Slots]uint16, head uint32, ok bool) {
	const patience = 3
	e := id.entry()
	counts, ok = m.Table.RingOf(e, now)
	for head = now; ok && head < now+patience; head++ {
		var next [ring.Slots]uint16
		if next, ok = m.Table.RingOf(e, head+1); !ok || precedes(&counts, &next) {
			return counts, head, ok
		}
		counts = next
	}
	return counts, head, false
}

// moveBefore moves what the table has of a slot and of those after it to the slot
// before it; where that is full, to the next older one.
func (m *meter) moveBefore(first uint32) {
	m.Table.Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
		var moving uint32
		for slot := head; slot >= first && head-slot < ring.Slots; slot-- {
			moving += uint32(counts[slot%ring.Slots])
			counts[slot%ring.Slots] = 0
		}
		if moving == 0 || first < ring.Slots {
			return true
		}
		counts.Advance(head, first-1)
		for slot := first - 1; moving > 0 && slot > first-1-ring.Slots; slot-- {
			moving -= uint32(counts.Add(slot, uint16(min(moving, ring.Max))))
		}
		m.Table.ClearEntry(shard.Entry{Key: edgeguard.Key{Prefix: prefix}, With: with})
		m.Table.Restore(prefix, with, first-1, counts)
		return true
	})
}

// precedes reports whether next is what counts becomes when one more slot
// begins.
func precedes(counts, next *[ring.Slots]uint16) bool {
	return [ring.Slots - 1]uint16(counts[1:]) == [ring.Slots - 1]uint16(next[:ring.Slots-1]) && next[ring.Slots-1] == 0
}
