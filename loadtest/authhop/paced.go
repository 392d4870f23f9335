package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// What is sent while the time that SPOE adds is measured: so many requests a second
// together, over so many connections.
const (
	pacedRounds = 7
	pacedConns  = 64
	// mostAdded is what SPOE may add to the 99th hundredth.
	mostAdded = time.Millisecond
)

// paced is what requests at a steady rate took at one arm, by rounds.
type paced struct {
	*site
	p50, p99 []float64 // milliseconds
}

// keepPace takes what requests take at a steady rate, of HAProxy alone and asking
// edgeguard, in turns.
func (b *bench) keepPace(ctx context.Context) error {
	if b.pacedRate == 0 {
		return nil
	}
	arms, err := pickArms("haproxy,spoe")
	if err != nil {
		return err
	}
	for _, a := range arms {
		s, err := b.startSite(ctx, a, "paced-"+a.name)
		b.paced = append(b.paced, &paced{site: s})
		if err != nil {
			return err
		}
	}
	for round := range pacedRounds {
		for i := range b.paced {
			p := b.paced[(i+round)%len(b.paced)]
			if err := p.round(ctx, b.pacedRate, b.clients); err != nil {
				return fmt.Errorf("pace at %s: %w", p.name, err)
			}
		}
	}
	return nil
}

// round asks for [floodTime].
func (p *paced) round(ctx context.Context, rate, clients int) error {
	errs, took := make([]error, pacedConns), make([][]time.Duration, pacedConns)
	var wg sync.WaitGroup
	for i := range pacedConns {
		wg.Go(func() {
			took[i] = make([]time.Duration, 0, rate/pacedConns*int(floodTime/time.Second)+1)
			errs[i] = pace(ctx, p.address, rate/pacedConns, func(k int) (string, int) {
				return "GET /x.txt", (k*pacedConns + i) % clients
			}, func(_, status int, d time.Duration) {
				if status == 200 {
					took[i] = append(took[i], d)
				}
			})
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	if err := errors.Join(errs...); err != nil || len(all) == 0 {
		return errors.Join(err, ctx.Err())
	}
	slices.Sort(all)
	p.p50 = append(p.p50, float64(all[len(all)/2])/float64(time.Millisecond))
	p.p99 = append(p.p99, float64(all[len(all)*99/100])/float64(time.Millisecond))
	return nil
}

func (b *bench) printPaced(out io.Writer) {
	if len(b.paced) < 2 || len(b.paced[1].p99) == 0 {
		return
	}
	plain, asks := b.paced[0], b.paced[1]
	minus := func(a, b float64) float64 { return a - b }
	added := pairs(asks.p99, plain.p99, minus)
	fmt.Fprintf(out, "%d requests a second: HAProxy with edgeguard by SPOE, over HAProxy alone, p99\t≤ %v\tp50 %+.2f ms, p99 %+.2f ms (%+.2f to %+.2f); alone %.2f and %.2f ms\t%s\n",
		b.pacedRate, mostAdded, median(pairs(asks.p50, plain.p50, minus)), median(added), slices.Min(added), slices.Max(added), median(plain.p50), median(plain.p99),
		judge(median(added), float64(mostAdded)/float64(time.Millisecond)))
}
