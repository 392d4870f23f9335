package overredis

import (
	"context"
	"slices"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/redis"
	"edgeguard/loadtest/traffic"
	"edgeguard/shard"
)

// Cost is what one request costs Redis by one way, on steady traffic below the limit:
// clients that send 33 requests in each slot of 5 s, which is 2,000 in 5 minutes.
type Cost struct {
	Way      string `json:"way"`
	Requests int    `json:"requests"`
	// Commands, In and Out are for one request: bytes to and from Redis.
	Commands float64 `json:"commands_a_request"`
	In       float64 `json:"bytes_in_a_request"`
	Out      float64 `json:"bytes_out_a_request"`
	// Pushed is how many keys were pushed for one request.
	Pushed float64 `json:"pushed_keys_a_request"`
	// Pipelined and Single are Redis' processor time for one request in µs, in
	// pipelines and one by one over one connection: the median of some turns, between the
	// bounds beside it. Pushes are pipelines.
	Pipelined       float64    `json:"redis_cpu_us_pipelined"`
	PipelinedBounds [2]float64 `json:"redis_cpu_us_pipelined_bounds"`
	Single          float64    `json:"redis_cpu_us_single,omitempty"`
	SingleBounds    [2]float64 `json:"redis_cpu_us_single_bounds,omitzero"`
	// Wait is how long a request waits for Redis one by one: the median, and the 99th
	// percentile. Both are medians of the turns.
	Wait    float64 `json:"wait_time_us,omitempty"`
	WaitMax float64 `json:"wait_time_us_p99,omitempty"`

	pipelined, single, waits, waitsMax []float64 // of each turn
}

// Decided is a count in memory beside one call of a script.
type Decided struct {
	Memory       float64    `json:"memory_time_ns"` // a count in edgeguard's table, median
	MemoryBounds [2]float64 `json:"memory_time_ns_bounds"`
	Script       float64    `json:"script_time_ns"` // the log's script, one by one, median
	Times        float64    `json:"script_to_memory_time"`
	// PushCPU and ScriptCPU are Redis' processor time for one request: by pushes of all
	// clients, and by the log's script one by one.
	PushCPU   float64 `json:"push_redis_cpu_us_a_request"`
	ScriptCPU float64 `json:"script_redis_cpu_us_a_request"`
}

// wayPushesAll is pushes of all clients, however little they send.
const wayPushesAll = "pushes-all"

// turns is how often each way is measured, by turns.
const turns = 3

// slotful is how many requests a client sends in a slot of 5 s.
const slotful = 33

// steady returns clients that each send 33 requests evenly in each of some slots.
func steady(clients, slots int) (traffic.Scenario, []traffic.Request) {
	const slot = 5 * time.Second
	var all []traffic.Request
	every := slot / slotful
	for i := range slots * slotful {
		for c := range clients {
			at := time.Duration(i)*every + every*time.Duration(c)/time.Duration(clients)
			all = append(all, traffic.Request{At: at.Truncate(time.Microsecond), Client: uint32(c), Cost: 1})
		}
	}
	return traffic.Scenario{Name: "steady", Limit: 2000, Window: 60 * slot, Nodes: 1}, all
}

// costs measures what a request costs Redis, every way by turns.
func (r *run) costs(ctx context.Context) error {
	s, requests := steady(r.clients, r.slots)
	// With quiet, as it is by default, nothing is pushed of a client below half of its limit.
	pushes := way{name: wayPushesAll, open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
		return redis.NewPushes(ctx, c, redis.Options{Limit: s.Limit, Window: s.Window, Nodes: s.Nodes})
	}}
	compared := []way{ways[0], ways[1], ways[2], pushes}
	all := make([]Cost, len(compared))
	for turn := range turns {
		for i := range compared {
			r.note("over Redis: costs of %s, turn %d of %d", compared[i].name, turn+1, turns)
			if err := r.cost(ctx, &s, &compared[i], requests, &all[i]); err != nil {
				return err
			}
		}
	}
	for i := range all {
		c := &all[i]
		c.Pipelined, c.PipelinedBounds = middle(c.pipelined)
		if c.single != nil {
			c.Single, c.SingleBounds = middle(c.single)
			c.Wait, _ = middle(c.waits)
			c.WaitMax, _ = middle(c.waitsMax)
		}
	}
	r.result.Costs = all
	r.decision(requests)
	return nil
}

// cost is one turn of one way.
func (r *run) cost(ctx context.Context, s *traffic.Scenario, w *way, requests []traffic.Request, c *Cost) error {
	one, err := r.one(ctx, s, w, requests)
	if err != nil {
		return err
	}
	n := float64(one.Requests)
	c.Way, c.Requests = w.name, one.Requests
	c.Commands, c.In, c.Out, c.Pushed = float64(one.Commands)/n, float64(one.In)/n, float64(one.Out)/n, float64(one.pushed)/n
	c.pipelined = append(c.pipelined, one.CPU)
	if w.name == wayPushesAll {
		return nil // no request waits
	}
	return r.singly(ctx, s, w, requests[:min(r.singles, len(requests))], c)
}

// middle returns the median, and the least and the greatest.
func middle(all []float64) (median float64, bounds [2]float64) {
	slices.Sort(all)
	return all[len(all)/2], [2]float64{all[0], all[len(all)-1]}
}

// singly measures requests that each wait for their answer.
func (r *run) singly(ctx context.Context, s *traffic.Scenario, w *way, requests []traffic.Request, c *Cost) error {
	if err := r.client.Empty(ctx); err != nil {
		return err
	}
	limiters, err := w.open(ctx, r.client, s)
	if err != nil {
		return err
	}
	before, err := r.processor(ctx)
	if err != nil {
		return err
	}
	waits, decisions := make([]time.Duration, len(requests)), make([]limiter.Decision, 1)
	for i := range requests {
		began := time.Now()
		if err := limiters.TakeAll(ctx, requests[i:i+1], decisions); err != nil {
			return err
		}
		waits[i] = time.Since(began)
	}
	after, err := r.processor(ctx)
	if err != nil {
		return err
	}
	slices.Sort(waits)
	c.single = append(c.single, micros(after-before)/float64(len(requests)))
	c.waits, c.waitsMax = append(c.waits, micros(waits[len(waits)/2])), append(c.waitsMax, micros(waits[len(waits)*99/100]))
	return nil
}

// decision compares.
func (r *run) decision(requests []traffic.Request) {
	d := &r.result.Decision
	d.Memory, d.MemoryBounds = inMemory(requests)
	for _, c := range r.result.Costs {
		switch c.Way {
		case wayLog:
			d.Script, d.ScriptCPU = c.Wait*1000, c.Single
		case wayPushesAll:
			d.PushCPU = c.Pipelined
		}
	}
	d.Times = d.Script / d.Memory
}

// inMemory returns how many ns a count in edgeguard's table takes.
func inMemory(requests []traffic.Request) (median float64, bounds [2]float64) {
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
