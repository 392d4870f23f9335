package overredis

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/redis"
	"edgeguard/loadtest/traffic"
)

// Filled is what a client takes of Redis' memory: keys, values, and the tables that
// they are in, without connections.
type Filled struct {
	Way     string `json:"way"`
	State   string `json:"state"` // what each client did
	Clients int    `json:"clients"`
	// Bytes of one client, and of one of its requests.
	Bytes        int64 `json:"memory_bytes_a_client"`
	RequestBytes int64 `json:"memory_bytes_a_request"`
	// Said is how many bytes a document says: a client's, or for logs a request's; 0: none
	// says anything.
	Said int64 `json:"said_bytes,omitempty"`
	// TwentyMillion is the bytes of 20 million such clients, in MB: extrapolated from those
	// that were measured.
	TwentyMillion int64 `json:"memory_mb_for_20_million_clients"`
	Extrapolated  bool  `json:"extrapolated"`
}

// Holds reports whether it takes about what is said, a fifth more at most.
func (f *Filled) Holds() bool {
	took := f.Bytes
	if f.Way == wayLog {
		took = f.RequestBytes
	}
	return took <= f.Said+f.Said/5
}

// botnetSize is the botnet of the documents.
const botnetSize = 20_000_000

// filled is how one row fills Redis.
type filled struct {
	way, state string
	clients    int // of the full run
	each       int // requests of a client
	apart      time.Duration
	said       int64
	open       func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error)
}

// fills returns the rows.
func fills() []filled {
	by := map[string]way{}
	for _, w := range ways {
		by[w.name] = w
	}
	row := func(way, state string, clients, each int, apart time.Duration, said int64) filled {
		return filled{way, state, clients, each, apart, said, by[way].open}
	}
	pushes := row(wayPushes, "one request, pushed", botnetFull, 1, 0, 0)
	pushes.open = func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
		return redis.NewPushes(ctx, c, redis.Options{Limit: s.Limit, Window: s.Window, Nodes: s.Nodes})
	}
	return []filled{
		row(wayIncr, "one request", botnetFull, 1, 0, 8),
		row(wayCounters, "one request", botnetFull, 1, 0, 16),
		row(wayCounters, "one in each of two windows", botnetFull, 2, memoryWindow, 16),
		row(wayLog, "one request", botnetFull, 1, 0, 20),
		row(wayLog, "100 requests: a packed list", 5000, 100, time.Millisecond, 20),
		row(wayLog, "1,000 requests: a skip list", 500, 1000, time.Millisecond, 20),
		pushes,
		row(wayPushes, "one request, not pushed", botnetFull, 1, 0, 0),
	}
}

const memoryWindow = 5 * time.Minute

// memory measures all rows.
func (r *run) memory(ctx context.Context) error {
	for _, f := range fills() {
		f.clients /= r.fill
		r.note("over Redis: memory of %s, %d clients, %s", f.way, f.clients, f.state)
		one, err := r.filled(ctx, &f)
		if err != nil {
			return err
		}
		r.result.Memory = append(r.result.Memory, *one)
	}
	return nil
}

// filled measures one row on an empty Redis.
func (r *run) filled(ctx context.Context, f *filled) (*Filled, error) {
	before, err := r.used(ctx, f, func(asked, []traffic.Request) error { return nil })
	if err != nil {
		return nil, err
	}
	decisions := make([]limiter.Decision, batch)
	after, err := r.used(ctx, f, func(l asked, requests []traffic.Request) error {
		for some := range slices.Chunk(requests, batch) {
			if err := l.TakeAll(ctx, some, decisions); err != nil {
				return err
			}
		}
		return l.Finish(ctx)
	})
	if err != nil {
		return nil, err
	}
	each := float64(after-before) / float64(f.clients)
	return &Filled{Way: f.way, State: f.state, Clients: f.clients, Said: f.said,
		Bytes: int64(math.Round(each)), RequestBytes: int64(math.Round(each / float64(f.each))),
		TwentyMillion: int64(math.Round(each * botnetSize / 1e6)), Extrapolated: true}, nil
}

// used has Redis emptied and filled over a connection of its own, and returns what is
// allocated after that is closed and nothing moves any more.
func (r *run) used(ctx context.Context, f *filled, fill func(asked, []traffic.Request) error) (int64, error) {
	client, err := redis.Dial(r.server.Addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Close() }() // again, if all went well
	if err := client.Empty(ctx); err != nil {
		return 0, err
	}
	limiters, err := f.open(ctx, client, &traffic.Scenario{Limit: 2000, Window: memoryWindow, Nodes: 1})
	if err != nil {
		return 0, err
	}
	var requests []traffic.Request
	for i := range f.each {
		for c := range f.clients {
			requests = append(requests, traffic.Request{At: time.Duration(i) * f.apart, Client: uint32(c), Cost: 1})
		}
	}
	if err := errors.Join(fill(limiters, requests), client.Close()); err != nil {
		return 0, err
	}
	for last := int64(-1); ; time.Sleep(r.settle) {
		info, err := r.server.Info(ctx, "memory")
		if err != nil {
			return 0, err
		}
		all, err := strconv.ParseInt(info["used_memory"], 10, 64)
		if err != nil || all == last {
			return all, err
		}
		last = all
	}
}
