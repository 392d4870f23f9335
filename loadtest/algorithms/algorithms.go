// Package algorithms compares ways to limit a rate, in memory, on the same
// traffic: what each admits over the limit and refuses falsely by the judgement
// of the exact log, whether the time to wait that it names is true, and what a
// key and a decision cost.
package algorithms

import (
	"context"
	"fmt"
	"io"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/traffic"
)

// Options says what [Run] measures.
type Options struct {
	Seed uint64
	// Full takes a botnet of 2 million addresses, tables of 10 and 20 million keys
	// and the instructions of everything, which takes minutes; else the run is short.
	Full bool
	// Botnet is how many addresses the botnet has; 0 means 200,000, and 2 million
	// in a full run.
	Botnet int
}

// Result is what was found. Scenarios and the first claims follow from the seed; the
// rest is measured, and its last digits differ from run to run.
type Result struct {
	Limiters  []limiter.Algorithm
	Scenarios []Played
	Claims    []Claim
	Memory    []Held
	Speed     []Speed
	Costs     []Cost

	notes io.Writer
}

// Played is one traffic with what each limiter made of it.
type Played struct {
	Name  string
	SlotS int
	Nodes int
	Rows  []Row
}

// Row is one limiter on one scenario.
type Row struct {
	Limiter string
	judge.Sentence
}

// slots are those that are compared, in seconds.
var slots = []int{1, 5, 10}

// Run judges, measures and counts. Notes gets a line for each step, and for what cannot
// be measured here: the rest goes on.
func Run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	r := &Result{Limiters: limiter.Algorithms(), Claims: claims(), notes: notes}
	for _, step := range []struct {
		does string
		do   func(context.Context, Options) error
	}{
		{"judging every limiter on every scenario", r.judgeAll},
		{"measuring the bytes of a key", r.measureMemory},
		{"timing decisions by turns", r.timeDecisions},
		{"counting the instructions of a decision", r.countInstructions},
	} {
		fmt.Fprintf(notes, "algorithms: %s\n", step.does)
		if err := step.do(ctx, o); err != nil {
			return nil, fmt.Errorf("%s: %w", step.does, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	r.Claims = append(r.Claims, r.memoryClaims()...)
	return r, nil
}

// clock is the time that a limiter is told for a request.
func clock(r traffic.Request) time.Duration {
	return traffic.Start.Sub(time.Unix(0, 0)) + r.At
}
