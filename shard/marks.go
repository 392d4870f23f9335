package shard

import (
	"unsafe"

	"edgeguard/ring"
)

// mark is one value that a key of a [Config.Distinct] table showed: 26 bits of its
// fingerprint above the low six bits of the slot in which it was last seen. 0 is a
// free place. All marks of a key are aged whenever its head moves, so that six bits
// are enough: the age of a mark that is there is below 60.
type mark uint32

const (
	slotBits     = 6
	marksInEntry = 2
	marksInBlock = 30
	// MaxDistinct is the greatest count of values that is exact, but for two values of
	// one fingerprint: 0.12 % of keys with so many show one less. Greater counts are too low.
	MaxDistinct = 400
)

// block is the memory of a ring, used for marks: those that are there lie first. The
// blocks of a key with more than one are listed in another.
type (
	block [marksInBlock]mark
	index [marksInBlock]ref
)

// markEntry is an entry with its marks in the place of its pairs. A key that has
// outgrown them has the form tree and is a warmEntry, where sum is the number of its
// marks, all of the window that ends at head. Where last is 0, ring is their block;
// otherwise it is an index of last blocks, the leaves.
type markEntry struct {
	head  uint32
	form  form
	heat  uint8
	_     uint16
	marks [marksInEntry]mark
}

func (e *entry) marked() *markEntry { return (*markEntry)(unsafe.Pointer(e)) }

func (m *Memory) block(r ref) *block { return (*block)(unsafe.Pointer(m.counts(r))) }
func (m *Memory) index(r ref) *index { return (*index)(unsafe.Pointer(m.counts(r))) }

// newMark returns the mark of a value that was seen in slot.
func newMark(value uint64, slot uint32) mark {
	fingerprint := max(uint32(value)<<slotBits, 1<<slotBits)
	return mark(fingerprint | slot%(1<<slotBits))
}

// is reports whether both are marks of one value.
func (m mark) is(other mark) bool { return m^other < 1<<slotBits }

// slotsBefore returns how many slots before head the value was last seen.
func (m mark) slotsBefore(head uint32) uint32 { return (head - uint32(m)) % (1 << slotBits) }

// setSight makes the mark that of a sight of its value, where that is the later one, or of a
// first sight in a free place. It returns how many values that adds.
func (m *mark) setSight(seen mark, head uint32) (added uint16) {
	switch {
	case *m == 0:
		*m = seen
		return 1
	case seen.slotsBefore(head) < m.slotsBefore(head):
		*m = seen
	}
	return 0
}

// place returns where the value's mark is, or else the first free place; the number of
// marks where there is neither.
func place(marks []mark, m mark) int {
	for i, x := range marks {
		if x == 0 || x.is(m) {
			return i
		}
	}
	return len(marks)
}

// used returns how many places of a block are taken.
func (b *block) used() int {
	for i, m := range b {
		if m == 0 {
			return i
		}
	}
	return marksInBlock
}

// keep drops the marks that are not in the window that ends at now and brings the
// others together at the front. It returns how many these are.
func keep(marks []mark, head, now uint32) (kept int) {
	gap := min(now-head, ring.Slots)
	for _, m := range marks {
		if m != 0 && m.slotsBefore(head)+gap < ring.Slots {
			marks[kept] = m
			kept++
		}
	}
	clear(marks[kept:])
	return kept
}

// live returns how many marks are in the window that ends at now.
func live(marks []mark, head, now uint32) (n uint32) {
	gap := min(max(now, head)-head, ring.Slots)
	for _, m := range marks {
		if m != 0 && m.slotsBefore(head)+gap < ring.Slots {
			n++
		}
	}
	return n
}

// leafOf returns the number of the leaf that a mark of the key belongs to. The seed is
// secret: a client could otherwise choose ports that share a leaf, and be counted too low.
func (f *half) leafOf(m mark, leaves uint16) uint32 {
	return uint32(hash1(f.seed, uint64(m>>slotBits)) >> 32 * uint64(leaves) >> 32)
}

// marksAmong returns the marks among which m belongs.
func (f *half) marksAmong(w *warmEntry, m mark) *block {
	if w.last == 0 {
		return f.mem.block(w.ring)
	}
	return f.mem.block(f.mem.index(w.ring)[f.leafOf(m, w.last)])
}

