package algorithms

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Spread is the time of a decision over several turns, in nanoseconds.
type Spread struct {
	MedianNS float64 `json:"median_ns"`
	LeastNS  float64 `json:"least_ns"`
	MostNS   float64 `json:"most_ns"`
}

// Speed is what a decision of one limiter takes.
type Speed struct {
	Limiter string `json:"limiter"`
	// Keys is cold for clients who came once, dense for those who came in each of
	// 60 slots, mixed for one dense among nine cold.
	Keys    string `json:"keys"`
	Clients int    `json:"clients"`
	Spread
}

// Scale is what a decision takes on several goroutines: the time that passes
// over all decisions made in it.
type Scale struct {
	What       string `json:"what"`
	Goroutines int    `json:"goroutines"`
	Spread
}

// turns is how often each is timed, by turns with all others, so that what else
// the machine does falls on all.
const turns = 5

// timed is one thing to time: run makes n decisions.
type timed struct {
	run func(n int)
	ns  []float64
}

func (t *timed) spread() Spread {
	slices.Sort(t.ns)
	tenth := func(ns float64) float64 { return math.Round(ns*10) / 10 }
	return Spread{tenth(t.ns[len(t.ns)/2]), tenth(t.ns[0]), tenth(t.ns[len(t.ns)-1])}
}

// byTurns times all of them.
func byTurns(ctx context.Context, all []*timed, decisions int) error {
	for range turns {
		for _, t := range all {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			begins := time.Now()
			t.run(decisions)
			t.ns = append(t.ns, float64(time.Since(begins).Nanoseconds())/float64(decisions))
		}
	}
	return nil
}

// size returns the clients that decisions are timed with, and the decisions of
// a turn.
func size(full bool) (clients, decisions int) {
	if full {
		return 1 << 18, 1 << 18
	}
	return 1 << 16, 1 << 17
}

func (r *Result) timeDecisions(ctx context.Context, o Options) error {
	clients, decisions := size(o.Full)
	var all []*timed
	for _, k := range measured() {
		for _, keys := range []string{"cold", "mixed", "dense"} {
			dense := map[string]int{"mixed": clients / 10, "dense": clients}[keys]
			l, now := filled(k, filling{dense, edgeguard.Slots, 1}), lastSlot(edgeguard.Slots)
			for client := dense; client < clients; client++ {
				_, _ = l.Take(now, uint32(client), 1)
			}
			all = append(all, &timed{run: func(n int) {
				for i := range n {
					_, _ = l.Take(now, uint32(i*7919%clients), 1)
				}
			}})
			r.Speed = append(r.Speed, Speed{Limiter: k.Name, Keys: keys, Clients: clients})
		}
	}
	err := byTurns(ctx, all, decisions)
	for i, t := range all {
		if err == nil {
			r.Speed[i].Spread = t.spread()
		}
	}
	return err
}

// timeScale times edgeguard's own decision, which is safe for goroutines.
func (r *Result) timeScale(ctx context.Context, o Options) error {
	clients, decisions := size(o.Full)
	table := shard.New(shard.NewMemory(1<<30), shard.Config{Seed: 1})
	slot := uint32(traffic.Start.Unix() / 5)
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60_000}})
	if len(problems) > 0 {
		return fmt.Errorf("%v", problems)
	}
	d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(1 << 30), List: blocklist.New(blocklist.Config{}), Seed: 1})
	count := func(addr netip.Addr) { table.Add(&shard.Op{Addr: addr, Now: slot, Slot: slot, Cost: 1}) }
	decide := func(addr netip.Addr) {
		ev := edgeguard.Event{Time: traffic.Start, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
		d.Decide(traffic.Start, &ev)
	}
	var all []*timed
	for _, one := range []struct {
		what string
		do   func(netip.Addr)
	}{{"a count in the table", count}, {"a decision by one rule", decide}} {
		for _, goroutines := range []int{1, 2, 4, 8} {
			together(1, clients, clients, one.do) // all are known
			all = append(all, &timed{run: func(n int) { together(goroutines, n, clients, one.do) }})
			r.Scale = append(r.Scale, Scale{What: one.what, Goroutines: goroutines})
		}
	}
	err := byTurns(ctx, all, decisions)
	for i, t := range all {
		if err == nil {
			r.Scale[i].Spread = t.spread()
		}
	}
	return err
}

// together makes n decisions on several goroutines, each about all clients.
func together(goroutines, n, clients int, do func(netip.Addr)) {
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < n; i += goroutines {
				do(traffic.Request{Client: uint32(i * 7919 % clients)}.Addr())
			}
		})
	}
	all.Wait()
}
