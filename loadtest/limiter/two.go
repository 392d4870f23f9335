package limiter

import "time"

// TwoCounters estimates the sliding window from two fixed ones: what came in
// the last counts by the part of it that the sliding window still covers. A
// request is allowed while the estimate is below the limit.
type TwoCounters struct {
	limit   uint32
	window  time.Duration
	clients map[uint64]two
}

// two is one client's newest window and the one before.
type two struct{ number, last, count uint32 }

// NewTwoCounters returns an empty one.
func NewTwoCounters(limit uint32, window time.Duration) *TwoCounters {
	return &TwoCounters{limit, window, map[uint64]two{}}
}

// Take implements [Limiter].
func (t *TwoCounters) Take(now time.Duration, client uint32, cost uint16) (Decision, error) {
	k := key(client)
	c := t.at(now, k)
	d := Decision{Allowed: t.allows(now, c, cost)}
	switch {
	case d.Allowed:
		c.count += uint32(cost)
		t.clients[k] = c
	case never(cost, t.limit):
		d.RetryAfter = Silent
	default:
		d.RetryAfter = t.wait(now, c, cost)
	}
	d.Count = float64(t.weighed(now, c)) / float64(t.window)
	return d, nil
}

// Peek implements [Local].
func (t *TwoCounters) Peek(at time.Duration, client uint32, cost uint16) bool {
	return t.allows(at, t.at(at, key(client)), cost)
}

func (t *TwoCounters) at(now time.Duration, k uint64) two {
	number := uint32(now / t.window)
	switch c := t.clients[k]; c.number {
	case number:
		return c
	case number - 1:
		return two{number: number, last: c.count}
	}
	return two{number: number}
}

// weighed is the estimate times the window, in whole numbers.
func (t *TwoCounters) weighed(now time.Duration, c two) time.Duration {
	return time.Duration(c.last)*(t.window-now%t.window) + time.Duration(c.count)*t.window
}

// allows is "estimate < limit" for a cost of 1.
func (t *TwoCounters) allows(now time.Duration, c two, cost uint16) bool {
	return !never(cost, t.limit) && t.weighed(now, c) < time.Duration(t.limit-uint32(cost)+1)*t.window
}

// wait solves the estimate for its time: in this window, or else in the next.
func (t *TwoCounters) wait(now time.Duration, c two, cost uint16) time.Duration {
	room, begins := t.limit-uint32(cost)+1, now-now%t.window
	if c.count < room { // count*W + last*(W-e) < room*W
		return begins + t.window - (time.Duration(room-c.count)*t.window-1)/time.Duration(c.last) - now
	}
	begins += t.window
	e := t.window - (time.Duration(room)*t.window-1)/time.Duration(c.count)
	return begins + max(0, e) - now
}
