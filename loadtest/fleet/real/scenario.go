package real

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"edgeguard/loadtest/traffic"
	"edgeguard/ring"
)

// window is that of the one rule: short, so that a run sees slots pass, and
// visitors come to the share from which a node reports them.
const window = time.Minute

// Mixed is the traffic that the fleet of processes is measured on, for so many
// seconds: nobody is so near the limit that it is a matter of the moment of a push
// who is blocked. So the processes and the model must block the same. In a minute a
// crowd's client sends 214 requests, and a visitor 30.
func Mixed(nodes, seconds int, limit uint32) traffic.Scenario {
	groups := []group{
		// Attackers send 40 requests a second; those over all nodes cross by the fleet's count.
		{clients: 24, every: 25 * time.Millisecond, spread: nodes, starts: time.Duration(seconds) * time.Second / 3},
		{clients: 8, every: 25 * time.Millisecond, spread: 1, starts: time.Duration(seconds) * time.Second / 3},
		// A crowd behind few addresses is far above the share, and below the limit.
		{clients: 40, every: 280 * time.Millisecond, spread: min(4, nodes)},
		{clients: 40, every: 280 * time.Millisecond, spread: 1},
		// Visitors send a little, each to one node.
		{clients: 400, every: 2 * time.Second, spread: 1, starts: time.Duration(seconds) * time.Second / 2},
	}
	s := traffic.Scenario{
		Name: "mixed", What: "Attackers spread over all nodes and on one, a crowd below the limit, and visitors",
		Limit: limit, Window: window, Nodes: nodes,
	}
	for _, g := range groups[:2] {
		s.Attackers += uint32(g.clients)
	}
	s.Requests = func(seed uint64) iter.Seq[traffic.Request] { return mix(groups, seed, nodes, seconds) }
	return s
}

// group is some clients that behave alike: each sends every so often, by chance up
// to a half earlier or later, to so many nodes from its own on.
type group struct {
	clients int
	every   time.Duration
	spread  int
	starts  time.Duration // until when all have begun
}

// mix draws the requests of some groups.
func mix(groups []group, seed uint64, nodes, seconds int) iter.Seq[traffic.Request] {
	var all []traffic.Request
	rnd, client := rand.New(rand.NewPCG(seed, 17)), 0
	for _, g := range groups {
		for range g.clients {
			home := rnd.IntN(nodes)
			begins := time.Duration(rnd.Int64N(int64(max(g.starts, g.every))))
			for at := begins; at < time.Duration(seconds)*time.Second; at += g.every {
				all = append(all, traffic.Request{
					At:     at + time.Duration(rnd.Int64N(int64(g.every/2))),
					Client: uint32(client), Cost: 1, Node: uint16((home + rnd.IntN(g.spread)) % nodes),
				})
			}
			client++
		}
	}
	slices.SortStableFunc(all, func(a, b traffic.Request) int { return cmp.Compare(a.At, b.At) })
	return slices.Values(all)
}

// crossings returns when each client that ever does crosses the limit with the
// rule's guard: by all its requests in the 60 slots that end at the request, whichever
// node they reached. It is when a fleet that heard of all at once would block.
func crossings(s traffic.Scenario, seed uint64) map[uint32]time.Duration {
	limit := uint32(float64(s.Limit) * guard)
	slot := s.Window / ring.Slots
	counts := map[uint32]map[int64]uint32{}
	crossed := map[uint32]time.Duration{}
	for r := range s.Requests(seed) {
		if _, done := crossed[r.Client]; done {
			continue
		}
		own := counts[r.Client]
		if own == nil {
			own = map[int64]uint32{}
			counts[r.Client] = own
		}
		now := int64(r.At / slot)
		own[now] += uint32(r.Cost)
		var sum uint32
		for at := now - ring.Slots + 1; at <= now; at++ {
			sum += own[at]
		}
		if sum > limit {
			crossed[r.Client] = r.At
		}
	}
	return crossed
}

// guard is the default of a rule.
const guard = 0.95

// prefix is what a client is counted and blocked by.
func prefix(c uint32) netip.Prefix {
	a, bits := traffic.Request{Client: c}.Addr(), 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}
