package overredis

import (
	"context"
	_ "embed" // the scripts
	"slices"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
)

//go:embed counters.lua
var countersText string

//go:embed log.lua
var logText string

//go:embed moments.lua
var momentsText string

// way is one way to limit a rate over Redis.
type way struct {
	name     string
	commands int // of a request
	script   *goredis.Script
	// queue sends the commands of one decision, the n-th, and returns the last.
	queue func(ctx context.Context, pipe goredis.Pipeliner, l limits, n int, q traffic.Request) *goredis.Cmd
	// read makes a decision of its answer.
	read func(l limits, q traffic.Request, answer []any) limiter.Decision
}

// limits are what a client may have.
type limits struct {
	limit  uint32
	window time.Duration
}

// life is how many milliseconds a key lives without use.
func (l limits) life() int64 { return (2*l.window + time.Hour).Milliseconds() }

// at is the time of a request since the epoch.
func at(q traffic.Request) time.Duration { return time.Duration(traffic.Start.UnixNano()) + q.At }

// incr is a fixed window: INCRBY and EXPIRE NX in one transaction, which is the cheapest
// way there is. Redis counts before it answers: so a request that is refused for its cost
// takes what was left of the window.
var incr = way{name: "incr-expire", commands: 4,
	queue: func(ctx context.Context, pipe goredis.Pipeliner, l limits, _ int, q traffic.Request) *goredis.Cmd {
		key := "fixed:" + q.Addr().String() + ":" + strconv.FormatInt(int64(at(q)/l.window), 10)
		pipe.Do(ctx, "MULTI")
		pipe.Do(ctx, "INCRBY", key, q.Cost)
		pipe.Do(ctx, "EXPIRE", key, l.life()/1000, "NX")
		return pipe.Do(ctx, "EXEC")
	},
	read: func(l limits, q traffic.Request, answer []any) limiter.Decision {
		count := number(answer, 0)
		return limiter.Decision{Allowed: count <= int64(l.limit), Count: float64(count)}
	}}

var countersScript = goredis.NewScript(countersText)

// counters is the estimate by the counters of two fixed windows.
var counters = way{name: "counters-lua", commands: 1, script: countersScript,
	queue: func(ctx context.Context, pipe goredis.Pipeliner, l limits, _ int, q traffic.Request) *goredis.Cmd {
		key, of := "counter:{"+q.Addr().String()+"}:", int64(at(q)/l.window)
		keys := []string{key + strconv.FormatInt(of-1, 10), key + strconv.FormatInt(of, 10)}
		return countersScript.EvalSha(ctx, pipe, keys, l.limit, q.Cost, l.window.Microseconds(), (at(q) % l.window).Microseconds(), l.life())
	},
	read: func(l limits, _ traffic.Request, answer []any) limiter.Decision {
		return limiter.Decision{Allowed: number(answer, 0) == 1, Count: float64(number(answer, 1)) / float64(l.window.Microseconds())}
	}}

// logBy returns a log of what was allowed, exact to the microsecond, with weighted cost,
// whose time to wait goes by the oldest entry, as it is written about, or by the needed
// one: the last of those that have to leave.
func logBy(entry string) way {
	script := goredis.NewScript(logText)
	return way{name: "log-lua", commands: 1, script: script,
		queue: func(ctx context.Context, pipe goredis.Pipeliner, l limits, n int, q traffic.Request) *goredis.Cmd {
			return script.EvalSha(ctx, pipe, []string{"log:" + q.Addr().String()},
				at(q).Microseconds(), l.window.Microseconds(), l.limit, q.Cost, strconv.Itoa(n), l.life(), entry)
		},
		read: func(_ limits, _ traffic.Request, answer []any) limiter.Decision {
			return limiter.Decision{Allowed: number(answer, 0) == 1, Count: float64(number(answer, 1)), RetryAfter: time.Duration(number(answer, 2)) * time.Microsecond}
		}}
}

// moments returns a log whose members are microseconds, as it is written about: requests
// of one microsecond count as one. With live it goes by Redis' own clock.
func moments(live bool) way {
	script := goredis.NewScript(momentsText)
	return way{name: "log-moments", commands: 1, script: script,
		queue: func(ctx context.Context, pipe goredis.Pipeliner, l limits, _ int, q traffic.Request) *goredis.Cmd {
			now := ""
			if !live {
				now = strconv.FormatInt(at(q).Microseconds(), 10)
			}
			return script.EvalSha(ctx, pipe, []string{"moments:" + q.Addr().String()}, now, l.window.Microseconds(), l.limit, l.life())
		},
		read: func(_ limits, _ traffic.Request, answer []any) limiter.Decision {
			return limiter.Decision{Allowed: number(answer, 0) == 1, Count: float64(number(answer, 1))}
		}}
}

// number returns a part of an answer; all are numbers.
func number(answer []any, i int) int64 {
	n, _ := answer[i].(int64)
	return n
}

// empty removes all that Redis has, and loads a way's script.
func (r *run) empty(ctx context.Context, w *way) error {
	if err := r.client.FlushAll(ctx).Err(); err != nil || w.script == nil {
		return err
	}
	return w.script.Load(ctx, r.client).Err()
}

// ask has Redis decide requests, in exchanges of so many. It answers them in order, as
// it would one by one.
func (r *run) ask(ctx context.Context, w *way, l limits, requests []traffic.Request, together int) (all []limiter.Decision, err error) {
	for some := range slices.Chunk(requests, together) {
		pipe, cmds := r.client.Pipeline(), make([]*goredis.Cmd, len(some))
		for i, q := range some {
			cmds[i] = w.queue(ctx, pipe, l, len(all)+i, q)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, err
		}
		for i, q := range some {
			answer, err := cmds[i].Slice()
			if err != nil {
				return nil, err
			}
			all = append(all, w.read(l, q, answer))
		}
	}
	return all, nil
}
