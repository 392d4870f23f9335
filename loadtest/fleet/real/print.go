package real

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Print writes the result for a terminal.
func (r *Result) Print(w io.Writer) {
	if r.Missing != "" {
		fmt.Fprintf(w, "The fleet of processes is not measured: %s\n", r.Missing)
		return
	}
	t := &r.RealTime
	fmt.Fprintf(w, "%d processes on one Redis: %s\n%d requests of %d clients, limit %d in a minute; %d cross it\n\n",
		r.Nodes, r.What, r.Requests, r.Clients, r.Limit, r.Crossing)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tmodel\tprocesses\tdifference\t")
	for _, row := range t.Compare {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%s\t\n", row.What, row.Virtual, row.Real, row.difference())
	}
	fmt.Fprintf(table, "clients blocked on all nodes\t%d\t%d\t%s\t\n", r.Virtual.Everywhere, t.Everywhere, same(t.SameBlocks))
	fmt.Fprintf(table, "crossing to first block, median, ms\t%.0f\t%.0f\t\t\n", r.Virtual.First.Median, t.First.Median)
	fmt.Fprintf(table, "crossing to block everywhere, median, ms\t%.0f\t%.0f\t\t\n", r.Virtual.All.Median, t.All.Median)
	fmt.Fprintf(table, "the same, at most\t%.0f\t%.0f\t\t\n", r.Virtual.All.Most, t.All.Most)
	_ = table.Flush() // an error is w's, which the caller sees
	fmt.Fprintf(w, "\nRedis had %.1f ms of a processor a second: %d such nodes fill a core.\nA request was late by at most %.0f ms.\n",
		t.RedisCPU/t.Seconds, r.NodesACore(), t.Late)
	if len(t.Costs) == 0 {
		return
	}
	fmt.Fprintf(w, "\nWhat a call costs Redis, of %d links\n", links)
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "command\tkeys\tCPU\ta key\t")
	for _, c := range t.Costs {
		fmt.Fprintf(table, "%s\t%d\t%.1f µs\t%.1f µs\t\n", c.Command, c.Keys, c.CPUCall, c.CPUCall/float64(max(1, c.Keys)))
	}
	_ = table.Flush()
}

// difference says how far the two are apart, and whether that is too much.
func (r *Compared) difference() string {
	switch {
	case r.Few:
		return "few"
	case math.Abs(r.Percent) > Most:
		return fmt.Sprintf("%+.1f %%, short", r.Percent)
	}
	return fmt.Sprintf("%+.1f %%, ok", r.Percent)
}

func same(is bool) string {
	if is {
		return "the same"
	}
	return "NOT the same"
}
