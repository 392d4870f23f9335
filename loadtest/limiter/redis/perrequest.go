// Package redis has the ways to limit a rate over a Redis, as they are written
// about and as they are written well today, and edgeguard's own.
//
// Four of them ask Redis at each request ([PerRequest]). They are given the time:
// so a run admits the same requests each time, and takes no longer than Redis
// does. Their keys end by Redis' own clock, which runs slower than that of a run
// and sometimes faster; they are kept for an hour longer than they need to be.
//
// edgeguard decides in its own memory and pushes its counts ([Pushes]).
package redis

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"net/netip"
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

// PerRequest is a limiter whose every decision is Redis'. It is not safe for
// concurrent use. Two of one name share their counts.
type PerRequest struct {
	client *Client
	script *goredis.Script // nil for plain commands
	limit  uint32
	window time.Duration
	life   int64 // milliseconds that a key lives without use
	asked  uint64

	// queue sends the commands of one decision and returns the last.
	queue func(ctx context.Context, pipe goredis.Pipeliner, now time.Duration, addr netip.Addr, cost uint16) *goredis.Cmd
	// read makes a decision of its answer.
	read func(now time.Duration, answer []any) limiter.Decision
}

// newPerRequest returns a limiter that has no way yet, and loads its script.
func newPerRequest(ctx context.Context, c *Client, script string, limit uint32, window time.Duration) (*PerRequest, error) {
	p := &PerRequest{client: c, limit: limit, window: window, life: (2*window + time.Hour).Milliseconds()}
	if script == "" {
		return p, nil
	}
	p.script = goredis.NewScript(script)
	if err := p.script.Load(ctx, c.redis).Err(); err != nil {
		return nil, fmt.Errorf("load a script: %w", err)
	}
	return p, nil
}

// call queues one call of the script.
func (p *PerRequest) call(ctx context.Context, pipe goredis.Pipeliner, keys []string, args ...any) *goredis.Cmd {
	return p.script.EvalSha(ctx, pipe, keys, args...)
}

// NewIncr returns a fixed window: INCRBY and EXPIRE NX in one transaction, which
// is the cheapest way there is. Redis counts before it answers: so a request that
// is refused for its cost takes what was left of the window.
func NewIncr(ctx context.Context, c *Client, limit uint32, window time.Duration) (*PerRequest, error) {
	p, err := newPerRequest(ctx, c, "", limit, window)
	if err != nil {
		return nil, err
	}
	p.queue = func(ctx context.Context, pipe goredis.Pipeliner, now time.Duration, addr netip.Addr, cost uint16) *goredis.Cmd {
		key := "fixed:" + addr.String() + ":" + strconv.FormatInt(int64(now/window), 10)
		pipe.Do(ctx, "MULTI")
		pipe.Do(ctx, "INCRBY", key, cost)
		pipe.Do(ctx, "EXPIRE", key, p.life/1000, "NX")
		return pipe.Do(ctx, "EXEC")
	}
	p.read = func(now time.Duration, answer []any) limiter.Decision {
		count := number(answer, 0)
		if count <= int64(limit) {
			return limiter.Decision{Allowed: true, Count: float64(count)}
		}
		return limiter.Decision{Count: float64(count), RetryAfter: window - now%window}
	}
	return p, nil
}

// NewCounters returns the estimate by the counters of two fixed windows. It says
// nothing of when to come again.
func NewCounters(ctx context.Context, c *Client, limit uint32, window time.Duration) (*PerRequest, error) {
	p, err := newPerRequest(ctx, c, countersText, limit, window)
	if err != nil {
		return nil, err
	}
	p.queue = func(ctx context.Context, pipe goredis.Pipeliner, now time.Duration, addr netip.Addr, cost uint16) *goredis.Cmd {
		key := "counter:{" + addr.String() + "}:"
		at := int64(now / window)
		keys := []string{key + strconv.FormatInt(at-1, 10), key + strconv.FormatInt(at, 10)}
		return p.call(ctx, pipe, keys, limit, cost, window.Microseconds(), (now % window).Microseconds(), p.life)
	}
	p.read = func(_ time.Duration, answer []any) limiter.Decision {
		return silent(answer, float64(window.Microseconds()))
	}
	return p, nil
}

