// Package scale measures what the console and the API cost on a node with a long list
// and many keys: how long answers take, and what open pages take from decisions.
//
// It writes a state file, starts the real program on it, and asks it over its
// sockets. loadtest/report prints its figures beside their goals.
package scale

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Options says how much is measured. The zero values of the numbers mean the usual.
type Options struct {
	Program      string // the path of edgeguard
	Blocks, Keys int
	Asked        int // how often each question is asked for its figure
	Pages        int
	Rounds       int           // turns with pages, and as many without
	Turn         time.Duration // how long one is
	Connections  int           // of the load
	Notes        io.Writer     // what is being done
}

// Usual returns what the figures are about.
func Usual() Options {
	return Options{Blocks: 1_000_000, Keys: 10_000_000, Asked: 1000, Pages: 50, Rounds: 5, Turn: 10 * time.Second, Connections: 16, Notes: io.Discard}
}

// Figures is what was measured.
type Figures struct {
	// Answers are the 99th percentiles of answers, by name.
	Answers map[string]time.Duration
	// Decision and Throughput are those with pages open against without, turn by
	// turn. Memory is what the node takes more.
	Decision, Throughput []float64
	// Processor is the node's processor time for a request, as Decision.
	Processor []float64
	Memory    []float64 // MB
	// Without is the median without a page: requests a second, and seconds of the
	// 99th percentile of decisions.
	Requests, Seconds float64
	// Streams is how many of the open pages had one at the end.
	Streams int
	// Goroutines remain after all pages are closed.
	Goroutines int
}

// Measure starts a node, measures, and ends it.
func Measure(ctx context.Context, o Options) (*Figures, error) {
	n, err := startNode(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	f := new(Figures)
	if f.Answers, err = n.answers(ctx, &o); err != nil {
		return nil, err
	}
	return f, n.turns(ctx, &o, f)
}

// turns measures decisions without a page and with them, by turns.
func (n *node) turns(ctx context.Context, o *Options, f *Figures) error {
	n.http.CloseIdleConnections()
	before, err := n.goroutines(ctx)
	if err != nil {
		return err
	}
	var requests, seconds []float64
	for round := range o.Rounds {
		fmt.Fprintf(o.Notes, "round %d of %d: load without a page, and with %d\n", round+1, o.Rounds, o.Pages)
		none, err := n.load(ctx, o)
		if err != nil {
			return err
		}
		open, err := n.open(ctx, o)
		if err != nil {
			return err
		}
		with, err := n.load(ctx, o)
		f.Streams = int(open.streams.Load())
		open.close()
		if err != nil {
			return err
		}
		requests, seconds = append(requests, none.requests), append(seconds, none.decision)
		f.Decision = append(f.Decision, with.decision/none.decision)
		f.Processor = append(f.Processor, with.cpu/none.cpu)
		f.Throughput = append(f.Throughput, with.requests/none.requests)
		f.Memory = append(f.Memory, float64(with.memory-none.memory)/1e6)
	}
	f.Requests, f.Seconds = middle(requests), middle(seconds)
	return until(ctx, func() error {
		n.http.CloseIdleConnections()
		after, err := n.goroutines(ctx)
		if f.Goroutines = after - before; err == nil && f.Goroutines > 0 {
			err = fmt.Errorf("%d goroutines remain after the last page is closed", f.Goroutines)
		}
		return err
	})
}

func middle(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }
