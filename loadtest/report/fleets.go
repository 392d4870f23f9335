package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"edgeguard/loadtest/fleet"
	"edgeguard/loadtest/fleet/real"
)

// clocks are the runs of one guard with clocks that are off by so much.
type clocks struct {
	guard                    string
	between                  bool // over the threshold by an exact log, and not in 59 of its 60 slots
	skewMS                   int64
	crossed, caught, falsely int
}

// skews adds up what clients that kept to one window came to, by guard and skew.
func skews(f *fleet.Result) (all []clocks) {
	for i := range f.Rows {
		row := &f.Rows[i]
		if row.Part != "guard" {
			continue
		}
		between := row.Crossed > 0 && (row.Percent*59/60 <= 100 || strings.Contains(row.Scenario, "ends"))
		if between && row.SkewMS > 0 {
			continue // told once
		}
		at := slices.IndexFunc(all, func(c clocks) bool { return c.guard == row.Guard && c.skewMS == row.SkewMS && c.between == between })
		if at < 0 {
			at = len(all)
			all = append(all, clocks{guard: row.Guard, skewMS: row.SkewMS, between: between})
		}
		c := &all[at]
		c.crossed, c.caught, c.falsely = c.crossed+row.Crossed, c.caught+row.Caught, c.falsely+row.FalseBlocks
	}
	return all
}

// skew is what clocks that differ cost, and what a guard is worth.
func (r *Report) skew() section {
	s := section{Question: "What does a wrong clock cost, and what is the guard worth?", Command: "go run ./loadtest fleet" + r.full()}
	f := r.Parts.Fleet
	if f == nil {
		return s
	}
	all := skews(f)
	s.Table = &grid{Head: []string{"clocks off by"}}
	var rows []string
	for _, c := range all {
		guard := "guard " + c.guard
		if !slices.Contains(s.Table.Head, guard) {
			s.Table.Head = append(s.Table.Head, guard)
		}
		name := strconv.FormatInt(c.skewMS, 10) + " ms"
		if c.between {
			name += ", over it by an exact log alone"
		}
		at := slices.Index(rows, name)
		if at < 0 {
			at = len(rows)
			rows = append(rows, name)
			s.Table.add(name)
		}
		found := fmt.Sprintf("%d of %d caught", c.caught, c.crossed)
		if !c.between {
			found += fmt.Sprintf(", %d below it", c.falsely)
		}
		s.Table.Rows[at] = append(s.Table.Rows[at], found)
	}
	slices.SortStableFunc(s.Table.Rows, func(a, b []string) int { return cmp.Compare(strings.Count(a[0], ","), strings.Count(b[0], ",")) })
	s.Says = []string{"Clients that send between 93 and 110 % of the threshold within one window, at 8 nodes, in virtual time: who is caught of those over it, and who is blocked below it. Running nodes correct their clocks by Redis' up to 2.5 s: what is off here is what is left. " +
		"60 slots promise to find who is over it in 59 of them. Who is over it by an exact log alone sends less than a slot's worth more, or half in the first slot and half in the last."}
	if text := faults(f); text != "" {
		s.Says = append(s.Says, text)
	}
	return s
}

// faults is what became of offenders while things went wrong.
func faults(f *fleet.Result) string {
	kinds, crossed, missed, worst := 0, 0, 0, 0.0
	name := ""
	for i := range f.Rows {
		if row := &f.Rows[i]; row.Part == "fault" {
			kinds, crossed, missed = kinds+1, crossed+row.Crossed, missed+row.Missed
			if row.MostMS > worst {
				worst, name = row.MostMS, row.Fault
			}
		}
	}
	if kinds == 0 {
		return ""
	}
	return fmt.Sprintf("With faults of %d kinds (lost, late and repeated pushes, restarts, Redis away or emptied), %d of %d offenders were missed; the latest block came %s after the request that crossed (%s).",
		kinds, missed, crossed, seconds(worst/1000), name)
}

// carries adds what a crowd costs one Redis, by nodes.
func (r *Report) carries(s *section) {
	f := r.Parts.Fleet
	if f == nil {
		return
	}
	for _, e := range f.Ends {
		beyond := ""
		if e.Beyond {
			beyond = ", extrapolated"
		}
		s.Table.add(fmt.Sprintf("Nodes of %d requests/s to 80 %% of its core: %s", e.PerNode, kind(e.Quiet, e.Home)), statedGoal, whole(e.Nodes)+beyond, "")
	}
}

// beside adds the fleet of processes beside the one in virtual time.
func (r *Report) beside(s *section) {
	p := r.Parts.Processes
	if p == nil {
		return
	}
	what := "Eight processes beside virtual time"
	if p.Missing != "" {
		s.Table.add(what, "within 5 %", "not measured: "+p.Missing, "")
		return
	}
	worst, of, few := 0.0, "", 0
	for _, c := range p.RealTime.Compare {
		if c.Few {
			few++
		} else if off := math.Abs(c.Percent); of == "" || off > worst {
			worst, of = off, c.What
		}
	}
	verdict, same := "ok", "the same blocks"
	if !p.RealTime.SameBlocks {
		verdict, same = "short", "other blocks"
	}
	if worst > real.Most {
		verdict = "short"
	}
	s.Table.add(what, "within 5 %", fmt.Sprintf("%.1f %% at most (%s) of %s; %s", worst, of, count(len(p.RealTime.Compare)-few, "figure"), same), verdict)
	s.Table.add("Nodes with as much traffic to all of its core, by these processes", statedGoal, whole(float64(p.NodesACore())), "")
}

func kind(quiet, home bool) string {
	text := "every key"
	if quiet {
		text = "quiet"
	}
	if home {
		return text + ", clients at one node"
	}
	return text + ", at any node"
}
