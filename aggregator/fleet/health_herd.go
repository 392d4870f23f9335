package fleet

import "time"

// What nodes that return together may ask of Redis.
const (
	// An outage longer than this is one that all nodes may have noticed. Then
	// each waits up to apart for each node of the fleet, so that about 400 join
	// in a second.
	outage, apart, mostApart = 2 * time.Second, 5 * time.Millisecond, 10 * time.Second
	// sums is how many sums all nodes together compare with Redis in a second
	// after that, and leastSums what each may at least.
	sums, leastSums = 200_000, 100
)

// Spread returns the longest time that a node waits before it joins, now that
// Redis answers again: 0 after a short outage, and for a node that knows of no
// others.
func (h *Health) Spread(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault.Kind == "" || now.Sub(h.since) <= outage {
		return 0
	}
	return min(time.Duration(h.nodes)*apart, mostApart)
}

// JoinPace is how many sums a node may still compare with Redis while the fleet
// catches up after an outage. The zero value is ready. It is not safe for
// concurrent use.
type JoinPace struct {
	left float64
	last time.Time
}

// TakeComparisons returns how many sums may be compared now, most at most, in a fleet of
// this health.
func (p *JoinPace) TakeComparisons(now time.Time, h *Health, most int) int {
	h.mu.Lock()
	rate := float64(max(leastSums, sums/max(h.nodes, 1)))
	h.mu.Unlock()
	// What was not used within half a second is lost: no burst later.
	p.left = min(rate/2, p.left+rate*min(now.Sub(p.last).Seconds(), 1))
	p.last = now
	n := min(most, int(p.left))
	p.left -= float64(n)
	return n
}
