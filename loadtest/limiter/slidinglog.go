package limiter

import "time"

// SlidingLog keeps the time and the cost of each request that it allowed: it is exact
// to the microsecond, and so is what it says of the time to wait.
type SlidingLog struct {
	limit   uint32
	window  time.Duration
	begins  time.Duration // the first Take: stamps are microseconds since then
	clients map[uint64]stamps
}

// stamps are one client's, oldest first: microseconds in the upper 48 bits (nine
// years), the cost in the lower 16.
type stamps struct {
	all []uint64
	sum uint32
}

const costBits = 16

// NewSlidingLog returns an empty one.
func NewSlidingLog(limit uint32, window time.Duration) *SlidingLog {
	return &SlidingLog{limit, window, -1, map[uint64]stamps{}}
}

// Take implements [Limiter].
func (l *SlidingLog) Take(now time.Duration, client uint32, cost uint16) (Decision, error) {
	if l.begins < 0 {
		l.begins = now
	}
	k := key(client)
	c := l.at(now, k)
	d := Decision{Allowed: c.sum+uint32(cost) <= l.limit}
	switch {
	case d.Allowed:
		c.all = append(c.all, uint64((now-l.begins)/time.Microsecond)<<costBits|uint64(cost))
		c.sum += uint32(cost)
		l.clients[k] = c
	case never(cost, l.limit):
		d.RetryAfter = Silent
	default:
		d.RetryAfter = l.wait(now, c, cost)
	}
	d.Count = float64(c.sum)
	return d, nil
}

// Peek implements [Local].
func (l *SlidingLog) Peek(at time.Duration, client uint32, cost uint16) bool {
	return l.at(at, key(client)).sum+uint32(cost) <= l.limit
}

// at returns what is still in the window that ends at now.
func (l *SlidingLog) at(now time.Duration, k uint64) stamps {
	c := l.clients[k]
	for len(c.all) > 0 && l.leaves(c.all[0]) <= now {
		c.sum -= uint32(uint16(c.all[0]))
		c.all = c.all[1:]
	}
	return c
}

// leaves is when a stamp is no longer in the window.
func (l *SlidingLog) leaves(stamp uint64) time.Duration {
	return l.begins + time.Duration(stamp>>costBits)*time.Microsecond + l.window
}

// wait is until enough of the oldest has left for the cost to fit: not until the
// oldest alone has.
func (l *SlidingLog) wait(now time.Duration, c stamps, cost uint16) time.Duration {
	left := c.sum
	for _, stamp := range c.all {
		if left -= uint32(uint16(stamp)); left+uint32(cost) <= l.limit {
			return l.leaves(stamp) - now
		}
	}
	return Silent
}
