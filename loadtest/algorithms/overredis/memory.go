package overredis

import (
	"context"
	"math"
	"time"

	"edgeguard/loadtest/traffic"
)

// Filled is what a client takes of Redis' memory: keys, values, and the tables that
// they are in, without connections.
type Filled struct {
	Way   string
	State string // what each client did
	// Bytes of one client, and of one of its requests.
	Bytes, RequestBytes int64
	// Said is how many bytes a document says: a client's, or for logs a request's.
	Said int64
}

// Holds reports whether it takes about what is said, a fifth more at most.
func (f *Filled) Holds() bool {
	took := f.Bytes
	if f.Way == "log-lua" {
		took = f.RequestBytes
	}
	return took <= f.Said+f.Said/5
}

// memory measures all rows.
func (r *run) memory(ctx context.Context) error {
	const botnet = 200_000
	log := logBy("oldest")
	for _, f := range []struct {
		way           *way
		state         string
		clients, each int // of the full run; requests of a client
		apart         time.Duration
		said          int64
	}{
		{&incr, "one request", botnet, 1, 0, 8},
		{&counters, "one request", botnet, 1, 0, 16},
		{&counters, "one in each of two windows", botnet, 2, siteLimits.window, 16},
		{&log, "one request", botnet, 1, 0, 20},
		{&log, "100 requests: a packed list", 5000, 100, time.Millisecond, 20},
		{&log, "1,000 requests: a skip list", 500, 1000, time.Millisecond, 20},
	} {
		clients := f.clients / r.fill
		r.note("over Redis: memory of %s, %d clients, %s", f.way.name, clients, f.state)
		before, err := r.used(ctx, f.way, nil)
		if err != nil {
			return err
		}
		var requests []traffic.Request
		for i := range f.each {
			for c := range clients {
				requests = append(requests, traffic.Request{At: time.Duration(i) * f.apart, Client: uint32(c), Cost: 1})
			}
		}
		after, err := r.used(ctx, f.way, requests)
		if err != nil {
			return err
		}
		each := (after - before) / float64(clients)
		r.result.Memory = append(r.result.Memory, Filled{f.way.name, f.state, int64(math.Round(each)), int64(math.Round(each / float64(f.each))), f.said})
	}
	return nil
}

// used has Redis emptied and filled, and returns what is allocated when nothing moves
// any more.
func (r *run) used(ctx context.Context, w *way, requests []traffic.Request) (float64, error) {
	if err := r.empty(ctx, w); err != nil {
		return 0, err
	}
	if _, err := r.ask(ctx, w, siteLimits, requests, batch); err != nil {
		return 0, err
	}
	for last := -1.0; ; time.Sleep(r.settle) {
		all, err := r.info(ctx, "memory", "used_memory")
		if err != nil || all == last {
			return all, err
		}
		last = all
	}
}
