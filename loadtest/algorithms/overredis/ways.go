package overredis

import (
	"context"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/redis"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

// asked is a limiter that decides many requests in order.
type asked interface {
	TakeAll(ctx context.Context, requests []traffic.Request, decisions []limiter.Decision) error
	Finish(ctx context.Context) error
}

// way is one way to limit a rate over Redis.
type way struct {
	name, what string
	// only names the scenarios that it is run on, as it decides like another; nil: all.
	only []string
	// twin decides alike in memory, and so knows when a refused request would be
	// allowed; nil: there is none, or nothing is said of that.
	twin func(limit uint32, window time.Duration) limiter.Local
	open func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error)
}

const guardDefault = rules.Guard(950_000)

// The names of ways that others are compared with.
const (
	wayIncr, wayCounters, wayLog, wayPushes = "incr-expire", "counters-lua", "log-lua", "pushes"
)

func exactLog(limit uint32, window time.Duration) limiter.Local {
	return limiter.NewSlidingLog(limit, window)
}

// someScenarios tell variants of the log apart: in the others they decide alike.
var someScenarios = []string{"weighted", "pulses", "slot-boundary"}

var ways = []way{
	{name: wayIncr, what: "a fixed window: INCRBY and EXPIRE NX in one MULTI",
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewIncr(ctx, c, s.Limit, s.Window)
		}},
	{name: wayCounters, what: "two counters, one script a request",
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewCounters(ctx, c, s.Limit, s.Window)
		}},
	{name: wayLog, what: "a log, one script a request; Retry-After by its oldest entry, as is written", twin: exactLog,
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewLog(ctx, c, s.Limit, s.Window, false)
		}},
	{name: "log-lua-true", what: "the same log; Retry-After by the entry that has to leave", only: someScenarios, twin: exactLog,
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewLog(ctx, c, s.Limit, s.Window, true)
		}},
	{name: "log-moments", what: "the same log with the microsecond as the member: two requests of one are one", only: []string{"pulses", "slot-boundary"}, // it knows no cost
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewMoments(ctx, c, s.Limit, s.Window, false)
		}},
	{name: wayPushes, what: "edgeguard: decides in memory, pushes each 0.5 s; guard 1, refuses while it is over",
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewPushes(ctx, c, redis.Options{Limit: s.Limit, Window: s.Window, Nodes: s.Nodes, Quiet: true})
		}},
	{name: "pushes-block", what: "edgeguard as it comes: guard 0.95, who is over is blocked for ten minutes",
		open: func(ctx context.Context, c *redis.Client, s *traffic.Scenario) (asked, error) {
			return redis.NewPushes(ctx, c, redis.Options{Limit: guardDefault.Limit(s.Limit), Window: s.Window, Nodes: s.Nodes, Quiet: true, Block: true})
		}},
}
