package shard

import (
	"encoding/binary"
	"iter"
	"math"
	"unsafe"
)

// pageSize is the bytes of a page: what a split moves at most, and what the
// kernel and the processor call a page too.
const pageSize = 4096

// page is a small hash table for entries of one family and table
// whose hashes begin alike. It is cut into groups of one or two cache lines;
// an entry lies in the group that its hash names, its home, or, where that
// is full, in the next that is not. Each group counts the entries that had to
// pass it by, so a search seldom reads a second group, and nothing moves when
// an entry goes.
//
// Within a group all keys are compared without a branch. Linear probing from
// entry to entry was tried first: its mispredicted exits, each waiting for
// memory, let no two look-ups overlap and cost a third more.
type page [pageSize]byte

// pageHead lies in what the first group, or the last if that has no room,
// leaves over.
type pageHead struct {
	used  uint8 // entries in use
	depth uint8 // leading bits, after the lock's, that all hashes here share
}

// layout is how entries lie in the pages of one table and family: the entry
// proper, its key, and its peak if the table keeps peaks.
type layout struct {
	stride    uintptr // from entry to entry
	key       uintptr // bytes of the key
	first     uint64  // masks the word in which the key begins, and
	rest      uint64  // that of its second half, 0 if it has none,
	restAt    uintptr // so many bytes on
	peak      uintptr // offset of the peak, 0 if none is kept
	group     uintptr // bytes of a group
	each      uint32  // entries in a group
	groups    uint32  // in a page
	cap, full uint32  // entries in a page; at which it is called full
	head      uintptr // offset of the pageHead
	over      uintptr // offset of the first group's overflow count, and
	overStep  uintptr // from one to the next
}

const (
	lineSize    = 64
	smallStride = entrySize + 4 // of the smallest entry, a bare IPv4 address
	wideStride  = entrySize + 8
	wideGroups  = pageSize / lineSize / 2
	smallGroups = pageSize / lineSize
)

func newLayout(key uintptr, peaks bool) layout {
	l := layout{stride: entrySize + key, key: key, first: math.MaxUint64}
	if key%8 != 0 {
		l.first = math.MaxUint32
	}
	if key > 8 {
		l.rest, l.restAt = math.MaxUint64, key-8
	}
	if peaks {
		l.peak = l.stride
		l.stride += 4
	}
	l.group = lineSize
	if lineSize/l.stride < 3 {
		l.group = 2 * lineSize // a group of two would too often be full
	}
	l.each = uint32(l.group / l.stride)
	l.groups = uint32(pageSize / l.group)
	if spare := l.group % l.stride; spare >= 4 {
		l.head, l.over, l.overStep = l.group-spare, l.group-1, l.group
	} else {
		l.groups--
		l.head = uintptr(l.groups) * l.group
		l.over, l.overStep = l.head+2, 1
	}
	l.cap = l.groups * l.each
	// The fuller, the leaner, and the longer a search that finds nothing: the
	// smaller groups overflow sooner.
	l.full = l.cap * 23 / 25
	if l.group == lineSize {
		l.full = l.cap * 7 / 8
	}
	return l
}

func (l *layout) headOf(p *page) *pageHead {
	return (*pageHead)(unsafe.Add(unsafe.Pointer(p), l.head))
}

func (l *layout) overOf(p *page, group uint32) *uint8 {
	return (*uint8)(unsafe.Add(unsafe.Pointer(p), l.over+uintptr(group)*l.overStep))
}

// entryAt is the i-th entry of a group.
func (l *layout) entryAt(p *page, group, i uint32) *entry {
	return (*entry)(unsafe.Add(unsafe.Pointer(p), uintptr(group)*l.group+uintptr(i)*l.stride))
}

// entriesOf calls yield with every entry in use.
func (l *layout) entriesOf(p *page) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for g := range l.groups {
			for i := range l.each {
				if e := l.entryAt(p, g, i); e.form != empty && !yield(e) {
					return
				}
			}
		}
	}
}

// groupOf is the number of the group in which an entry lies.
func (l *layout) groupOf(p *page, e *entry) uint32 {
	return uint32((uintptr(unsafe.Pointer(e)) - uintptr(unsafe.Pointer(p))) / l.group)
}

// homeGroup is the group where a key with this hash lies if there is room. It
// takes the low half of the hash; the lock and the directory take the high.
func (l *layout) homeGroup(h uint64) uint32 {
	return uint32(uint64(uint32(h)) * uint64(l.groups) >> 32)
}

func (l *layout) nextGroup(group uint32) uint32 {
	if group++; group == l.groups {
		return 0
	}
	return group
}

// keyOf reads the key behind an entry.
func (l *layout) keyOf(e *entry) key {
	b := unsafe.Add(unsafe.Pointer(e), entrySize)
	return key{first: load8(b) & l.first, rest: load8(unsafe.Add(b, l.restAt)) & l.rest}
}

// load4 and load8 read words at multiples of four, in the order of bytes that setKey
// writes. An entry is followed by at least eight bytes of its group, its key among them.
func load4(p unsafe.Pointer) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(p)[:])
}

func load8(p unsafe.Pointer) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(p)[:])
}

func (l *layout) setKey(e *entry, k key) {
	b := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(e), entrySize)), l.key)
	if l.key%8 == 0 {
		binary.LittleEndian.PutUint64(b, k.first)
	} else {
		binary.LittleEndian.PutUint32(b, uint32(k.first))
	}
	if l.rest != 0 {
		binary.LittleEndian.PutUint64(b[l.restAt:], k.rest)
	}
}

