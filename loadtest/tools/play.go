package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"edgeguard/loadtest/traffic"
)

// answered is what became of a request. Times are since the play began.
type answered struct {
	client      uint32
	sent, ended time.Duration
	status      int // 0: no answer
}

// playConns is how many connections a site's clients share, as behind a proxy in front.
const playConns = 16

// play sends each request to the site at its time, or as soon as it can where that is past, a
// client's one after the other. With hurry all are sent at once.
func (s *site) play(ctx context.Context, requests []traffic.Request, began time.Time, hurry bool) ([]answered, error) {
	var wg sync.WaitGroup
	all := make([][]answered, playConns)
	errs := make([]error, playConns)
	for i := range playConns {
		wg.Go(func() {
			c := conn{address: s.address}
			defer c.close()
			for _, r := range requests {
				if r.Client%playConns != uint32(i) {
					continue
				}
				if wait := time.Until(began.Add(r.At)); !hurry && wait > 0 && pause(ctx, wait) != nil || ctx.Err() != nil {
					return
				}
				a := answered{client: r.Client, sent: time.Since(began)}
				if a.status, errs[i] = c.ask(ctx, r.Addr()); errs[i] != nil {
					return
				}
				a.ended = time.Since(began)
				all[i] = append(all[i], a)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, fmt.Errorf("%w%s", err, s.said())
	}
	return slices.Concat(all...), nil
}

// playAll plays the scenario on the sites of all arms at once, and judges each.
func (t *run) playAll(ctx context.Context, sites []*site) error {
	requests := slices.Collect(t.scenario.Requests(t.options.Seed))
	began := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, len(sites))
	for i, s := range sites {
		wg.Go(func() {
			var all []answered
			if all, errs[i] = s.play(ctx, requests, began, t.options.hurry); errs[i] == nil {
				t.row(s.arm).Judged, errs[i] = judge(s.rule, all), nil
				return
			}
			t.drop(ctx, s.arm, errs[i])
		})
	}
	wg.Wait()
	return ctx.Err()
}
