package report

import (
	"fmt"
	"strings"
)

// figure is one line of the report.
type figure struct {
	what    string
	goal    goal
	command string // what a reader types to see it alone
	measure func(*runner) (reading, error)
	answers []question // of docs/benchmarks.md that quote it
}

// in has questions quote the figure.
func (f figure) in(answers ...question) figure {
	f.answers = answers
	return f
}

// reading is what was measured: a value in the goal's unit, and what it was
// made from.
type reading struct {
	value  float64
	detail string
}

// group is the figures that are measured and shown together.
type group struct {
	name  string // as -only takes it
	title string // as docs/figures.md calls it
	note  string // what a reader must know to judge the figures
	lines []figure
	quick bool // it takes seconds, and belongs to the short run
}

// measure takes each figure of the group. What cannot be measured is said in
// its row, and the others go on.
func (r *runner) measure(g group) Table {
	t := Table{Name: g.name, Title: g.title, Note: g.note}
	for _, f := range g.lines {
		row := Figure{What: f.what, Goal: f.goal.String(), Command: f.command, answers: f.answers}
		if r.idle {
			row.Missing, row.Measured = true, "not in this run"
			t.Rows = append(t.Rows, row)
			continue
		}
		got, err := f.measure(r)
		if err != nil {
			row.Missing, row.Measured = true, "not measured: "+err.Error()
		} else {
			row.Measured = withUnit(got.value, f.goal.unit)
			if got.detail != "" {
				row.Measured += " (" + strings.TrimPrefix(got.detail, "; ") + ")"
			}
			row.Verdict = f.goal.verdict(got.value)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// faster is the figure "how many times faster than": theirs and ours are
// benchmarks of one run.
func faster(what string, g goal, run benchRun, theirs, ours string) figure {
	return figure{what: what, goal: g, command: run.command(), measure: func(r *runner) (reading, error) {
		a, b, err := r.both(run, theirs, ours)
		return reading{medianRatio(a, b), against(b, a) + spread(a, b)}, err
	}}
}

// multiple is the figure "how many times the cost of": both are benchmarks of
// one run.
func multiple(what string, g goal, run benchRun, ours, unit string) figure {
	return figure{what: what, goal: g, command: run.command(), measure: func(r *runner) (reading, error) {
		a, b, err := r.both(run, ours, unit)
		return reading{medianRatio(a, b), against(a, b) + spread(a, b)}, err
	}}
}

func (r *runner) both(run benchRun, first, second string) (a, b []float64, err error) {
	found, err := r.bench(run)
	if err != nil {
		return nil, nil, err
	}
	if a, err = found.values(first, "ns/op"); err != nil {
		return nil, nil, err
	}
	b, err = found.values(second, "ns/op")
	return a, b, err
}

func against(ours, theirs []float64) string {
	return fmt.Sprintf("%s against %s", withUnit(median(ours), "ns"), withUnit(median(theirs), "ns"))
}

// metric is the figure that one benchmark reports in a unit of its own.
func metric(what string, g goal, run benchRun, name, unit string) figure {
	return figure{what: what, goal: g, command: run.command(), measure: func(r *runner) (reading, error) {
		found, err := r.bench(run)
		if err != nil {
			return reading{}, err
		}
		values, err := found.values(name, unit)
		if err != nil {
			return reading{}, err
		}
		return reading{median(values), between(values, g.unit)}, nil
	}}
}

// times is the figure in another unit, such as milliseconds of nanoseconds.
func (f figure) times(factor float64) figure {
	measure := f.measure
	f.measure = func(r *runner) (reading, error) {
		got, err := measure(r)
		got.value *= factor
		got.detail = "" // its spread is in the other unit
		return got, err
	}
	return f
}
