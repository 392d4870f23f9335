package shard

import (
	"math/bits"
	"unsafe"

	"edgeguard/ring"
)

// ref is a ring's place: its page's number and its index there. 0 is none.
type ref uint32

const (
	refBits      = 6
	ringsPerPage = 34
	allRings     = 1<<ringsPerPage - 1
)

// ringPage is a page of rings. Pages with a free ring form a list.
type ringPage struct {
	counts     [ringsPerPage]ring.Counts
	taken      uint64 // a bit for each ring
	next, prev uint32
}

func (m *Memory) ringPage(n uint32) *ringPage { return (*ringPage)(unsafe.Pointer(m.pageAt(n))) }

// counts returns the slots of a ring, to whoever holds the lock of its key.
func (m *Memory) counts(r ref) *ring.Counts {
	return &m.ringPage(uint32(r >> refBits)).counts[r&(1<<refBits-1)]
}

// takeRing hands out a ring of zeroes, or 0 if there is none.
func (m *Memory) takeRing() ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.partial
	if n == 0 {
		if !m.allows(m.rings) {
			return 0
		}
		if n = m.takePage(); n == 0 {
			return 0
		}
		m.rings++
		m.link(n)
	}
	p := m.ringPage(n)
	i := bits.TrailingZeros64(^p.taken)
	p.taken |= 1 << i
	if p.taken == allRings {
		m.unlink(n)
	}
	return ref(n<<refBits | uint32(i))
}

// giveRing takes a ring back, and its page if it was the last there.
func (m *Memory) giveRing(r ref) {
	*m.counts(r) = ring.Counts{}
	n := uint32(r >> refBits)
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.ringPage(n)
	if p.taken == allRings {
		m.link(n)
	}
	p.taken &^= 1 << (r & (1<<refBits - 1))
	if p.taken == 0 {
		m.unlink(n)
		m.rings--
		m.freePage(n)
	}
}

func (m *Memory) link(n uint32) {
	p := m.ringPage(n)
	p.next, p.prev = m.partial, 0
	if p.next != 0 {
		m.ringPage(p.next).prev = n
	}
	m.partial = n
}

func (m *Memory) unlink(n uint32) {
	p := m.ringPage(n)
	if p.next != 0 {
		m.ringPage(p.next).prev = p.prev
	}
	if p.prev != 0 {
		m.ringPage(p.prev).next = p.next
	} else {
		m.partial = p.next
	}
	p.next, p.prev = 0, 0
}
