package algorithms

import (
	"context"
	"math"
	"slices"
	"time"

	"edgeguard"
)

// Spread is the time of a decision over several turns, in nanoseconds.
type Spread struct {
	MedianNS float64
	LeastNS  float64
	MostNS   float64
}

// Speed is what a decision of one limiter takes.
type Speed struct {
	Limiter string
	// Keys is cold for clients who came once, dense for those who came in each of
	// 60 slots.
	Keys string
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
		for _, keys := range []string{"cold", "dense"} {
			dense := map[string]int{"dense": clients}[keys]
			l, now := filled(k, filling{dense, edgeguard.Slots, 1}), lastSlot(edgeguard.Slots)
			for client := dense; client < clients; client++ {
				_, _ = l.Take(now, uint32(client), 1)
			}
			all = append(all, &timed{run: func(n int) {
				for i := range n {
					_, _ = l.Take(now, uint32(i*7919%clients), 1)
				}
			}})
			r.Speed = append(r.Speed, Speed{Limiter: k.Name, Keys: keys})
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
