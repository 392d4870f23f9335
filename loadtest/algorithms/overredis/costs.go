package overredis

import (
	"cmp"
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
	// Pipelined and Single are Redis' processor time for one request in µs: in
	// pipelines, and one by one over one connection. Pushes are pipelines.
	Pipelined float64 `json:"redis_cpu_us_pipelined"`
	Single    float64 `json:"redis_cpu_us_single,omitempty"`
	// Wait is how long a request waits for Redis one by one, median and 99th percentile.
	Wait    float64 `json:"wait_time_us,omitempty"`
	WaitMax float64 `json:"wait_time_us_p99,omitempty"`
}

// Decided is a decision in memory beside one call of a script.
type Decided struct {
	Memory float64 `json:"memory_time_ns"` // a count in edgeguard's table
	Script float64 `json:"script_time_ns"` // the log's script, one by one, median
	Times  float64 `json:"script_to_memory_time"`
	// PushCPU and ScriptCPU are Redis' processor time for one request: by pushes of all
	// clients, and by the log's script one by one.
	PushCPU   float64 `json:"push_redis_cpu_us_a_request"`
	ScriptCPU float64 `json:"script_redis_cpu_us_a_request"`
}

// wayPushesAll is pushes of all clients, however little they send.
const wayPushesAll = "pushes-all"

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

// costs measures what a request costs Redis.
func (r *run) costs(ctx context.Context) error {
	s, requests := steady(r.clients, r.slots)
	// With quiet, as it is by default, nothing is pushed of a client below half of its limit.
	pushes := way{name: wayPushesAll, open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
		return redis.NewPushes(ctx, c, redis.Options{Limit: s.Limit, Window: s.Window, Nodes: s.Nodes})
	}}
	for _, w := range []way{ways[0], ways[1], ways[2], pushes} {
		r.note("over Redis: costs of %s", w.name)
		one, err := r.one(ctx, &s, &w, requests)
		if err != nil {
			return err
		}
		n := float64(one.Requests)
		cost := Cost{Way: w.name, Requests: one.Requests, Commands: float64(one.Commands) / n, In: float64(one.In) / n, Out: float64(one.Out) / n,
			Pushed: float64(one.pushed) / n, Pipelined: one.CPU}
		if err := r.singly(ctx, &s, &w, requests[:min(r.singles, len(requests))], &cost); err != nil {
			return err
		}
		r.result.Costs = append(r.result.Costs, cost)
	}
	r.decision(requests)
	return nil
}

// singly measures requests that each wait for their answer.
func (r *run) singly(ctx context.Context, s *traffic.Scenario, w *way, requests []traffic.Request, cost *Cost) error {
	if err := r.client.Empty(ctx); err != nil {
		return err
	}
	limiters, err := w.open(ctx, r.client, s)
	if err != nil {
		return err
	}
	if _, pushes := limiters.(*redis.Pushes); pushes {
		return nil // no request waits
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
	cost.Single = micros(after-before) / float64(len(requests))
	cost.Wait, cost.WaitMax = micros(waits[len(waits)/2]), micros(waits[len(waits)*99/100])
	return nil
}

// decision compares.
func (r *run) decision(requests []traffic.Request) {
	d := &r.result.Decision
	d.Memory = inMemory(requests)
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

// inMemory returns how many ns a count in edgeguard's table takes: the median of
// some runs.
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
	slices.SortFunc(took, cmp.Compare[float64])
	return took[len(took)/2]
}
