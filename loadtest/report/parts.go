package report

import (
	"context"
	"fmt"
	"io"
	"reflect"
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
	Failed     []string           `json:"failed,omitempty"`
	Algorithms *algorithms.Result `json:"algorithms,omitempty"`
	OverRedis  *overredis.Result  `json:"over_redis,omitempty"`
	Fleet      *fleet.Result      `json:"fleet,omitempty"`
	Processes  *real.Result       `json:"processes,omitempty"`
	Tools      *tools.Result      `json:"tools,omitempty"`
}

// part is one of them.
type part struct {
	name, title string
	// run puts its result into the report.
	run    func(context.Context, Options, io.Writer, *Parts) error
	result func(*Parts) Result
}

// Result is what a part found.
type Result interface {
	Print(io.Writer) // the table for a terminal
}

// The names of the parts.
const (
	Algorithms = "algorithms"
	OverRedis  = "over-redis"
	Fleet      = "fleet"
	Processes  = "processes"
	Tools      = "tools"
)

// parts are in the order in which they run and are shown.
var parts = []part{
	{Algorithms, "Ways to limit a rate, in memory", func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.Algorithms, err = algorithms.Run(ctx, algorithms.Options{Seed: o.Seed, Full: o.Full, Record: o.Record}, notes)
		return err
	}, func(p *Parts) Result { return p.Algorithms }},
	{OverRedis, "Ways to limit a rate, over a Redis", func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.OverRedis, err = overredis.Run(ctx, overredis.Options{Seed: o.Seed, Full: o.Full, Record: o.Record}, notes)
		return err
	}, func(p *Parts) Result { return p.OverRedis }},
	{Fleet, "A fleet, in virtual time", func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.Fleet, err = fleet.Run(ctx, fleet.Options{Seed: o.Seed, Full: o.Full}, notes)
		return err
	}, func(p *Parts) Result { return p.Fleet }},
	{Processes, "A fleet of eight processes beside it", func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		p.Processes, err = real.Run(ctx, real.Options{Seed: o.Seed, Full: o.Full}, notes)
		return err
	}, func(p *Parts) Result { return p.Processes }},
	{Tools, "Other programs", func(ctx context.Context, o Options, notes io.Writer, p *Parts) (err error) {
		// At length they take eight minutes: only where nothing else is asked for.
		p.Tools, err = tools.Run(ctx, tools.Options{Seed: o.Seed, Full: o.Full && slices.Equal(o.Only, []string{Tools})}, notes)
		return err
	}, func(p *Parts) Result { return p.Tools }},
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
	if o.Goals {
		return ctx.Err()
	}
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

// print prints the tables of those that ran.
func (p *Parts) print(w io.Writer) {
	for _, failed := range p.Failed {
		fmt.Fprintf(w, "%s\n\n", failed)
	}
	for _, one := range parts {
		result := one.result(p)
		if reflect.ValueOf(result).IsNil() {
			continue
		}
		fmt.Fprintf(w, "%s\n\n", one.title)
		result.Print(w)
		fmt.Fprintln(w)
	}
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
