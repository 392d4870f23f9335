package limiter

import "time"

// FixedWindow counts in windows that begin at multiples of their length.
type FixedWindow struct {
	limit   uint32
	window  time.Duration
	clients map[uint64]fixed
}

// fixed is one client's newest window.
type fixed struct{ number, count uint32 }

// NewFixedWindow returns an empty one.
func NewFixedWindow(limit uint32, window time.Duration) *FixedWindow {
	return &FixedWindow{limit, window, map[uint64]fixed{}}
}

// Take implements [Limiter].
func (f *FixedWindow) Take(now time.Duration, client uint32, cost uint16) (Decision, error) {
	k := key(client)
	c := f.at(now, k)
	if c.count+uint32(cost) <= f.limit {
		c.count += uint32(cost)
		f.clients[k] = c
		return Decision{Allowed: true, Count: float64(c.count)}, nil
	}
	d := Decision{Count: float64(c.count), RetryAfter: time.Duration(c.number+1)*f.window - now}
	if never(cost, f.limit) {
		d.RetryAfter = Silent
	}
	return d, nil
}

// Peek implements [Local].
func (f *FixedWindow) Peek(at time.Duration, client uint32, cost uint16) bool {
	return f.at(at, key(client)).count+uint32(cost) <= f.limit
}

func (f *FixedWindow) at(now time.Duration, k uint64) fixed {
	number := uint32(now / f.window)
	if c := f.clients[k]; c.number == number {
		return c
	}
	return fixed{number: number}
}
