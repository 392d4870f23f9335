package main

import "fmt"

// figure is one line of the report.
type figure struct {
	what    string
	goal    goal
	command string // what a reader types to see it alone
	measure func(*runner) (reading, error)
}

// reading is what was measured: a value in the goal's unit, and what it was
// made from.
type reading struct {
	value  float64
	detail string
}

// group is the figures that are measured and shown together.
type group struct {
	name  string // as -only takes it, and as the page's region is called
	title string
	note  string // what a reader must know to judge the figures
	lines []figure
}

// row is a figure as it is shown.
type row struct{ what, goal, measured, verdict, command string }

// measure takes each figure of the group. What cannot be measured is said in
// its row, and the others go on.
func (r *runner) measure(g group) []row {
	var rows []row
	for _, f := range g.lines {
		shown := row{what: f.what, goal: f.goal.String(), command: f.command}
		if r.idle {
			shown.measured = "not measured yet"
			rows = append(rows, shown)
			continue
		}
		got, err := f.measure(r)
		if err != nil {
			shown.measured = "not measured: " + err.Error()
		} else {
			shown.measured = withUnit(got.value, f.goal.unit)
			if got.detail != "" {
				shown.measured += " (" + got.detail + ")"
			}
			shown.verdict = f.goal.verdict(got.value)
		}
		rows = append(rows, shown)
	}
	return rows
}

// faster is the figure "how many times faster than": theirs and ours are
// benchmarks of one run.
func faster(what string, g goal, run benchRun, theirs, ours string) figure {
	return figure{what, g, run.command(), func(r *runner) (reading, error) {
		a, b, err := r.both(run, theirs, ours)
		return reading{medianRatio(a, b), against(b, a) + spread(a, b)}, err
	}}
}

// multiple is the figure "how many times the cost of": both are benchmarks of
// one run.
func multiple(what string, g goal, run benchRun, ours, unit string) figure {
	return figure{what, g, run.command(), func(r *runner) (reading, error) {
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
	return figure{what, g, run.command(), func(r *runner) (reading, error) {
		found, err := r.bench(run)
		if err != nil {
			return reading{}, err
		}
		values, err := found.values(name, unit)
		if err != nil {
			return reading{}, err
		}
		return reading{value: median(values)}, nil
	}}
}
