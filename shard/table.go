// Package shard maps keys to sliding windows: address in, count out. A
// [Table] is one meter's, a [Memory] is the budget that all tables share.
//
// The way of an event: the address is cut to the table's prefix and hashed
// (key.go, hash.go); the hash's first bits choose a lock (shard.go), the next
// a page through the lock's directory (directory.go), and its low half the
// place in the page (page.go). A key is counted in a few bytes beside it
// until it outgrows them, and then in a ring (entry.go, rings.go). A page
// that is full is split in two, which is all that growth ever moves; where
// the budget is used up, heat decides who stays (evict.go, sketch.go). Sweep
// forgets what is idle, joins pages and frees memory (sweep.go). A table of
// marks counts different values instead of events (marks.go, tree.go).
//
// Counts are exact as package ring's are, until the budget is used up; after
// that a count may be too low and is never too high.
//
// The package does no I/O, reads no clock and starts no goroutine: the caller
// passes slot numbers and calls Sweep. Memory holds no pointers, so that the
// garbage collector has nothing to follow in it.
package shard

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"edgeguard/ring"
)

// Config says how a table makes keys and what it keeps of them.
type Config struct {
	// V4 and V6 are the prefix lengths that are counted together; 0 means 32
	// and 64. More than 64 bits of IPv6 cannot go with With.
	V4, V6 uint8
	// FewV4 says that few IPv4 addresses are expected: their half of the table has
	// the fewest locks, and no memory is reserved for it.
	FewV4 bool
	// With says that keys carry attributes.
	With bool
	// Everybody says that the keys have no address: Op.Addr is [edgeguard.Everybody]'s.
	Everybody bool
	// Peaks keeps each key's greatest count, four bytes more a key. Such keys
	// are not forgotten when they are idle, only when the budget is used up.
	Peaks bool
	// Distinct makes it a table of marks: a key's count is how many different values
	// ([Op.Value]) it showed in the window, each in the slot in which it was last seen.
	// It is exact up to [MaxDistinct], too low beyond, and never too high.
	Distinct bool
	// Seed makes the hash the process's own. Choose it at random; tables of one
	// Memory may share it.
	Seed uint64
}

// Table counts the keys of one meter. It is safe for concurrent use: it is
// split over locks, each held for one event.
type Table struct {
	halves    [2]half // by family
	with      bool
	everybody bool
	marks     bool
	sweep     sweep
}

// New makes an empty table that draws on mem. It panics if the prefix lengths
// are impossible: config checks them where they are read.
func New(mem *Memory, c Config) *Table {
	if c.V4 == 0 {
		c.V4 = 32
	}
	if c.V6 == 0 {
		c.V6 = 64
	}
	if c.V4 > 32 || c.V6 > 128 || c.With && c.V6 > 64 {
		panic(fmt.Sprintf("shard: no keys of /%d and /%d (with attributes: %t)", c.V4, c.V6, c.With))
	}
	t := &Table{with: c.With, everybody: c.Everybody, marks: c.Distinct}
	seed := hash1(c.Seed, mem.number())
	t.halves[v4].initTable(mem, v4, c.V4, c, seed)
	t.halves[v6].initTable(mem, v6, c.V6, c, seed+1)
	return t
}

// Op is one event to be counted.
type Op struct {
	Addr netip.Addr // unmapped, and valid
	With string     // the attributes' values, if the table has them
	// Now is the slot of the clock and Slot the event's own, at most Now.
	Now, Slot uint32
	// Cost is what the event adds to the count; at 0 it only asks. In a table of marks
	// it is how many marks the value has.
	Cost uint16
	// Value is what the event showed, for a table of marks: a number of at most 26 bits
	// that is not 0, or the [Value] of a text. At a cost of n, the n numbers from it on are
	// its own. Others ignore it.
	Value uint64
}

// Count is the answer to an event.
type Count struct {
	// Count is the key's, in the window that ends at the event's Now, the
	// event included unless it was late. A key for which there is no room has
	// the event's own cost.
	Count uint32
	// Added is what the event added: its cost, or less where its slot is full; in a
	// table of marks 0 for a value that was in the window already.
	Added uint16
	// Late says that the event's slot has left the window: it was not counted.
	Late bool
}

// Add counts one event.
func (t *Table) Add(op *Op) Count {
	if op.Addr.Is4() && !t.with { // the commonest cases, without a detour
		f := &t.halves[v4]
		k := f.prefix.keyOfIPv4(op.Addr)
		return f.add(hash1(f.seed, k), key{first: k}, op)
	}
	if f := &t.halves[v6]; f.layout.key == 8 && !op.Addr.Is4() {
		a := op.Addr.As16()
		k := binary.BigEndian.Uint64(a[:8]) & f.prefix.first
		return f.add(hash1(f.seed, k), key{first: k}, op)
	}
	f, k := t.halfAndKey(op.Addr, op.With)
	return f.add(f.hashKey(k), k, op)
}

// Count returns the key's count in the window that ends at now.
func (t *Table) Count(addr netip.Addr, with string, now uint32) uint32 {
	f, k := t.halfAndKey(addr, with)
	h := f.hashKey(k)
	s := f.lockShard(h)
	defer s.mu.Unlock()
	if e, _ := f.findEntry(s, h, k); e != nil {
		return f.countOf(e, now)
	}
	return 0
}

// Until returns after how many slots, from now on, the key's count is at most
// n if nothing more comes.
func (t *Table) Until(addr netip.Addr, with string, now, n uint32) uint32 {
	f, k := t.halfAndKey(addr, with)
	r, _ := f.wholeRing(k)
	return r.Until(now, n)
}

// SlotsOf returns the key's slots now-59 to now, oldest first; false if it has
// no entry.
func (t *Table) SlotsOf(addr netip.Addr, with string, now uint32) ([ring.Slots]uint16, bool) {
	f, k := t.halfAndKey(addr, with)
	r, ok := f.wholeRing(k)
	return r.Snapshot(now), ok
}

// wholeRing is the key's as a ring, whatever form it has; false if it has no entry.
func (f *half) wholeRing(k key) (ring.Ring, bool) {
	h := f.hashKey(k)
	s := f.lockShard(h)
	defer s.mu.Unlock()
	e, _ := f.findEntry(s, h, k)
	if e == nil {
		return ring.Ring{}, false
	}
	return f.ringOf(e), true
}

// Clear forgets the key.
func (t *Table) Clear(addr netip.Addr, with string) {
	f, k := t.halfAndKey(addr, with)
	f.clear(k)
}

func (f *half) clear(k key) {
	h := f.hashKey(k)
	s := f.lockShard(h)
	defer s.mu.Unlock()
	if e, p := f.findEntry(s, h, k); e != nil {
		f.dropEntry(s, p, e)
	}
}

// Close frees all memory. The table is empty afterwards.
func (t *Table) Close() {
	for i := range t.halves {
		t.halves[i].freeAll()
	}
}

// halfAndKey finds the address's half of the table and its key there.
func (t *Table) halfAndKey(addr netip.Addr, with string) (*half, key) {
	var k key
	f := &t.halves[v4]
	if addr.Is4() {
		k.first = f.prefix.keyOfIPv4(addr)
	} else {
		a := addr.As16()
		f = &t.halves[v6]
		k.first = binary.BigEndian.Uint64(a[:8]) & f.prefix.first
		k.rest = binary.BigEndian.Uint64(a[8:]) & f.prefix.rest
	}
	if t.with {
		k.rest = Fingerprint(with, t.everybody)
	}
	return f, k
}
