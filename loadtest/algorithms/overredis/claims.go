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
	for _, claim := range []func(context.Context) (Claimed, error){r.waiting, r.merging, r.live} {
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
	allowed, err := r.moments(ctx, false)
	return Claimed{"microseconds are members enough (500 requests that are given the same, the limit is 100)", momentsLimit, allowed, "requests are allowed"}, err
}

// live is the same by Redis' own clock, as the document's script has it: a call takes
// longer than a microsecond, so there it holds.
func (r *run) live(ctx context.Context) (Claimed, error) {
	allowed, err := r.moments(ctx, true)
	return Claimed{"the same by Redis' own clock (500 requests in one pipeline)", momentsLimit, allowed, "requests are allowed"}, err
}

// momentsLimit is the limit of the log whose members are moments.
const momentsLimit = 100

// moments returns how many of 500 requests such a log allows.
func (r *run) moments(ctx context.Context, live bool) (allowed float64, err error) {
	if err := r.client.Empty(ctx); err != nil {
		return 0, err
	}
	l, err := redis.NewMoments(ctx, r.client, momentsLimit, time.Minute, live)
	if err != nil {
		return 0, err
	}
	requests, decisions := make([]traffic.Request, 5*momentsLimit), make([]limiter.Decision, 5*momentsLimit)
	for i := range requests {
		requests[i].Cost = 1
	}
	if err := l.TakeAll(ctx, requests, decisions); err != nil {
		return 0, err
	}
	for _, d := range decisions {
		if d.Allowed {
			allowed++
		}
	}
	return allowed, nil
}
