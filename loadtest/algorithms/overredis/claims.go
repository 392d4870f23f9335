package overredis

import (
	"context"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/redis"
	"edgeguard/loadtest/traffic"
)

// Claimed is what a document says beside what Redis did.
type Claimed struct {
	Claim string  `json:"claim"`
	Said  float64 `json:"said"`
	Is    float64 `json:"is"`
	Unit  string  `json:"unit"`
}

// claims tries what the documents say.
func (r *run) claims(ctx context.Context) error {
	r.note("over Redis: what the documents say")
	if err := r.client.Empty(ctx); err != nil {
		return err
	}
	for _, claim := range []func(context.Context) (Claimed, error){r.waiting, r.merging} {
		one, err := claim(ctx)
		if err != nil {
			return err
		}
		r.result.Claims = append(r.result.Claims, one)
	}
	return nil
}

// Weighted is the example of a Retry-After that is not true: 1 of 100, 99 half a
// minute later, and then one request that costs 99.
func Weighted() (traffic.Scenario, []traffic.Request) {
	return traffic.Scenario{Limit: 100, Window: time.Minute, Nodes: 1}, []traffic.Request{
		{Cost: 1}, {At: 30 * time.Second, Cost: 99}, {At: 31 * time.Second, Cost: 99},
	}
}

// waiting has the last request of the example refused by both logs.
func (r *run) waiting(ctx context.Context) (Claimed, error) {
	s, requests := Weighted()
	var waits [2]float64
	for i, truthful := range []bool{false, true} {
		l, err := redis.NewLog(ctx, r.client, s.Limit, s.Window, truthful)
		if err != nil {
			return Claimed{}, err
		}
		decisions := make([]limiter.Decision, len(requests))
		if err := l.TakeAll(ctx, requests, decisions); err != nil {
			return Claimed{}, err
		}
		waits[i] = decisions[len(requests)-1].RetryAfter.Seconds()
		if err := r.client.Empty(ctx); err != nil {
			return Claimed{}, err
		}
	}
	return Claimed{"Retry-After is oldest + window (1 of 100, 30 s later 99, a second later 99 more)", waits[0], waits[1], "s"}, nil
}

// merging sends many more requests than the limit in one microsecond.
func (r *run) merging(ctx context.Context) (Claimed, error) {
	const limit = 100
	l, err := redis.NewMoments(ctx, r.client, limit, time.Minute, false)
	if err != nil {
		return Claimed{}, err
	}
	requests, decisions := make([]traffic.Request, 5*limit), make([]limiter.Decision, 5*limit)
	for i := range requests {
		requests[i].Cost = 1
	}
	if err := l.TakeAll(ctx, requests, decisions); err != nil {
		return Claimed{}, err
	}
	allowed := 0.0
	for _, d := range decisions {
		if d.Allowed {
			allowed++
		}
	}
	return Claimed{"microseconds are members enough (500 requests in one, the limit is 100)", limit, allowed, "requests are allowed"}, nil
}
