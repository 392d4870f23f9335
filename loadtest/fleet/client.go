package fleet

import (
	"net/netip"
	"time"

	"edgeguard/aggregator"
	"edgeguard/loadtest/traffic"
)

// client is what is known of one client: by its own exact log, and by the fleet.
type client struct {
	addr     netip.Addr
	key      aggregator.Key
	requests uint64
	log      exact
	crossed  time.Duration // when it had more than the threshold; -1: never
	overs    time.Duration // how long after that its newest request came
	over     uint64        // requests that passed since
	pushed   bool          // some node reported it
	blocks   *blocks       // nil: no node has blocked it
}

// blocks are who blocks a client from when on.
type blocks struct {
	everywhere time.Duration         // by the fleet's list; never, until it has it
	own        map[int]time.Duration // by the node's own decision, which may be earlier
}

// never is after all runs.
const never = time.Duration(1<<63 - 1)

func (c *client) isBlocked() bool { return c.blocks != nil }

// refusedFrom is from when on a node refuses the client.
func (c *client) refusedFrom(node int) time.Duration {
	if c.blocks == nil {
		return never
	}
	if own, ok := c.blocks.own[node]; ok {
		return min(own, c.blocks.everywhere)
	}
	return c.blocks.everywhere
}

// first is from when on some node refuses it.
func (c *client) first() time.Duration {
	first := never
	for _, at := range c.blocks.own {
		first = min(first, at)
	}
	return first
}

// exact is the cost of each request of the window that ends now.
type exact struct {
	at   []time.Duration
	cost []uint16
	from int // the oldest that is in the window
	sum  uint32
}

// add adds a request and returns the window's cost with it: of the requests that came
// less than a window ago.
func (e *exact) add(r *traffic.Request, window time.Duration) uint32 {
	e.at, e.cost, e.sum = append(e.at, r.At), append(e.cost, r.Cost), e.sum+uint32(r.Cost)
	for r.At-e.at[e.from] >= window {
		e.sum -= uint32(e.cost[e.from])
		e.from++
	}
	if e.from > 64 && 2*e.from > len(e.at) {
		e.at, e.cost, e.from = append(e.at[:0], e.at[e.from:]...), append(e.cost[:0], e.cost[e.from:]...), 0
	}
	return e.sum
}
