package overredis

import (
	"context"
	"slices"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/limiter/redis"
	"edgeguard/loadtest/traffic"
)

// Row is one scenario by one way.
type Row struct {
	Scenario string `json:"scenario"`
	Way      string `json:"way"`
	// OneClientIn says that one client in so many was taken, with all its requests; 1: all.
	OneClientIn int `json:"one_client_in"`
	Clients     int `json:"clients"`
	judge.Sentence
	// Commands that were sent, also by their names, Exchanges that were waited for, and bytes to and from Redis.
	// What a script calls is not among the commands.
	Commands  int64            `json:"commands"`
	Named     map[string]int64 `json:"commands_by_name"`
	Exchanges int64            `json:"exchanges"`
	In        int64            `json:"bytes_in"`
	Out       int64            `json:"bytes_out"`
	// CPU is Redis' processor time for one request, in µs, in pipelines.
	CPU float64 `json:"redis_cpu_us_a_request"`
	// AllCommands and AllIn are those of all clients where only a part was taken:
	// Extrapolated says so.
	AllCommands  int64 `json:"all_commands"`
	AllIn        int64 `json:"all_bytes_in"`
	Extrapolated bool  `json:"extrapolated"`

	pushed uint64 // keys
}

// scenarios runs every scenario by every way.
func (r *run) scenarios(ctx context.Context) error {
	for _, s := range r.scenarioList() {
		requests, part := r.draw(&s)
		for _, w := range ways {
			if w.only != nil && !slices.Contains(w.only, s.Name) {
				continue
			}
			r.note("over Redis: %s by %s, %d requests", s.Name, w.name, len(requests))
			one, err := r.one(ctx, &s, &w, requests)
			if err != nil {
				return err
			}
			one.OneClientIn, one.Extrapolated = part, part > 1
			one.AllCommands, one.AllIn = one.Commands*int64(part), one.In*int64(part)
			r.result.Rows = append(r.result.Rows, *one)
		}
	}
	return nil
}

// draw returns the requests of one client in so many: as many as there is time for. Each
// client sends all that it does. Of the botnet there are 20 million.
func (r *run) draw(s *traffic.Scenario) (requests []traffic.Request, part int) {
	all := 0
	for range s.Requests(r.Seed) {
		all++
	}
	part = max(1, (all-1)/r.requests+1)
	for q := range s.Requests(r.Seed) {
		if q.Client%uint32(part) == 0 {
			requests = append(requests, q)
		}
	}
	if s.Name == "botnet" { // whose addresses all do the same
		part *= botnetSize / r.botnet
	}
	return requests, part
}

// one runs one scenario by one way, on an empty Redis.
func (r *run) one(ctx context.Context, s *traffic.Scenario, w *way, requests []traffic.Request) (*Row, error) {
	if err := r.client.Empty(ctx); err != nil {
		return nil, err
	}
	limiters, err := w.open(ctx, r.client, s)
	if err != nil {
		return nil, err
	}
	out := &Row{Scenario: s.Name, Way: w.name}
	bench := newBench(s, w)
	before := r.client.Sent()
	cpu, err := r.processor(ctx)
	if err != nil {
		return nil, err
	}
	decisions := make([]limiter.Decision, batch)
	for some := range slices.Chunk(requests, batch) {
		if err := limiters.TakeAll(ctx, some, decisions); err != nil {
			return nil, err
		}
		for i, q := range some {
			if err := bench.see(q, decisions[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := limiters.Finish(ctx); err != nil {
		return nil, err
	}
	after, err := r.processor(ctx)
	if err != nil {
		return nil, err
	}
	did := r.client.Sent().Since(before)
	out.Clients, out.Sentence = len(bench.clients), bench.sentence()
	out.Commands, out.Named, out.Exchanges, out.In, out.Out = did.All(), did.Commands, did.Exchanges, did.In, did.Out
	if p, ok := limiters.(*redis.Pushes); ok {
		out.pushed = p.Pushed()
	}
	out.CPU = micros(after-cpu) / float64(max(1, len(requests)))
	return out, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
