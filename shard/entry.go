package shard

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"edgeguard/ring"
)

// form says what an entry's last ten bytes are. The zero form is an entry
// that is not in use.
type form uint8

const (
	empty form = iota
	cold       // pairs, or marks
	warm       // a ring elsewhere
	tree       // blocks of marks elsewhere
)

// pairs is how many live slots an entry counts by itself.
const pairs = 5

// pair is one live slot of a cold entry. A window is sixty slots, so the low
// eight bits of a slot's number say which it is. A count of 0 is a free pair.
type pair struct {
	slot, count uint8
}

// entry is one key's window while it is cold: few events in few slots, which
// is what most keys ever are. It is followed in memory by the key, whose
// length the page's layout knows. Both forms count exactly as ring.Ring does.
type entry struct {
	head  uint32 // the newest slot the window has seen
	form  form
	heat  uint8 // the estimate with which the key was admitted when full
	pairs [pairs]pair
}

// warmEntry is the same sixteen bytes after the key has outgrown its pairs.
// Sum and the head's own slot stay here, beside the key: while time stands in
// one slot an event touches this one cache line and never the ring, which is
// a second miss. The ring's place for the head is then 0.
type warmEntry struct {
	head uint32
	form form
	heat uint8
	last uint16 // the count of slot head
	sum  uint32 // of the window, last included
	ring ref
}

const entrySize = unsafe.Sizeof(entry{})

func (e *entry) asWarm() *warmEntry { return (*warmEntry)(unsafe.Pointer(e)) }

// addToSlot counts cost in slot, at most now and inside the window that ends at
// now, which is at least the head. Where the entry has outgrown its pairs,
// fits is false, count is without the cost, and only the head has moved.
func (e *entry) addToSlot(now, slot uint32, cost uint16) (count uint32, fits bool) {
	first := now != e.head && slot == now // of its slot: no pair can have that yet
	e.advance(now)
	var at int
	if first {
		at = e.free()
	} else {
		at = e.pairOf(slot)
	}
	count = e.sum()
	if at < 0 {
		return count, false
	}
	p := &e.pairs[at]
	n := uint32(p.count) + uint32(cost)
	if n > math.MaxUint8 {
		return count, false
	}
	*p = pair{uint8(slot), uint8(n)}
	if slot == now {
		*p, e.pairs[0] = e.pairs[0], *p // where addHead looks for it
	}
	return count + uint32(cost), true
}

// addHead is addToSlot for slot and now at the entry's head. It takes only what needs no
// search, and else changes nothing: the head's own pair, which addToSlot leaves first, with
// room in it. No pair is out of the window then: whatever moved the head emptied those.
func (e *entry) addHead(cost uint16) (count uint32, fits bool) {
	p := &e.pairs[0]
	n := uint32(p.count) + uint32(cost)
	if p.count == 0 || p.slot != uint8(e.head) || n > math.MaxUint8 {
		return 0, false
	}
	p.count = uint8(n)
	return e.sum(), true
}

// The pairs but the first are one word, four lanes of sixteen bits: a slot in the
// low byte of each and its count in the high one.
const (
	ones   = 0x0001_0001_0001_0001
	counts = 0x00ff * ones // of the word, eight bits to the right
)

func (e *entry) word() *[8]byte { return (*[8]byte)(unsafe.Pointer(&e.pairs[1])) }

// sum adds up the pairs.
func (e *entry) sum() uint32 {
	w := binary.LittleEndian.Uint64(e.word()[:])
	return uint32(e.pairs[0].count) + uint32(w>>8&counts*ones>>48)
}

// advance moves the window on to now, at least the head, and empties the pairs that
// leave it.
func (e *entry) advance(now uint32) {
	head, gap := uint8(e.head), min(now-e.head, ring.Slots)
	e.head = now
	if uint32(head-e.pairs[0].slot)+gap >= ring.Slots {
		e.pairs[0].count = 0
	}
	// In each lane: the age, from 256 on, so that it borrows nothing of the next lane;
	// then 2^15 where that and the gap make a window, and so all ones.
	w := binary.LittleEndian.Uint64(e.word()[:])
	ages := (uint64(head)*ones | 0x0100*ones) - w&counts
	gone := (ages&counts + (1<<15-ring.Slots+uint64(gap))*ones) >> 15 & ones
	binary.LittleEndian.PutUint64(e.word()[:], w&^(gone*0xff<<8))
}

// free returns the number of a pair that is free, below 0 if there is none.
func (e *entry) free() int {
	if e.pairs[0].count == 0 {
		return 0
	}
	w := binary.LittleEndian.Uint64(e.word()[:])
	used := (w>>8&counts + counts) & (0x0100 * ones)
	if free := used ^ 0x0100*ones; free != 0 {
		return 1 + bits.TrailingZeros64(free)/16
	}
	return -1
}

