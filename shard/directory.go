package shard

import "sync/atomic"

// directory says which page holds the keys whose hashes, behind the bits that
// chose the lock, begin with each value of depth bits. A page of a lesser
// depth stands at several neighbouring places.
//
// It is written under its shard's lock and read without it, for prefetching:
// so the places are loaded and stored atomically, and a directory that grows
// is replaced whole.
//
// Source: Fagin, Nievergelt, Pippenger and Strong, "Extendible hashing: a
// fast access method for dynamic files" (1979).
type directory struct {
	depth uint8
	shift uint8 // of a hash, to bring those bits to the right
	deep  int   // pages whose own depth is depth; at 0 the half would do
	pages []uint32
}

// maxDepth leaves the low half of the hash to the place in the page.
const maxDepth = 24

// newDirectory makes one for a half whose locks take so many bits, at least 1.
func newDirectory(lockBits, depth uint8) *directory {
	return &directory{depth: depth, shift: 64 - lockBits - depth, pages: make([]uint32, 1<<depth)}
}

// index is where a hash is looked up.
func (d *directory) index(h uint64) uint64 {
	return h >> (d.shift & 63) & uint64(len(d.pages)-1)
}

func (d *directory) pageOf(i uint64) uint32 { return atomic.LoadUint32(&d.pages[i]) }

// setPage makes n the page of all places that share the first depth bits of i.
func (d *directory) setPage(i uint64, depth uint8, n uint32) {
	width := uint64(1) << (d.depth - depth)
	i &^= width - 1
	for j := range width {
		atomic.StoreUint32(&d.pages[i+j], n)
	}
}

// double returns the directory with one bit more.
func (d *directory) double() *directory {
	out := &directory{depth: d.depth + 1, shift: d.shift - 1, pages: make([]uint32, 2*len(d.pages))}
	for i := range out.pages {
		out.pages[i] = d.pages[i/2]
	}
	return out
}

// halve returns the directory with one bit less, for which no page may be deep.
// Deep is left for the shard to count, who knows the pages.
func (d *directory) halve() *directory {
	out := &directory{depth: d.depth - 1, shift: d.shift + 1, pages: make([]uint32, len(d.pages)/2)}
	for i := range out.pages {
		out.pages[i] = d.pages[i*2]
	}
	return out
}

// bytes is what the budget is charged.
func (d *directory) bytes() int64 { return int64(len(d.pages)) * 4 }
