package limiter

import (
	"time"

	"edgeguard"
)

// Buckets is the pseudo-code of the document that edgeguard grew from, taken
// literally:
//
//	bucket_index = (t / bucket_width) mod 60. If bucket_index != head, advance head
//	(running_sum -= buckets[head], buckets[head] = 0, head = bucket_index).
//	Then buckets[bucket_index] += 1, running_sum += 1.
//
// It takes away the bucket that it leaves, not those that it enters, and cannot
// tell a whole turn from none.
type Buckets struct {
	limit   uint32
	slot    time.Duration
	clients map[uint64]*buckets
}

type buckets struct {
	sum    uint32
	head   uint8
	counts [edgeguard.Slots]uint16
}

// NewBuckets returns an empty one.
func NewBuckets(limit uint32, window time.Duration) *Buckets {
	return &Buckets{limit, window / edgeguard.Slots, map[uint64]*buckets{}}
}

// Take implements [Limiter].
func (b *Buckets) Take(now time.Duration, client uint32, cost uint16) (Decision, error) {
	k := key(client)
	c := b.clients[k]
	if c == nil {
		c = &buckets{}
		b.clients[k] = c
	}
	if index := b.index(now); index != c.head {
		c.sum -= uint32(c.counts[c.head])
		c.counts[c.head] = 0
		c.head = index
	}
	if c.sum+uint32(cost) > b.limit {
		return Decision{Count: float64(c.sum), RetryAfter: Silent}, nil
	}
	c.counts[c.head] += cost
	c.sum += uint32(cost)
	return Decision{Allowed: true, Count: float64(c.sum)}, nil
}

// Peek implements [Local].
func (b *Buckets) Peek(at time.Duration, client uint32, cost uint16) bool {
	c := b.clients[key(client)]
	if c == nil {
		return uint32(cost) <= b.limit
	}
	sum := c.sum
	if b.index(at) != c.head {
		sum -= uint32(c.counts[c.head])
	}
	return sum+uint32(cost) <= b.limit
}

func (b *Buckets) index(now time.Duration) uint8 { return uint8(now / b.slot % edgeguard.Slots) }
