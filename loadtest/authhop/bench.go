package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// bench is one run.
type bench struct {
	options
	dir     string
	program string // edgeguard's
	sites   []*site
	delays  []time.Duration // of refusals
	floods  []*flooded
	paced   []*paced
}

func (b *bench) start(ctx context.Context, arms []arm) error {
	for _, a := range arms {
		s, err := b.startSite(ctx, a, a.name)
		b.sites = append(b.sites, s)
		if err != nil {
			return err
		}
		if err := b.load(ctx, s, b.requests/10+1); err != nil { // warm
			return err
		}
	}
	return nil
}

func (b *bench) stop() {
	for _, p := range b.paced {
		p.stop()
	}
	for _, s := range b.sites {
		s.stop()
	}
}

// perRequest returns the microseconds a request of a round's time.
func (b *bench) perRequest(d time.Duration) float64 {
	return float64(d) / float64(time.Microsecond) / float64(b.requests)
}

func (b *bench) load(ctx context.Context, s *site, requests int) error {
	if err := load(ctx, s.address, b.options, requests); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.asked += uint64(requests)
	return nil
}

// measure lets the sites take turns, each round beginning with another.
func (b *bench) measure(ctx context.Context) error {
	for round := range b.rounds {
		for i := range b.sites {
			s := b.sites[(i+round)%len(b.sites)]
			nginx0, beside0, err := s.settled(ctx)
			if err != nil {
				return err
			}
			start := time.Now()
			if err := b.load(ctx, s, b.requests); err != nil {
				return err
			}
			s.rates = append(s.rates, float64(b.requests)/time.Since(start).Seconds())
			nginx, beside, err := s.settled(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.micros = append(s.micros, b.perRequest(nginx-nginx0+beside-beside0))
			s.beside = append(s.beside, b.perRequest(beside-beside0))
		}
	}
	return ctx.Err()
}

// goals are the figures that were promised: a site's CPU over another's.
var goals = []struct {
	what, of, over string
	most           float64 // 0: stated
}{
	{"edgeguard over the minimal net/http responder", "tcp", "responder", 1.10},
	{"unix socket over TCP", "unix", "tcp", 0},
	{"pass cached 1 s per address, counted from the log, over asking every time (the more a client asks, the better)", "cached+log", "tcp", 0.6},
	{"the same without the log", "cached", "tcp", 0},
	{"edgeguard following the buffered log, over that log alone", "log+edgeguard", "log", 1.15},
	{"edgeguard's server over net/http with the same decision", "tcp", "guard", 0},
	{"edgeguard over the floor", "tcp", "floor", 0},
}

func (b *bench) print(out io.Writer) {
	fmt.Fprintf(out, "%d rounds of %d requests, %d connections, %d clients\n\n", b.rounds, b.requests, b.conns, b.clients)
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "arm\tCPU µs a request (median, range)\tbeside the proxy\tover plain\trequests/s a client\twhat")
	for _, s := range b.sites {
		over := "-"
		if plain := b.site(s.alone()); plain != nil && plain != s {
			over = fmt.Sprintf("%.1f", median(pairs(s.micros, plain.micros, func(a, b float64) float64 { return a - b })))
		}
		fmt.Fprintf(tw, "%s\t%.1f (%.1f–%.1f)\t%.1f\t%s\t%.0f\t%s\n", s.name, median(s.micros), slices.Min(s.micros), slices.Max(s.micros), median(s.beside), over,
			median(s.rates)/float64(b.clients), s.what)
	}
	fmt.Fprintln(tw, "\nfigure\tgoal\tmeasured (median of rounds, range)\t")
	for _, g := range goals {
		of, over := b.site(g.of), b.site(g.over)
		if of == nil || over == nil {
			continue
		}
		ratios := pairs(of.micros, over.micros, func(a, b float64) float64 { return a / b })
		goal, verdict := "stated", ""
		if g.most > 0 {
			goal, verdict = fmt.Sprintf("≤ %.2f×", g.most), judge(median(ratios), g.most)
		}
		fmt.Fprintf(tw, "%s\t%s\t%.2f× (%.2f–%.2f)\t%s\n", g.what, goal, median(ratios), slices.Min(ratios), slices.Max(ratios), verdict)
	}
	if n := len(b.delays); n > 0 {
		slices.Sort(b.delays)
		worst := b.delays[n-1]
		fmt.Fprintf(tw, "%s (%d clients)\t≤ %v\tp50 %v, max %v\t%s\n", "pass cached 1 s, counted from the log: from the crossing request to a refusal",
			n, mostDelay, b.delays[n/2].Round(time.Millisecond), worst.Round(time.Millisecond), judge(worst.Seconds(), mostDelay.Seconds()))
	}
	b.printPaced(tw)
	b.printFloods(tw)
	_ = tw.Flush()
}

func judge(measured, most float64) string {
	if measured > most {
		return "short"
	}
	return "ok"
}

func (b *bench) site(name string) *site {
	for _, s := range b.sites {
		if s.name == name {
			return s
		}
	}
	return nil
}

// pairs joins the values of the same round.
func pairs(a, b []float64, join func(a, b float64) float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, join(a[i], b[i]))
	}
	return out
}

// median returns the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
