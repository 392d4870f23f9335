package shard

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Memory is the one budget that all tables draw from. It hands out pages of
// 4 KiB from chunks of up to 2 MiB, which it takes and gives back as the
// tables grow and shrink. Chunks, directories and sketch are all inside the
// limit. Safe for concurrent use.
type Memory struct {
	limit     int64
	alloc     func(bytes int) []byte
	free      func([]byte)
	chunkSize int              // pages of a chunk, at most chunkPages
	pages     int              // in all; keys and rings get 7/8 each at the most, so that neither starves the other
	dirLimit  int64            // bytes of directories
	bases     []unsafe.Pointer // chunk → its first byte, nil if not taken; atomic
	estimates sketch

	mu          sync.Mutex // guards all below; taken under a shard's lock, never the other way round
	chunks      []chunk
	low         int    // no chunk below has a free page
	spare       int    // chunks without a page in use
	used        int64  // bytes of chunks
	dirs        int64  // bytes of directories
	keys, rings int    // pages in use
	reserved    int    // pages kept for shards that have none yet
	partial     uint32 // the first page of rings with a free one
	tables      uint64 // made so far
}

// chunkPages is how many page numbers a chunk has, used or not: 2 MiB of
// pages, the size of a huge page.
const chunkPages = 512

// chunk is a run of pages.
type chunk struct {
	mem   []byte
	taken [chunkPages / 64]uint64 // a bit for each page
	used  int
}

// MemoryStats is the state of a budget.
type MemoryStats struct {
	Limit, Used         int64 // bytes
	KeyPages, RingPages int   // of 4 KiB, in use
	Sketch              int64 // bytes of Used that hold the estimates of keys outside
}

// NewMemory makes a budget of at most limit bytes, taken from the Go heap as
// it is needed. A sixteenth is kept for the sketch that the full table needs.
// Below about 128 KiB nothing but the odd key finds room.
func NewMemory(limit int64) *Memory {
	return NewMemoryFrom(limit, func(n int) []byte { return make([]byte, n) }, func([]byte) {})
}

// NewMemoryFrom is NewMemory with memory from elsewhere, for instance in huge
// pages, which save a fifth to a third of an access at millions of keys.
// Alloc returns zeroed memory, aligned to 4 KiB, or nil if it has none; free
// takes it back. Both are called under a lock.
func NewMemoryFrom(limit int64, alloc func(bytes int) []byte, free func([]byte)) *Memory {
	m := &Memory{limit: limit, alloc: alloc, free: free}
	m.estimates.planSize(limit / 16)
	m.dirLimit = limit / 64
	pages := max(limit-m.estimates.fullSize()-m.dirLimit, 0) / pageSize
	m.chunkSize = int(min(max(pages/64, 1), chunkPages)) // what is left at the end is lost
	n := int(pages) / m.chunkSize
	// Chunk 0 is never taken, so that page number 0 stands for none.
	m.bases = make([]unsafe.Pointer, n+1)
	m.chunks = make([]chunk, n+1)
	m.low = 1
	m.pages = n * m.chunkSize
	return m
}

// Stats reports the budget's state.
func (m *Memory) Stats() MemoryStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	sketch := m.estimates.taken.Load()
	return MemoryStats{Limit: m.limit, Used: m.used + m.dirs + sketch, KeyPages: m.keys, RingPages: m.rings, Sketch: sketch}
}

// pageAt returns the address of a page, or nil if its chunk is gone. The address is
// good to read and write only under the lock that owns the page.
func (m *Memory) pageAt(n uint32) *page {
	base := atomic.LoadPointer(&m.bases[n/chunkPages])
	if base == nil {
		return nil
	}
	return (*page)(unsafe.Add(base, uintptr(n%chunkPages)*pageSize))
}

// reservePages keeps n pages for the shards of a new table, so that a table which
// comes late, or counts the other family, finds room beside one that a flood
// has filled. False if half of the budget is already held.
func (m *Memory) reservePages(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 1 && m.reserved+n > m.pages/2 {
		return false
	}
	m.reserved += n
	return true
}

// takeKeys hands out a zeroed page for keys, or 0 if there is none.
func (m *Memory) takeKeys() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.allows(m.keys) {
		return 0
	}
	n := m.takePage()
	if n != 0 {
		m.keys++
	}
	return n
}

// takeFirst takes a shard's first page, which may have been reserved for it.
func (m *Memory) takeFirst(held bool) uint32 {
	if !held {
		return m.takeKeys()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.takePage()
	if n != 0 {
		m.reserved--
		m.keys++
	}
	return n
}

// giveLast is giveKeys for a shard's last page.
func (m *Memory) giveLast(n uint32, held bool) {
	m.giveKeys(n)
	if held {
		m.reservePages(1)
	}
}

// allows reports whether a use that has pages already may have one more.
func (m *Memory) allows(pages int) bool {
	return pages < m.pages-m.pages/8 && m.keys+m.rings+m.reserved < m.pages
}

// giveKeys takes a page of keys back.
func (m *Memory) giveKeys(n uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys--
	m.freePage(n)
}

// charge takes bytes of the budget for a directory; false if they are not
// there. It never fails for a negative number.
func (m *Memory) charge(bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes > 0 && m.dirs+bytes > m.dirLimit {
		return false
	}
	m.dirs += bytes
	return true
}

// number counts the tables, so that each hashes in its own way: they share
// the sketch.
func (m *Memory) number() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables++
	return m.tables
}

// takePage finds a free page in the lowest chunk that has one, so that the
// highest are the first to become empty and go back.
func (m *Memory) takePage() uint32 {
	for ; m.low < len(m.chunks); m.low++ {
		c := &m.chunks[m.low]
		if c.mem == nil && !m.open(m.low) {
			return 0
		}
		if c.used == m.chunkSize {
			continue
		}
		if c.used == 0 {
			m.spare--
		}
		c.used++
		for i := range c.taken {
			if bit := bits.TrailingZeros64(^c.taken[i]); bit < 64 {
				c.taken[i] |= 1 << bit
				return uint32(m.low*chunkPages + i*64 + bit)
			}
		}
	}
	return 0
}

// freePage clears a page and puts it back. One empty chunk is kept, so that a
// table that breathes does not take and give a chunk at every breath.
func (m *Memory) freePage(n uint32) {
	*m.pageAt(n) = page{}
	i := int(n / chunkPages)
	c := &m.chunks[i]
	bit := n % chunkPages
	c.taken[bit/64] &^= 1 << (bit % 64)
	c.used--
	m.low = min(m.low, i)
	if c.used > 0 {
		return
	}
	if m.spare++; m.spare > 1 {
		m.close(i)
	}
}

func (m *Memory) open(i int) bool {
	mem := m.alloc(pageSize * m.chunkSize)
	if mem == nil {
		return false
	}
	m.chunks[i].mem = mem
	m.used += int64(len(mem))
	m.spare++
	atomic.StorePointer(&m.bases[i], unsafe.Pointer(unsafe.SliceData(mem)))
	return true
}

func (m *Memory) close(i int) {
	mem := m.chunks[i].mem
	atomic.StorePointer(&m.bases[i], nil)
	m.chunks[i] = chunk{}
	m.used -= int64(len(mem))
	m.spare--
	m.free(mem)
}
