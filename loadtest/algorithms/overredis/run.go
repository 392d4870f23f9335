// Package overredis runs the ways to limit a rate that need a Redis over a real
// one: fixed windows by INCR and EXPIRE, two counters and logs in Lua, and
// edgeguard's pushes. They get the traffic of the ways in memory, and the same
// exact log judges them.
//
// Each run gives Redis the time of its requests, and sends them in pipelines, which
// Redis answers as it does one by one: so what is admitted, and what is sent, is the
// same in each run. What it costs Redis is told for both.
package overredis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"edgeguard/loadtest/limiter/redis"
	"edgeguard/loadtest/redisserver"
	"edgeguard/loadtest/traffic"
)

// Options says what is run.
type Options struct {
	Seed uint64
	// Full takes all clients of every scenario, and a botnet of 200,000. The short run
	// takes a part of the clients, each with all that it sends.
	Full bool
	// Slot is a sixtieth of the window; 0 means 5 s.
	Slot time.Duration
	// Record is as in [traffic.Options].
	Record string
	// Port of the Redis that is started; 0 is a free one.
	Port int
}

// batch is how many requests go in one exchange.
const batch = 500

// sizes say how much is run.
type sizes struct {
	botnet   int // addresses
	requests int // about how many of a scenario
	// Of the steady traffic.
	clients, slots, singles int
	// fill is the part of the clients that memory is filled with, one in so many, and
	// settle how long nothing may move before it is read.
	fill   int
	settle time.Duration
	only   []string // scenarios; nil: all
}

var (
	full  = sizes{botnet: botnetFull, requests: math.MaxInt, clients: 1000, slots: 4, singles: 10_000, fill: 1, settle: settles}
	short = sizes{botnet: 20_000, requests: 10_000, clients: 200, slots: 3, singles: 3000, fill: 10, settle: settles}
)

const (
	// botnetFull is the botnet of the full run.
	botnetFull = 200_000
	// settles is more than the time between two of Redis' own rounds, in each of which
	// its tables grow a little.
	settles = 150 * time.Millisecond
)

// Result is what came out. All of it follows from the seed but for what says time, cpu
// or memory.
type Result struct {
	// Missing says why there is nothing, or not all: no redis-server, say.
	Missing string `json:"missing,omitempty"`
	Redis   string `json:"redis,omitempty"` // its version
	// Sent says how requests reached Redis.
	Sent     string    `json:"sent"`
	Ways     []Way     `json:"ways"`
	Rows     []Row     `json:"rows"`
	Costs    []Cost    `json:"costs"`
	Decision Decided   `json:"decision"`
	Memory   []Filled  `json:"memory"`
	Claims   []Claimed `json:"claims"`
}

// Way is one way to limit a rate, for the reader.
type Way struct {
	Name string `json:"name"`
	What string `json:"what"`
}

// sent is what [Result.Sent] says.
var sent = fmt.Sprintf("in pipelines of %d requests over loopback TCP, each with its own time; costs also one by one", batch)

// run is one that is in progress.
type run struct {
	Options
	sizes
	notes  io.Writer
	server *redisserver.Server
	client *redis.Client
	result *Result
}

// Run starts a redis-server, runs all, and ends it. Where there is no Redis, or it fails,
// the result says so. It returns an error only when ctx ends.
func Run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	r := &run{Options: o, sizes: short, notes: notes, result: &Result{Sent: sent}}
	if o.Full {
		r.sizes = full
	}
	return r.run(ctx)
}

func (r *run) run(ctx context.Context) (*Result, error) {
	for _, w := range ways {
		r.result.Ways = append(r.result.Ways, Way{w.name, w.what})
	}
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
	if r.server, err = redisserver.Start(ctx, folder, r.Port); err != nil {
		return err
	}
	defer r.server.Stop()
	info, err := r.server.Info(ctx, "server")
	if err != nil {
		return err
	}
	r.result.Redis = info["redis_version"]
	// Memory comes first: nobody is connected then.
	if err := r.memory(ctx); err != nil {
		return err
	}
	if r.client, err = redis.Dial(r.server.Addr); err != nil {
		return err
	}
	defer func() { _ = r.client.Close() }() // Redis ends with it
	for _, part := range []func(context.Context) error{r.scenarios, r.costs, r.claims} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// processor returns the time that Redis has spent on a processor.
func (r *run) processor(ctx context.Context) (time.Duration, error) {
	info, err := r.server.Info(ctx, "cpu")
	if err != nil {
		return 0, err
	}
	user, err1 := strconv.ParseFloat(info["used_cpu_user"], 64)
	system, err2 := strconv.ParseFloat(info["used_cpu_sys"], 64)
	return time.Duration((user + system) * float64(time.Second)), errors.Join(err1, err2)
}

// scenarioList returns the traffic.
func (r *run) scenarioList() []traffic.Scenario {
	all, err := traffic.Scenarios(traffic.Options{Slot: r.Slot, Botnet: r.botnet, Record: r.Record})
	if err != nil {
		r.note("%v", err)
	}
	return slices.DeleteFunc(all, func(s traffic.Scenario) bool { return r.only != nil && !slices.Contains(r.only, s.Name) })
}
