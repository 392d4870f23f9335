package report

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"edgeguard/loadtest/algorithms"
	"edgeguard/loadtest/algorithms/overredis"
	"edgeguard/loadtest/fleet"
	"edgeguard/loadtest/fleet/real"
	"edgeguard/loadtest/tools"
)

// Parts are the comparisons of loadtest's own programs. One that was not asked for, or
// failed, is nil.
type Parts struct {
	// Failed says which could not be measured at all, and why.
	Failed     []string
	Algorithms *algorithms.Result
	OverRedis  *overredis.Result
	Fleet      *fleet.Result
	Processes  *real.Result
	Tools      *tools.Result
}

// part is one of them.
type part struct {
	name string
	// run puts its result into the report.
	run func(context.Context, Options, io.Writer, *Parts) error
}

// The names of the parts.
const (
	Algorithms = "algorithms"
	OverRedis  = "over-redis"
	Fleet      = "fleet"
	Processes  = "processes"
	Tools      = "tools"
)

// parts are in the order in which they run.
var parts = []part{
	{Algorithms, func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.Algorithms, err = algorithms.Run(ctx, algorithms.Options{Seed: o.Seed, Full: o.Full}, notes)
		return err
	}},
	{OverRedis, func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.OverRedis, err = overredis.Run(ctx, overredis.Options{Full: o.Full}, notes)
		return err
	}},
	{Fleet, func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.Fleet, err = fleet.Run(ctx, fleet.Options{Seed: o.Seed, Full: o.Full}, notes)
		return err
	}},
	{Processes, func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.Processes, err = real.Run(ctx, real.Options{Seed: o.Seed, Full: o.Full}, notes)
		return err
	}},
	{Tools, func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		// At length they take eight minutes: only where nothing else is asked for.
		p.Tools, err = tools.Run(ctx, tools.Options{Seed: o.Seed, Full: o.Full && slices.Equal(o.Only, []string{Tools})}, notes)
		return err
	}},
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// run takes the parts that are wanted. What a part cannot measure is in its result, and
// one that fails is told; only the end of ctx is an error.
func (p *Parts) run(ctx context.Context, o Options, notes io.Writer) error {
	for _, one := range parts {
		if !o.wants(one.name, true) {
			continue
		}
		begun := time.Now()
		if err := one.run(ctx, o, notes, p); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed := fmt.Sprintf("%s: not measured: %v", one.name, err)
			p.Failed = append(p.Failed, failed)
			fmt.Fprintln(notes, failed)
			continue
		}
		fmt.Fprintf(notes, "%s took %s\n", one.name, time.Since(begun).Round(time.Second))
	}
	return nil
}

// counted are the instructions that the algorithms counted beside their own, and whether
// the table was quoted in place of that; nil if they did not run.
func (p *Parts) counted() (all map[string]float64, quoted bool) {
	if p.Algorithms == nil {
		return nil, false
	}
	all = map[string]float64{}
	for _, c := range p.Algorithms.Costs {
		all[c.Name] = c.Instructions
		quoted = quoted || c.Committed
	}
	return all, quoted
}
