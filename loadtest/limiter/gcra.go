package limiter

import "time"

// GCRA is the generic cell rate algorithm, a token bucket that is kept as one
// time: it allows a burst of the whole limit, and fills as fast as the limit is
// in a window.
type GCRA struct {
	limit   uint32
	window  time.Duration
	each    time.Duration // what a cost of 1 takes to come back
	clients map[uint64]time.Duration
}

// NewGCRA returns an empty one.
func NewGCRA(limit uint32, window time.Duration) *GCRA {
	return &GCRA{limit, window, window / time.Duration(limit), map[uint64]time.Duration{}}
}

// Take implements [Limiter].
func (g *GCRA) Take(now time.Duration, client uint32, cost uint16) (Decision, error) {
	k := key(client)
	full := max(g.clients[k], now) // when all will have come back
	after := full + time.Duration(cost)*g.each
	switch {
	case after-now <= g.window:
		g.clients[k] = after
		return Decision{Allowed: true, Count: float64(after-now) / float64(g.each)}, nil
	case never(cost, g.limit):
		return Decision{Count: float64(full-now) / float64(g.each), RetryAfter: Silent}, nil
	}
	return Decision{Count: float64(full-now) / float64(g.each), RetryAfter: after - g.window - now}, nil
}

// Peek implements [Local].
func (g *GCRA) Peek(at time.Duration, client uint32, cost uint16) bool {
	return max(g.clients[key(client)], at)+time.Duration(cost)*g.each-at <= g.window
}
