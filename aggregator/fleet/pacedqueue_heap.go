package fleet

import "net/netip"

// entry is a prefix in the queue.
type entry struct {
	prefix netip.Prefix
	number uint64
}

// queue is a ring of entries, first in, first out. The zero value is empty.
type queue struct {
	ring  []entry // its length is a power of two, or 0
	first int
	count int
}

func (q *queue) len() int { return q.count }

func (q *queue) push(e entry) {
	if q.count == len(q.ring) {
		q.grow()
	}
	q.ring[(q.first+q.count)&(len(q.ring)-1)] = e
	q.count++
}

// pop removes the first entry, which must exist.
func (q *queue) pop() entry {
	e := q.ring[q.first]
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.count--
	return e
}

func (q *queue) grow() {
	ring := make([]entry, max(64, 2*len(q.ring)))
	n := copy(ring, q.ring[q.first:])
	copy(ring[n:], q.ring[:q.first])
	q.ring, q.first = ring, 0
}
