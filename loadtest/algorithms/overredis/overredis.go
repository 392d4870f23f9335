// Package overredis measures the ways to limit a rate that ask a Redis at each request,
// on a real one: fixed windows by INCR and EXPIRE, two counters and a log in Lua. It says
// what a request and a client cost, and tries what documents say of them.
//
// Requests carry their own time, so that a run is the same each time and takes no longer
// than Redis does. Keys end by Redis' own clock: they are kept for an hour longer than
// they need to be. What edgeguard's pushes cost, the benchmarks of aggregator/redis say.
package overredis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/loadtest/redisserver"
)

// Options says what is run.
type Options struct {
	Full bool // more clients
	Port int  // of the Redis that is started; 0 is a free one
}

// batch is how many requests go in one exchange.
const batch = 500

// sizes say how much is run.
type sizes struct {
	clients, slots, singles int // of the steady traffic
	// fill is the part of the clients that memory is filled with, one in so many, and
	// settle how long nothing may move before it is read.
	fill   int
	settle time.Duration
}

// settles is more than the time between two of Redis' own rounds, in each of which
// its tables grow a little.
const settles = 150 * time.Millisecond

var (
	full  = sizes{clients: 1000, slots: 4, singles: 10_000, fill: 1, settle: settles}
	short = sizes{clients: 200, slots: 3, singles: 3000, fill: 10, settle: settles}
)

// Result is what came out.
type Result struct {
	Missing  string // why there is nothing, or not all: no redis-server, say
	Costs    []Cost
	Decision Decided
	Memory   []Filled
	Claims   []Claimed
}

// run is one that is in progress.
type run struct {
	port int
	sizes
	notes  io.Writer
	server *redisserver.Server
	client *goredis.Client
	result *Result
}

// Run starts a redis-server, runs all, and ends it. Where there is no Redis, or it fails,
// the result says so. It returns an error only when ctx ends.
func Run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	r := &run{port: o.Port, sizes: short, notes: notes, result: new(Result)}
	if o.Full {
		r.sizes = full
	}
	return r.run(ctx)
}

func (r *run) run(ctx context.Context) (*Result, error) {
	err := r.all(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.result.Missing = err.Error()
		r.note("over Redis: %v", err)
	}
	return r.result, nil
}

func (r *run) note(format string, args ...any) { fmt.Fprintf(r.notes, format+"\n", args...) }

// all starts Redis and does everything.
func (r *run) all(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "overredis")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if r.server, err = redisserver.Start(ctx, folder, r.port); err != nil {
		return err
	}
	defer r.server.Stop()
	r.client = goredis.NewClient(&goredis.Options{Addr: r.server.Addr, ReadTimeout: time.Minute, MaxRetries: -1})
	defer func() { _ = r.client.Close() }() // Redis ends with it
	for _, part := range []func(context.Context) error{r.memory, r.costs, r.claims} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// info returns one figure of Redis'.
func (r *run) info(ctx context.Context, section, name string) (float64, error) {
	all, err := r.server.Info(ctx, section)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(all[name], 64)
}