// peakOf is where an entry's greatest count lies; the layout must have one.
func (l *layout) peakOf(e *entry) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(e), l.peak))
}

// raise makes count the entry's peak if it is greater.
func (l *layout) raise(e *entry, count uint32) {
	peak := l.peakOf(e)
	*peak = max(*peak, count)
}

// findInPage returns the entry of k, nil if it has none. It takes match where add takes
// findWide: it is not the way of every event.
func (l *layout) findInPage(p *page, h uint64, k key) *entry {
	if l.group == lineSize && k.first != 0 {
		if e := findSmall(p, h, uint32(k.first)); e != nil {
			return e
		}
	} else if e := l.match(l.entryAt(p, l.homeGroup(h), 0), k); e != nil {
		return e
	}
	return l.findOn(p, l.homeGroup(h), k)
}

// findOn returns the entry of k, whose home is the group g, if it lies beyond.
func (l *layout) findOn(p *page, g uint32, k key) *entry {
	for range l.groups {
		if *l.overOf(p, g) == 0 {
			return nil
		}
		g = l.nextGroup(g)
		if e := l.match(l.entryAt(p, g, 0), k); e != nil {
			return e
		}
	}
	return nil
}

// findSmall looks for the bare IPv4 address k, which is not 0.0.0.0, in the
// three entries of its home. Nil says only that it is not there. It computes the
// place: of three ifs the compiler makes branches, since the result is an address,
// and each that is mispredicted waits for memory.
func findSmall(p *page, h uint64, k uint32) *entry {
	home := unsafe.Add(unsafe.Pointer(p), h>>20&((smallGroups-1)*lineSize)) // as home has it
	at := ifZero(load4(unsafe.Add(home, entrySize+smallStride))^k, smallStride)
	at |= ifZero(load4(unsafe.Add(home, entrySize+2*smallStride))^k, 2*smallStride)
	if load4(unsafe.Add(home, entrySize+at)) != k {
		return nil
	}
	return (*entry)(unsafe.Add(home, at))
}

// ifZero is n if x is 0, and else 0.
func ifZero(x uint32, n uintptr) uintptr { return uintptr((int64(x)-1)>>63) & n }

// match looks for k in the group that begins with e.
func (l *layout) match(e *entry, k key) *entry {
	if k.first == 0 {
		return l.matchZero(e, k)
	}
	b := unsafe.Add(unsafe.Pointer(e), entrySize)
	found := l.group // the offset of the match, once there is one
	for off, end := uintptr(0), uintptr(l.each)*l.stride; off < end; off += l.stride {
		x := unsafe.Add(b, off)
		if (load8(x)&l.first^k.first)|(load8(unsafe.Add(x, l.restAt))&l.rest^k.rest) == 0 {
			found = off
		}
	}
	if found == l.group {
		return nil
	}
	return (*entry)(unsafe.Add(unsafe.Pointer(e), found))
}

// findWide looks for the key k in the five entries of its home: of IPv6, or of IPv4
// with peaks. Nil says only that it is not there.
func (l *layout) findWide(p *page, h, k uint64) *entry {
	home := unsafe.Add(unsafe.Pointer(p), h>>20&((wideGroups-1)*2*lineSize)) // as home has it
	mask, off := l.first, uintptr(2*lineSize)
	if load8(unsafe.Add(home, entrySize))&mask == k {
		off = 0
	}
	if load8(unsafe.Add(home, entrySize+wideStride))&mask == k {
		off = wideStride
	}
	if load8(unsafe.Add(home, entrySize+2*wideStride))&mask == k {
		off = 2 * wideStride
	}
	if load8(unsafe.Add(home, entrySize+3*wideStride))&mask == k {
		off = 3 * wideStride
	}
	if load8(unsafe.Add(home, entrySize+4*wideStride))&mask == k {
		off = 4 * wideStride
	}
	if off == 2*lineSize {
		return nil
	}
	return (*entry)(unsafe.Add(home, off))
}

// matchZero is match for a key that looks like that of a free entry.
func (l *layout) matchZero(e *entry, k key) *entry {
	for off := uintptr(0); off < uintptr(l.each)*l.stride; off += l.stride {
		x := (*entry)(unsafe.Add(unsafe.Pointer(e), off))
		if x.form != empty && l.keyOf(x) == k {
			return x
		}
	}
	return nil
}

// claim returns a free entry for a key with this hash. The page must have one.
func (l *layout) claim(p *page, h uint64) *entry {
	l.headOf(p).used++
	for g := l.homeGroup(h); ; g = l.nextGroup(g) {
		for i := range l.each {
			if e := l.entryAt(p, g, i); e.form == empty {
				return e
			}
		}
		*l.overOf(p, g)++
	}
}

// place copies an entry with its key and peak into a page where the key is
// not yet.
func (l *layout) place(p *page, h uint64, from *entry) {
	copy(l.bytes(l.claim(p, h)), l.bytes(from))
}

// remove frees the entry of a key with this hash.
func (l *layout) remove(p *page, h uint64, e *entry) {
	for g, last := l.homeGroup(h), l.groupOf(p, e); g != last; g = l.nextGroup(g) {
		*l.overOf(p, g)--
	}
	clear(l.bytes(e))
	l.headOf(p).used--
}

func (l *layout) bytes(e *entry) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(e)), l.stride)
}
