package report

import "strconv"

// goal is what a figure should reach: a bound from below or from above, or,
// with a negative bound, none.
type goal struct {
	most  bool // at most bound, else at least
	bound float64
	unit  string
}

func atLeast(bound float64, unit string) goal { return goal{bound: bound, unit: unit} }

func atMost(bound float64, unit string) goal { return goal{most: true, bound: bound, unit: unit} }

// statedGoal is how the goal reads that everything meets.
const statedGoal = "stated"

// stated is a goal that everything meets: the figure is there to be read.
func stated(unit string) goal { return goal{bound: -1, unit: unit} }

func (g goal) String() string {
	switch {
	case g.bound < 0:
		return statedGoal
	case g.most:
		return "≤ " + g.text()
	default:
		return "≥ " + g.text()
	}
}

func (g goal) text() string {
	if g.bound >= 10_000 {
		return withUnit(g.bound, g.unit)
	}
	return join(strconv.FormatFloat(g.bound, 'f', -1, 64), g.unit)
}

// verdict is "ok" or "short", or empty where there is no goal.
func (g goal) verdict(value float64) string {
	switch {
	case g.bound < 0:
		return ""
	case g.most && value <= g.bound, !g.most && value >= g.bound:
		return "ok"
	default:
		return "short"
	}
}

// withUnit writes a number with three significant digits at least, and whole
// numbers whole.
func withUnit(value float64, unit string) string {
	prec := 0
	switch {
	case value >= 10_000 || value <= -10_000:
		return join(whole(value), unit)
	case value == float64(int64(value)), value >= 100:
	case value >= 10:
		prec = 1
	case value > 0 && value < 0.01:
		prec = 4
	default:
		prec = 2
	}
	return join(strconv.FormatFloat(value, 'f', prec, 64), unit)
}

func join(number, unit string) string {
	if unit == "" || unit == "×" || unit == "/s" {
		return number + unit
	}
	return number + " " + unit
}
