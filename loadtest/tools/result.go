package tools

import (
	"slices"
)

// Result is what the arms did. What they were asked is the seed's; what they did, they did on
// this machine.
type Result struct {
	Scenario string
	Limit    uint32
	Window   int
	// Rounds and Conns are of the turns, Rate is how many requests a second have
	// their time taken.
	Rounds int
	Rate   int
	Conns  int
	Arms   []Arm
}

// Arm is a row of the result.
type Arm struct {
	Name string
	What string
	Base string // the arm that it adds to
	// Missing says why it was not measured, or not wholly.
	Missing string
	Judged  *Judged
	Cost    *Cost
}

// Spread is a figure of several: the middle, and the ends.
type Spread struct {
	Median float64
	Least  float64
	Most   float64
}

func spread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]}
}

func (t *run) newResult(arms []*arm) *Result {
	limit := rule{t.scenario.Limit, t.scenario.Window}
	r := &Result{Scenario: t.scenario.What, Limit: limit.limit, Window: int(limit.window.Seconds()),
		Rounds: t.rounds, Rate: costRate, Conns: costConns}
	for _, a := range arms {
		r.Arms = append(r.Arms, Arm{Name: a.name, What: a.what, Base: a.base})
	}
	return r
}

// row returns an arm's row. It looks at no more than the names of others, which may be filled
// meanwhile.
func (t *run) row(a *arm) *Arm {
	for i := range t.result.Arms {
		if row := &t.result.Arms[i]; row.Name == a.name {
			return row
		}
	}
	return nil
}
