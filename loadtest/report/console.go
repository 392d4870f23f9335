package report

import (
	"fmt"
	"time"

	"edgeguard/loadtest/scale"
)

const openConsole = "go run ./loadtest report -only console"

func consoleGroup() group {
	answer := func(what string, most float64, name string) figure {
		return figure{what: what, goal: atMost(most, "ms"), command: openConsole, measure: func(r *runner) (reading, error) {
			f, err := r.console()
			if err != nil {
				return reading{}, err
			}
			return reading{value: float64(f.Answers[name]) / float64(time.Millisecond)}, nil
		}}
	}
	o := scale.Usual()
	return group{
		name:  "console",
		title: "The console, and what it costs",
		note: fmt.Sprintf("A node with %d blocks and %d keys, asked over its sockets: the 99th percentile of %d. Then forward auth answers over %d connections, by turns without a page and "+
			"with %d open. Load and readers share the machine with the node.", o.Blocks, o.Keys, o.Asked, o.Connections, o.Pages),
		lines: []figure{
			answer("`/blocked`, the newest", 20, scale.Newest),
			answer("the newest of a rule", 20, scale.OfRule),
			answer("the newest of an origin", 20, scale.OfOrigin),
			answer("another order, the first who asks (longest of two)", 800, scale.OrderFirst),
			answer("another order, then", 20, scale.OrderThen),
			answer("`/address/…`", 10, scale.Address),
			answer("`/rules/{name}`, the first who asks (once)", 600, scale.RuleFirst),
			answer("`/rules/{name}`, then", 20, scale.RuleThen),
			answer("an outcome", 20, scale.Outcome),
			answer("an event, from the request that makes it to who listens", 500, scale.Live),
			turns("decisions with pages open, 99th percentile", atMost(1.1, "×"), func(f *scale.Figures) ([]float64, string) {
				return f.Decision, "without: " + withUnit(f.Seconds*1e6, "µs")
			}),
			turns("requests a second with pages open", atLeast(0.97, "×"), func(f *scale.Figures) ([]float64, string) {
				return f.Throughput, "without: " + withUnit(f.Requests, "/s")
			}),
			turns("the node's processor time for a request, with pages open", stated("×"), func(f *scale.Figures) ([]float64, string) {
				return f.Processor, "beside other programs a better figure than the one before"
			}),
			turns("memory that pages take", atMost(100, "MB"), func(f *scale.Figures) ([]float64, string) { return f.Memory, fmt.Sprintf("%d streams", f.Streams) }),
			turns("goroutines left after the last page", atMost(0, ""), func(f *scale.Figures) ([]float64, string) {
				return []float64{float64(max(0, f.Goroutines))}, ""
			}),
		},
	}
}

// turns is the figure that is the median of turns.
func turns(what string, g goal, of func(*scale.Figures) (all []float64, detail string)) figure {
	return figure{what: what, goal: g, command: openConsole, measure: func(r *runner) (reading, error) {
		f, err := r.console()
		if err != nil {
			return reading{}, err
		}
		all, detail := of(f)
		if text := between(all, g.unit); text != "" {
			detail += "; " + text
		}
		return reading{median(all), detail}, nil
	}}
}

// console measures once for all figures of the group.
func (r *runner) console() (*scale.Figures, error) {
	if r.scale != nil || r.scaleFailed != nil {
		return r.scale, r.scaleFailed
	}
	o := scale.Usual()
	o.Rounds, o.Notes = r.rounds, r.notes
	if o.Program, r.scaleFailed = r.program(); r.scaleFailed == nil {
		r.scale, r.scaleFailed = scale.Measure(r.ctx, o)
	}
	return r.scale, r.scaleFailed
}
