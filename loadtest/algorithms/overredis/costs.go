package overredis

import (
	"context"
	"slices"
	"time"

	"edgeguard/loadtest/traffic"
	"edgeguard/shard"
)

// Cost is what one request costs Redis by one way, on steady traffic below the limit:
// clients that send 33 requests in each slot of 5 s, which is 2,000 in 5 minutes.
type Cost struct {
	Way string
	// Commands, In and Out are for one request: bytes to and from Redis.
	Commands, In, Out float64
	// Pipelined is Redis' processor time for one request in µs, in pipelines, and Wait how
	// many µs a request waits for Redis one by one: medians of some turns.
	Pipelined, Wait float64

	pipelined, waits []float64 // of each turn
}

// Decided is a count in memory beside one call of a script, in ns.
type Decided struct{ Memory, Script, Times float64 }

// turns is how often each way is measured, by turns.
const turns = 3

// slotful is how many requests a client sends in a slot of 5 s.
const slotful = 33

var siteLimits = limits{2000, 5 * time.Minute}

// steady returns clients that each send 33 requests evenly in each of some slots.
func steady(clients, slots int) (all []traffic.Request) {
	const every = 5 * time.Second / slotful
	for i := range slots * slotful {
		for c := range clients {
			at := time.Duration(i)*every + every*time.Duration(c)/time.Duration(clients)
			all = append(all, traffic.Request{At: at.Truncate(time.Microsecond), Client: uint32(c), Cost: 1})
		}
	}
	return all
}

// costs measures what a request costs Redis, every way by turns.
func (r *run) costs(ctx context.Context) error {
	requests := steady(r.clients, r.slots)
	ways := []way{incr, counters, logBy("oldest")}
	all := make([]Cost, len(ways))
	for turn := range turns {
		for i := range ways {
			r.note("over Redis: costs of %s, turn %d of %d", ways[i].name, turn+1, turns)
			if err := r.cost(ctx, &ways[i], requests, &all[i]); err != nil {
				return err
			}
		}
	}
	for i := range all {
		all[i].Pipelined, all[i].Wait = middle(all[i].pipelined), middle(all[i].waits)
	}
	d := &r.result.Decision
	d.Memory, d.Script = inMemory(requests), 1000*all[len(all)-1].Wait
	d.Times = d.Script / d.Memory
	r.result.Costs = all
	return nil
}

// cost is one turn of one way.
func (r *run) cost(ctx context.Context, w *way, requests []traffic.Request, c *Cost) error {
	if err := r.empty(ctx, w); err != nil {
		return err
	}
	var figures [2][2]float64 // before and after: bytes in and out
	var spent [2]time.Duration
	for i := range figures {
		var err error
		for k, name := range []string{"total_net_input_bytes", "total_net_output_bytes"} {
			if figures[i][k], err = r.info(ctx, "stats", name); err != nil {
				return err
			}
		}
		if spent[i], err = r.server.CPU(ctx); err != nil {
			return err
		}
		if i == 0 {
			if _, err := r.ask(ctx, w, siteLimits, requests, batch); err != nil {
				return err
			}
		}
	}
	n := float64(len(requests))
	c.Way, c.Commands = w.name, float64(w.commands)
	c.In, c.Out = (figures[1][0]-figures[0][0])/n, (figures[1][1]-figures[0][1])/n
	c.pipelined = append(c.pipelined, 1e6*(spent[1]-spent[0]).Seconds()/n)
	return r.singly(ctx, w, requests[:min(r.singles, len(requests))], c)
}

// singly measures requests that each wait for their answer.
func (r *run) singly(ctx context.Context, w *way, requests []traffic.Request, c *Cost) error {
	if err := r.empty(ctx, w); err != nil {
		return err
	}
	waits := make([]float64, len(requests))
	for i := range requests {
		began := time.Now()
		if _, err := r.ask(ctx, w, siteLimits, requests[i:i+1], 1); err != nil {
			return err
		}
		waits[i] = float64(time.Since(began)) / float64(time.Microsecond)
	}
	c.waits = append(c.waits, middle(waits))
	return nil
}

// middle returns the median.
func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// inMemory returns how many ns a count in edgeguard's table takes.
func inMemory(requests []traffic.Request) float64 {
	ops := make([]shard.Op, len(requests))
	for i, q := range requests {
		slot := uint32(traffic.Start.Add(q.At).Unix() / 5)
		ops[i] = shard.Op{Addr: q.Addr(), Now: slot, Slot: slot, Cost: q.Cost}
	}
	var took []float64
	for range 5 {
		table := shard.New(shard.NewMemory(64<<20), shard.Config{Seed: 1})
		began := time.Now()
		for i := range ops {
			table.Add(&ops[i])
		}
		took = append(took, float64(time.Since(began))/float64(len(ops)))
		table.Close()
	}
	return middle(took)
}
