package cleared

import (
	"net/netip"
	"testing"

	"edgeguard/aggregator"
)

func key(i int) aggregator.Key {
	addr := netip.AddrFrom4([4]byte{192, byte(i >> 16), byte(i >> 8), byte(i)})
	return aggregator.Key{Meter: 1, Prefix: netip.PrefixFrom(addr, 32)}
}

// TestQueue: of two marks of a key the higher one is kept, also where one was
// taken in between; the queue is bounded, and says that something waits.
func TestQueue(t *testing.T) {
	q := NewQueue()
	q.Add([]Item{{key(1), Mark{7, 5}}, {key(2), Mark{3, 5}}})
	q.Add([]Item{{key(1), Mark{6, 5}}, {key(2), Mark{4, 5}}})
	<-q.Waiting
	owed := q.Take()
	if len(owed) != 2 || owed[key(1)] != (Mark{7, 5}) || owed[key(2)] != (Mark{4, 5}) || len(q.Take()) != 0 {
		t.Errorf("taken: %v", owed)
	}
	q.Add([]Item{{key(1), Mark{8, 5}}, {key(2), Mark{1, 5}}, {key(3), Mark{1, 5}}})
	<-q.Waiting
	q.PutBack(owed)
	<-q.Waiting
	owed = q.Take()
	if len(owed) != 3 || owed[key(1)] != (Mark{8, 5}) || owed[key(2)] != (Mark{4, 5}) {
		t.Errorf("put back and taken again: %v", owed)
	}
	for i := range most + 10 {
		q.Add([]Item{{key(i), Mark{1, 5}}})
	}
	q.Add([]Item{{key(0), Mark{2, 5}}})
	if owed = q.Take(); len(owed) != most || owed[key(0)] != (Mark{2, 5}) {
		t.Errorf("%d keys wait, the first with %v", len(owed), owed[key(0)])
	}
}