// pairOf returns the number of the slot's pair, else of a free one, below 0 if there
// is neither.
func (e *entry) pairOf(slot uint32) int {
	for i, p := range e.pairs {
		if p.count > 0 && p.slot == uint8(slot) {
			return i
		}
	}
	return e.free()
}

// count sums the pairs that are in the window that ends at now.
func (e entry) count(now uint32) uint32 {
	e.advance(max(now, e.head))
	return e.sum()
}

// counts writes the pairs into an empty array of slots.
func (e *entry) counts(c *ring.Counts) {
	for _, p := range e.pairs {
		if p.count > 0 {
			c.Add(e.head-uint32(uint8(e.head)-p.slot), uint16(p.count))
		}
	}
}

// squeeze counts cost in slot as well as pairs can, which may be too little:
// a full pair stays full, and the oldest makes room for a newer one.
func (e *entry) squeeze(slot uint32, cost uint16) uint32 {
	at := e.pairFor(slot)
	if at.count > 0 && at.slot != uint8(slot) {
		if uint8(e.head)-at.slot <= uint8(e.head-slot) {
			return e.count(e.head) // slot would itself be the oldest
		}
		at.count = 0
	}
	at.slot = uint8(slot)
	at.count = uint8(min(uint32(at.count)+uint32(cost), math.MaxUint8))
	return e.count(e.head)
}

// pairFor returns the pair of slot, else a free one, else the oldest.
func (e *entry) pairFor(slot uint32) *pair {
	if i := e.pairOf(slot); i >= 0 {
		return &e.pairs[i]
	}
	at := &e.pairs[0]
	for i := range e.pairs {
		if p := &e.pairs[i]; uint8(e.head)-p.slot > uint8(e.head)-at.slot {
			at = p
		}
	}
	return at
}

// promote returns the entry an empty ring at r and moves its pairs there.
func (e *entry) promote(r ref, c *ring.Counts) *warmEntry {
	e.counts(c)
	sum := c.Sum()
	w := e.asWarm()
	w.form, w.sum, w.ring = warm, sum, r
	w.last, c[w.head%ring.Slots] = c[w.head%ring.Slots], 0
	return w
}

// demote turns a warm entry back if its slots fit into pairs. The ring is
// then no longer its own.
func (w *warmEntry) demote(c *ring.Counts) bool {
	e := entry{head: w.head, form: cold, heat: w.heat}
	n := 0
	for age := uint32(0); age < ring.Slots && age <= w.head; age++ {
		count := c[(w.head-age)%ring.Slots]
		if age == 0 {
			count = w.last
		}
		if count == 0 {
			continue
		}
		if n == pairs || count > math.MaxUint8 {
			return false
		}
		e.pairs[n] = pair{uint8(w.head - age), uint8(count)}
		n++
	}
	*(*entry)(unsafe.Pointer(w)) = e
	return true
}

// shrink turns a warm entry into a cold one that keeps its newest slots, as
// far as pairs can hold them. The ring is then no longer its own.
func (w *warmEntry) shrink(c *ring.Counts) {
	c[w.head%ring.Slots] = w.last
	e := entry{head: w.head, form: cold, heat: w.heat}
	for age, n := uint32(0), 0; age < ring.Slots && age <= w.head && n < pairs; age++ {
		if count := c[(w.head-age)%ring.Slots]; count > 0 {
			e.pairs[n] = pair{uint8(w.head - age), uint8(min(count, math.MaxUint8))}
			n++
		}
	}
	*(*entry)(unsafe.Pointer(w)) = e
}

// advance moves the window on to now, later than its head.
func (w *warmEntry) advance(c *ring.Counts, now uint32) {
	c[w.head%ring.Slots] = w.last
	w.sum -= c.Advance(w.head, now)
	w.head, w.last = now, 0
}

// addToHead counts cost in slot, which is the head.
func (w *warmEntry) addToHead(cost uint16) (count uint32, added uint16) {
	added = min(cost, ring.Max-w.last)
	w.last += added
	w.sum += uint32(added)
	return w.sum, added
}

// addLate counts cost in a slot before the head and inside the window.
func (w *warmEntry) addLate(c *ring.Counts, slot uint32, cost uint16) (count uint32, added uint16) {
	added = c.Add(slot, cost)
	w.sum += uint32(added)
	return w.sum, added
}

// count sums the slots that are in the window that ends at now.
func (w *warmEntry) count(c *ring.Counts, now uint32) uint32 {
	if now <= w.head {
		return w.sum
	}
	if now-w.head >= ring.Slots {
		return 0
	}
	return w.sum - c.Leaving(w.head, now)
}