// eachMarkBlock calls each with all blocks of a tree and how many marks they have.
func (f *half) eachMarkBlock(w *warmEntry, each func(marks []mark)) {
	if w.last == 0 {
		each(f.mem.block(w.ring)[:w.sum])
		return
	}
	for _, r := range f.mem.index(w.ring)[:w.last] {
		b := f.mem.block(r)
		each(b[:b.used()])
	}
}

// addValue is addTo for a table of marks: a value that has a mark moves it to the
// event's slot, and any other makes one. A value of cost n is n values that are seen together,
// so that one of cost 1 which is shown again at cost 4 adds 3.
func (f *half) addValue(s *shard, p *page, e *entry, op *Op) Count {
	now := max(op.Now, e.head)
	slot := min(op.Slot, now)
	f.advanceMarks(e, now)
	out := Count{Late: now-slot >= ring.Slots}
	if !out.Late && op.Cost > 0 {
		for i := range uint64(op.Cost) {
			out.Added += f.note(s, p, e, newMark(op.Value+i, slot))
		}
	}
	out.Count = f.valuesOf(e, now)
	return out
}

// advanceMarks moves the window on to now.
func (f *half) advanceMarks(e *entry, now uint32) {
	if now == e.head {
		return
	}
	if e.form == cold {
		keep(e.marked().marks[:], e.head, now)
	} else {
		kept := 0
		f.eachMarkBlock(e.asWarm(), func(marks []mark) { kept += keep(marks, e.head, now) })
		e.asWarm().sum = uint32(kept)
	}
	e.head = now
}

// note makes or moves the mark of a value and returns how many values were added.
func (f *half) note(s *shard, p *page, e *entry, m mark) (added uint16) {
	if e.form == cold {
		c := e.marked()
		if at := place(c.marks[:], m); at < marksInEntry {
			return c.marks[at].setSight(m, c.head)
		}
		return f.plant(s, p, e, m)
	}
	w := e.asWarm()
	b := f.marksAmong(w, m)
	at := place(b[:], m)
	if at == marksInBlock && f.growTree(s, p, e) {
		b = f.marksAmong(w, m)
		at = place(b[:], m)
	}
	if at == marksInBlock {
		return 0
	}
	added = b[at].setSight(m, w.head)
	w.sum += uint32(added)
	return added
}

// valuesOf is countOf for a table of marks.
func (f *half) valuesOf(e *entry, now uint32) (n uint32) {
	switch {
	case e.form == cold:
		return live(e.marked().marks[:], e.head, now)
	case now <= e.head:
		return e.asWarm().sum
	}
	f.eachMarkBlock(e.asWarm(), func(marks []mark) { n += live(marks, e.head, now) })
	return n
}

// lastSeen is countsOf for a table of marks: how many values were last seen in each slot.
func (f *half) lastSeen(e *entry) (c ring.Counts) {
	each := func(marks []mark) {
		for _, m := range marks {
			if m != 0 {
				c.Add(e.head-m.slotsBefore(e.head), 1)
			}
		}
	}
	if e.form == cold {
		each(e.marked().marks[:])
	} else {
		f.eachMarkBlock(e.asWarm(), each)
	}
	return c
}

// prefetchMarks asks the processor for the key's block. It takes the lock: the block's
// place is in the entry.
func (f *half) prefetchMarks(h uint64, k key) {
	s := f.lockShard(h)
	if e, _ := f.findEntry(s, h, k); e != nil && e.form == tree {
		f.prefetchTree(e.asWarm())
	}
	s.mu.Unlock()
}

// prefetchTree asks for the lines of a tree's first block that are in use.
func (f *half) prefetchTree(w *warmEntry) {
	c := unsafe.Pointer(f.mem.counts(w.ring))
	used := uintptr(w.sum) * unsafe.Sizeof(mark(0)) // 0 where all were seen too long ago
	if w.last > 0 {
		used = uintptr(w.last) * unsafe.Sizeof(ref(0))
	}
	for at := uintptr(0); at < used; at += lineSize {
		prefetch(unsafe.Add(c, at))
	}
	prefetch(unsafe.Add(c, max(used, 1)-1))
}
