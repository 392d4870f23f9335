package fleet

import (
	"iter"
	"slices"
	"testing"
	"time"

	"edgeguard/loadtest/traffic"
)

// flood is clients that cross together. Each has sent two less than the limit, spread over
// the nodes, and when all of that is pushed, one more at each node and a few, within a second.
func flood(nodes, clients int) traffic.Scenario {
	const limit = 38 // of a threshold of 40, with the usual guard
	requests := func(yield func(traffic.Request) bool) {
		send := func(from, within time.Duration, each, first int) bool {
			for i := range each * clients {
				r := traffic.Request{At: from + within*time.Duration(i)/time.Duration(each*clients), Client: uint32(i % clients),
					Cost: 1, Node: uint16((i%clients + first + i/clients) % nodes)}
				if !yield(r) {
					return false
				}
			}
			return true
		}
		_ = send(time.Second, 20*time.Second, limit-2, 0) && send(25*time.Second, time.Second, nodes+6, limit-2) &&
			yield(traffic.Request{At: 30 * time.Second, Client: uint32(clients), Cost: 1})
	}
	return traffic.Scenario{Name: "flood", Limit: 40, Window: 5 * time.Minute, Nodes: nodes, Attackers: uint32(clients),
		Requests: func(uint64) iter.Seq[traffic.Request] { return requests }}
}

// TestFlood: of clients that cross together each is blocked everywhere two pushes and the
// fan-out after its crossing, by a few splits and two entries of the watch list, however many
// nodes there are. The answers to some nodes may be lost: then the others take a second more.
func TestFlood(t *testing.T) {
	const clients, push, fanOut = 200, 500 * time.Millisecond, 400 * time.Millisecond
	for _, c := range []struct {
		nodes, stalled int
		quiet          bool
	}{{4, 0, true}, {20, 0, true}, {50, 0, true}, {50, 0, false}, {20, 5, false}} {
		r, err := Simulate(t.Context(), Setup{Seed: 5, Nodes: c.nodes, Quiet: c.quiet, Push: push, FanOut: fanOut, Stalled: c.stalled, Scenario: flood(c.nodes, clients)})
		if err != nil {
			t.Fatal(err)
		}
		splits, asked, pushed := r.Load(split), r.Load(add), r.Load("edgeguard1_push")
		last := slices.Max(r.ToBlock)
		t.Logf("%d nodes, %d of them stalled, quiet %t: %.1f splits, %.1f entries, %.0f key pushes a client; everywhere after %v, half after %v",
			c.nodes, c.stalled, c.quiet, float64(splits.Calls)/clients, float64(asked.Calls)/clients, float64(pushed.Keys)/clients, last, r.quantile(0.5))
		most := 2*push + fanOut
		if c.stalled > 0 {
			most += time.Second + turnEvery + fanOut
		}
		if r.Caught != clients || r.FalseBlocks != 0 || last > most {
			t.Errorf("%d nodes: %d of %d clients caught, %d falsely; the last after %v, want %v", c.nodes, r.Caught, clients, r.FalseBlocks, last, most)
		}
		if c.stalled == 0 && (splits.Calls > 5*clients || asked.Calls > 4*clients) {
			t.Errorf("%d nodes: %d splits and %d entries of the watch list for %d clients", c.nodes, splits.Calls, asked.Calls, clients)
		}
	}
}
