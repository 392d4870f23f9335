package report

import (
	"fmt"
	"strings"

	"edgeguard/loadtest/report/plot"
	"edgeguard/loadtest/tools"
)

// full is the flag of the run.
func (r *Report) full() string {
	if r.Full {
		return " -full"
	}
	return ""
}

// request is what a request pays by each way.
func (r *Report) request() section {
	s := section{Question: "What does a request pay, by each way?", Command: "go run ./loadtest report -only tools" + r.full()}
	t := r.Parts.Tools
	if t == nil {
		return s
	}
	s.Table = &grid{Head: []string{"way", "CPU of both, µs", "of it added", "added p50, ms", "added p99, ms", "caught", "visitors hit"}}
	s.Says = []string{fmt.Sprintf("The same traffic (%s) to each, limit %d in %d s, on the cores that also make it: processor time is of as many requests as fit over %d connections, "+
		"and what a request waits more is at %s a second. Medians of %d rounds by turns, with the least and the most.",
		t.Scenario, t.Limit, t.Window, t.Conns, whole(float64(t.Rate)), t.Rounds)}
	for i := range t.Arms {
		a := &t.Arms[i]
		row := []string{a.What, "-", "-", "-", "-", "-", "-"}
		if c := a.Cost; c != nil {
			row[1] = withUnit(c.ServerCPU.Median+c.ToolCPU.Median, "")
			if a.Base != "" {
				row[2], row[3], row[4] = spreadCell(c.AddedCPU), spreadCell(c.AddedP50), spreadCell(c.AddedP99)
			}
		}
		if a.Missing != "" {
			s.Says = append(s.Says, "Of "+a.What+" not all was measured: "+a.Missing+".")
		}
		if j := a.Judged; j != nil && a.Base != "" {
			row[5], row[6] = fmt.Sprintf("%d of %d", j.Caught, j.Over), fmt.Sprintf("%d of %d", j.Hit, j.Visitors)
		}
		s.Table.add(row...)
	}
	return s
}

func spreadCell(s tools.Spread) string {
	return fmt.Sprintf("%s (%s to %s)", withUnit(s.Median, ""), withUnit(s.Least, ""), withUnit(s.Most, ""))
}

// blockTimes is how soon each program refuses; without rows if none was measured.
func (r *Report) blockTimes() plot.Bars {
	bars := plot.Bars{Title: "From the request that crosses the limit to the first refusal (logarithmic)"}
	t := r.Parts.Tools
	if t == nil {
		return bars
	}
	for i := range t.Arms {
		a := &t.Arms[i]
		if a.Base == "" {
			continue // nothing limits there
		}
		bar := plot.Bar{Label: a.What, Ours: strings.HasPrefix(a.What, "edgeguard")}
		switch {
		case a.Judged == nil:
			bar.None, bar.Text = true, "not measured"
		case len(a.Judged.Blocks) == 0:
			bar.None, bar.Text = true, "never refused"
		default:
			bar.Value, bar.Text = 1000*a.Judged.Block.Median, seconds(a.Judged.Block.Median)
		}
		bars.Rows = append(bars.Rows, bar)
	}
	return bars
}

// seconds writes a time with the unit that fits.
func seconds(s float64) string {
	switch {
	case s < 0.001:
		return withUnit(1e6*s, "µs")
	case s < 1:
		return withUnit(1e3*s, "ms")
	default:
		return withUnit(s, "s")
	}
}

// block is how soon a block is in force.
func (r *Report) block() section {
	s := section{Question: "How fast does a block reach everybody?", Table: &grid{Head: quoted}, Command: "go run ./loadtest report -only tools,crossing,kernel,names" + r.full()}
	s.Says = []string{"From the request that crosses the limit, of that client. limit_req is a bucket that leaks: it has no such request, and lets pass what has leaked since the first. From a log or a table a block comes when that is read, and in a fleet when the count is pushed."}
	if t := r.Parts.Tools; t != nil {
		for i := range t.Arms {
			a := &t.Arms[i]
			if j := a.Judged; a.Base != "" && j != nil && len(j.Blocks) > 0 {
				s.Table.add(a.What, statedGoal, fmt.Sprintf("%s, at most %s; %s passed", seconds(j.Block.Median), seconds(j.Block.Most), count(j.Passed, "request")), "")
			}
		}
	}
	r.quote(s.Table, blockQuestion)
	return s
}

func count(n int, word string) string { return whole(float64(n)) + " " + plural(n, word) }

// oneRedis is how far one Redis carries.
func (r *Report) oneRedis() section {
	s := section{Question: "How far does one Redis carry?", Table: &grid{Head: quoted}, Command: "go run ./loadtest report -only fleet,processes,over-redis,redis" + r.full()}
	s.Says = []string{"A push carries what a node counted since the last one, not a request: what Redis pays goes by addresses and slots, and with `quiet` only by those that come near their limit. [scale.md](scale.md) computes sizes. The share of a core is computed from the measured cost of each command."}
	if o := r.Parts.OverRedis; o != nil {
		if o.Missing != "" {
			s.Table.add("Ways over a Redis", statedGoal, "not measured: "+o.Missing, "")
		}
		for _, c := range o.Costs {
			s.Table.add("A request by "+c.Way, statedGoal, fmt.Sprintf("commands %s, bytes in %s and out %s, of Redis %s", withUnit(c.Commands, ""), withUnit(c.In, ""), withUnit(c.Out, ""), withUnit(c.Pipelined, "µs")), "")
		}
		if d := o.Decision; d.Memory > 0 {
			s.Table.add("A count in memory, and a script call to Redis", statedGoal, fmt.Sprintf("%s and %s: %s", withUnit(d.Memory, "ns"), withUnit(d.Script, "ns"), withUnit(d.Times, "×")), "")
		}
	}
	r.carries(&s)
	r.beside(&s)
	r.quote(s.Table, redisQuestion)
	return s
}
