package detector

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
)

// extensions remembers in which slot a block was extended last, so that a
// flood rewrites the list once a slot and not once a request. It has one place
// for many keys: two that share one are extended more often than they need to
// be, and never less.
type extensions [1024]atomic.Uint64 // the upper half of the key's hash, and the slot

// first reports whether the key was not yet there in this slot.
func (x *extensions) first(rule int, prefix netip.Prefix, slot uint32) bool {
	var b [18 + 8]byte
	addr := prefix.Addr().As16()
	copy(b[:], addr[:])
	b[16] = byte(prefix.Bits())
	binary.LittleEndian.PutUint64(b[18:], uint64(rule))
	h := xxhash.Sum64(b[:])
	place, entry := &x[h%uint64(len(x))], h>>32<<32|uint64(slot)
	old := place.Load()
	return old != entry && place.CompareAndSwap(old, entry)
}

// extend keeps a block of a while_over rule until the count will have fallen
// to the limit, if nothing more comes. What comes is counted, though it is
// denied, and moves that on: once a slot.
func (c *decision) extend(m *meter, i int) {
	r := &c.d.rules[i]
	prefix := m.Key(c.event.Addr, "").Prefix
	if c.block.Rule != r.Name || c.block.Prefix != prefix {
		return
	}
	now := m.slot(c.nowSec)
	if !c.d.extensions.first(i, prefix, now) {
		return
	}
	slots := m.proven.Until(c.event.Addr, "", now, r.Limit)
	until := time.Unix(int64(now+slots)*int64(m.Width), 0).UTC()
	if !until.After(c.block.Until) {
		return
	}
	block := *c.block
	block.Until = until
	block.Version++ // of the block as it was seen: whoever lifts it meanwhile is not overruled by a newer one
	if changed, err := c.d.config.List.Merge(block, c.now); err != nil || !changed {
		return
	}
	c.d.steps.prolong(r.Name, prefix, until)
	c.made = true
	c.standing, c.block = c.d.config.List.Find(c.now, c.event.Addr)
}
