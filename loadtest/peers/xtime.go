package peers

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// XTime is golang.org/x/time/rate, one token bucket an address, in the same
// sharded map as [Obvious]: 2,000 in five minutes. Safe for concurrent use.
type XTime struct {
	shards [lockShards]struct {
		sync.Mutex // guards limiters
		limiters   map[netip.Addr]*rate.Limiter
		_          [48]byte
	}
}

// NewXTime returns an empty table.
func NewXTime() *XTime {
	x := &XTime{}
	for i := range x.shards {
		x.shards[i].limiters = map[netip.Addr]*rate.Limiter{}
	}
	return x
}

// Add takes one token and answers 1 if there was one. The bucket has its own
// lock, so the shard's is held for the look-up only.
func (x *XTime) Add(addr netip.Addr, slot uint32) uint32 {
	s := &x.shards[lockShard(addr)]
	s.Lock()
	l := s.limiters[addr]
	if l == nil {
		l = rate.NewLimiter(2000.0/300, 2000)
		s.limiters[addr] = l
	}
	s.Unlock()
	if l.AllowN(time.Unix(int64(slot)*5, 0), 1) {
		return 1
	}
	return 0
}
