package overredis

import (
	"context"
	"math"
	"time"

	"edgeguard/loadtest/traffic"
)

// Claimed is what a document says beside what Redis did.
type Claimed struct {
	Claim    string
	Said, Is float64
	Unit     string
}

// momentsLimit is the limit of the log whose members are moments.
const momentsLimit = 100

// claims tries what the documents say. By Redis' own clock moments are told apart, as
// one document's script has it: a call takes longer than a microsecond.
func (r *run) claims(ctx context.Context) error {
	r.note("over Redis: what the documents say")
	oldest, needed := logBy("oldest"), logBy("needed")
	said, err := r.wait(ctx, &oldest)
	if err != nil {
		return err
	}
	is, err := r.wait(ctx, &needed)
	if err != nil {
		return err
	}
	r.result.Claims = []Claimed{{"Retry-After is oldest + window (1 of 100, 30 s later 99, a second later 99 more)", said, is, "s"}}
	for _, one := range []struct {
		claim string
		way   way
	}{
		{"microseconds are members enough (500 requests that are given the same, the limit is 100)", moments(false)},
		{"the same by Redis' own clock (500 requests in one pipeline)", moments(true)},
	} {
		allowed, err := r.allowed(ctx, &one.way)
		if err != nil {
			return err
		}
		r.result.Claims = append(r.result.Claims, Claimed{one.claim, momentsLimit, allowed, "requests are allowed"})
	}
	return nil
}

// wait has a log refuse a request that costs 99, a second after 99 of 100 were taken and
// half a minute after the one before, and returns after how many seconds it may come again.
func (r *run) wait(ctx context.Context, w *way) (float64, error) {
	if err := r.empty(ctx, w); err != nil {
		return 0, err
	}
	requests := []traffic.Request{{Cost: 1}, {At: 30 * time.Second, Cost: 99}, {At: 31 * time.Second, Cost: 99}}
	all, err := r.ask(ctx, w, limits{100, time.Minute}, requests, batch)
	if err != nil {
		return 0, err
	}
	return math.Ceil(all[2].RetryAfter.Seconds()), nil
}

// allowed returns how many of 500 requests of one moment a log allows.
func (r *run) allowed(ctx context.Context, w *way) (allowed float64, err error) {
	if err := r.empty(ctx, w); err != nil {
		return 0, err
	}
	requests := make([]traffic.Request, 5*momentsLimit)
	for i := range requests {
		requests[i].Cost = 1
	}
	all, err := r.ask(ctx, w, limits{momentsLimit, time.Minute}, requests, batch)
	for _, d := range all {
		if d.Allowed {
			allowed++
		}
	}
	return allowed, err
}
