package blocklist

import (
	"math/bits"
	"sync/atomic"
)

// slots is how many entries a bucket holds: with their tags they fill one
// cache line of 64 bytes.
const slots = 7

// bucket is a line of the index. Readers load it while the one writer stores:
// a tag only says where to look, the entry itself says whether it is the one.
type bucket struct {
	// tags has in its lowest seven bytes the tag of each slot's entry, 0 for a
	// free slot, and in the highest how many entries went on to the next
	// buckets because this one was full. A reader stops where it is 0.
	tags    atomic.Uint64
	entries [slots]atomic.Pointer[entry]
}

const (
	lowest   = 0x01010101010101 // of each of the seven bytes the lowest bit
	highest  = lowest << 7
	passOne  = 1 << (8 * slots) // one more entry that went on
	passFull = 255
)

// matches has the highest bit of each byte set that equals tag. Bits above the
// lowest one set may be wrong (the subtraction's borrow), so each is verified.
func matches(tags uint64, tag uint8) uint64 {
	x := tags ^ lowest*uint64(tag)
	return (x - lowest) & ^x & highest
}

// lowestSlot returns the slot of the lowest match.
func lowestSlot(match uint64) int { return bits.TrailingZeros64(match) / 8 }

func (b *bucket) passed() uint64 { return b.tags.Load() / passOne }

// findSlot returns the slot of the entry of exactly this network.
func (b *bucket) findSlot(tags uint64, tag uint8, n network, length uint8) (e *entry, slot int) {
	for m := matches(tags, tag); m != 0; m &= m - 1 {
		slot = lowestSlot(m)
		if e = b.entries[slot].Load(); e != nil && e.network == n && e.length == length {
			return e, slot
		}
	}
	return nil, 0
}

// putEntry takes an entry in, and reports whether there was room.
func (b *bucket) putEntry(e *entry, tag uint8) bool {
	tags := b.tags.Load()
	free := matches(tags, 0)
	if free == 0 {
		return false
	}
	slot := lowestSlot(free)
	b.entries[slot].Store(e)
	b.tags.Store(tags | uint64(tag)<<(8*slot))
	return true
}

func (b *bucket) clear(slot int) {
	b.tags.Store(b.tags.Load() &^ (0xff << (8 * slot)))
	b.entries[slot].Store(nil)
}

// passOn counts an entry that goes on. At 255 it stays until the page is laid
// out again, since what was not counted cannot be taken back.
func (b *bucket) passOn() {
	if b.passed() < passFull {
		b.tags.Add(passOne)
	}
}

// passBack takes one passOn back.
func (b *bucket) passBack() {
	if b.passed() < passFull {
		b.tags.Store(b.tags.Load() - passOne)
	}
}