// NewLog returns a log of what was allowed, exact to the microsecond, with weighted
// cost. Its Retry-After goes by the oldest entry and is of whole seconds, as it is
// written about; or, if truthful, by the last of those that have to leave.
func NewLog(ctx context.Context, c *Client, limit uint32, window time.Duration, truthful bool) (*PerRequest, error) {
	p, err := newPerRequest(ctx, c, logText, limit, window)
	if err != nil {
		return nil, err
	}
	by := "oldest"
	if truthful {
		by = "needed"
	}
	p.queue = func(ctx context.Context, pipe goredis.Pipeliner, now time.Duration, addr netip.Addr, cost uint16) *goredis.Cmd {
		p.asked++
		return p.call(ctx, pipe, []string{"log:" + addr.String()},
			now.Microseconds(), window.Microseconds(), limit, cost, strconv.FormatUint(p.asked, 36), p.life, by)
	}
	p.read = func(_ time.Duration, answer []any) limiter.Decision {
		d := silent(answer, 1)
		if wait := number(answer, 2); !d.Allowed && wait >= 0 {
			d.RetryAfter = time.Duration(wait) * time.Microsecond
		}
		if !d.Allowed && !truthful {
			d.RetryAfter = max(time.Second, (d.RetryAfter + time.Second - 1).Truncate(time.Second))
		}
		return d
	}
	return p, nil
}

// NewMoments returns a log whose members are microseconds, as it is written about:
// requests of one microsecond count as one. It knows no cost but 1. With live it
// goes by Redis' own clock instead of the time that it is given.
func NewMoments(ctx context.Context, c *Client, limit uint32, window time.Duration, live bool) (*PerRequest, error) {
	p, err := newPerRequest(ctx, c, momentsText, limit, window)
	if err != nil {
		return nil, err
	}
	p.queue = func(ctx context.Context, pipe goredis.Pipeliner, now time.Duration, addr netip.Addr, _ uint16) *goredis.Cmd {
		at := ""
		if !live {
			at = strconv.FormatInt(now.Microseconds(), 10)
		}
		return p.call(ctx, pipe, []string{"moments:" + addr.String()}, at, window.Microseconds(), limit, p.life)
	}
	p.read = func(_ time.Duration, answer []any) limiter.Decision {
		return silent(answer, 1)
	}
	return p, nil
}

// Take is as in [limiter.Limiter]: one exchange with Redis.
func (p *PerRequest) Take(now time.Duration, client uint32, cost uint16) (limiter.Decision, error) {
	var one [1]limiter.Decision
	r := traffic.Request{At: now - sinceEpoch(0), Client: client, Cost: cost}
	err := p.TakeAll(context.Background(), []traffic.Request{r}, one[:])
	return one[0], err
}

// TakeAll asks for all requests in one exchange. Redis answers them in order, as it
// would one by one. decisions is as long as requests.
func (p *PerRequest) TakeAll(ctx context.Context, requests []traffic.Request, decisions []limiter.Decision) error {
	pipe := p.client.redis.Pipeline()
	cmds := make([]*goredis.Cmd, len(requests))
	for i, r := range requests {
		cmds[i] = p.queue(ctx, pipe, sinceEpoch(r.At), r.Addr(), r.Cost)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("%d requests: %w", len(requests), err)
	}
	for i, r := range requests {
		answer, err := cmds[i].Slice()
		if err != nil {
			return fmt.Errorf("request %d of %d: %w", i+1, len(requests), err)
		}
		decisions[i] = p.read(sinceEpoch(r.At), answer)
	}
	return nil
}

// Finish does nothing: Redis has all.
func (p *PerRequest) Finish(context.Context) error { return nil }

// sinceEpoch returns a time of a scenario as limiters have it.
func sinceEpoch(at time.Duration) time.Duration {
	return time.Duration(traffic.Start.UnixNano()) + at
}

// silent reads whether it is allowed, and a count in some unit. Of a refused request
// nothing is said of when to come again.
func silent(answer []any, unit float64) limiter.Decision {
	d := limiter.Decision{Allowed: number(answer, 0) == 1, Count: float64(number(answer, 1)) / unit}
	if !d.Allowed {
		d.RetryAfter = limiter.Silent
	}
	return d
}

// number returns a part of an answer; all are numbers.
func number(answer []any, i int) int64 {
	n, _ := answer[i].(int64)
	return n
}
