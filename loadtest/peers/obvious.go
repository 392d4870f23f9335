package peers

import (
	"net/netip"
	"sync"

	"edgeguard/ring"
)

// Obvious is what one would write on the first day: a map from the address to
// a pointer to its ring, in 256 shards with a mutex each. It counts exactly as
// edgeguard does, with the same ring; only the table differs. Safe for
// concurrent use.
type Obvious struct {
	shards [lockShards]struct {
		sync.Mutex // guards rings
		rings      map[netip.Addr]*ring.Ring
		_          [48]byte // a cache line each, so that locks do not share one
	}
}

// NewObvious returns an empty table.
func NewObvious() *Obvious {
	o := &Obvious{}
	for i := range o.shards {
		o.shards[i].rings = map[netip.Addr]*ring.Ring{}
	}
	return o
}

// Add counts one event and gives the address's count.
func (o *Obvious) Add(addr netip.Addr, slot uint32) uint32 {
	s := &o.shards[lockShard(addr)]
	s.Lock()
	r := s.rings[addr]
	if r == nil {
		r = &ring.Ring{}
		s.rings[addr] = r
	}
	count, _ := r.Add(slot, slot, 1)
	s.Unlock()
	return count
}
