package fleet

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the result as tables for a terminal.
func (r *Result) Print(w io.Writer) {
	for _, part := range []struct {
		name, title, head string
		line              func(Row) string
	}{
		{guardPart, "What a guard is worth: clients that send so much within one window, at 8 nodes",
			"window\tsent\tof threshold\tguard\tclocks off\tcaught\tfalsely\tover, each\tat most", guardLine},
		{splitPart, "The same attackers over more nodes, clocks up to 100 ms off",
			"scenario\tnodes\tcrossed\tmissed\tover, each\tat most\tto block, median\tmost", splitLine},
		{faultPart, "Faults, at 8 nodes", "fault\tcrossed\tmissed\tover, each\tat most\tto block, median\tmost", faultLine},
		{quietPart, "A crowd with 20 attackers: what one Redis is asked", "nodes\tquiet\tclient\treported\tkeys/s\tcommands/s\tto Redis\tfrom Redis\tcore", quietLine},
	} {
		fmt.Fprintf(w, "%s\n\n", part.title)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, part.head)
		for _, row := range r.Rows {
			if row.Part == part.name {
				fmt.Fprintln(t, part.line(row))
			}
		}
		_ = t.Flush()
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Redis' share of a core is computed: commands times their costs, of\n%s.\n", r.Costs)
	for _, e := range r.Ends {
		beyond := ""
		if e.Beyond {
			beyond = " (by a line)"
		}
		fmt.Fprintf(w, "80 %% of a core: at %.0f nodes%s of %d requests a second, %s, a client %s.\n", e.Nodes, beyond, e.PerNode, quietly(e.Quiet), balanced(e.Home))
	}
}

func guardLine(r Row) string {
	return fmt.Sprintf("%d s\t%s\t%g %%\t%s\t%d ms\t%d of %d\t%d\t%s\t%d", r.WindowS, sent(r.Scenario), r.Percent, r.Guard, r.SkewMS,
		r.Caught, r.Crossed, r.FalseBlocks, r.overEach(), r.MostOver)
}

func splitLine(r Row) string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%s\t%d\t%g ms\t%g ms", r.Scenario, r.Nodes, r.Crossed, r.Missed, r.overEach(), r.MostOver, r.MedianMS, r.MostMS)
}

func faultLine(r Row) string {
	return fmt.Sprintf("%s\t%d\t%d\t%s\t%d\t%g ms\t%g ms", r.Fault, r.Crossed, r.Missed, r.overEach(), r.MostOver, r.MedianMS, r.MostMS)
}

func quietLine(r Row) string {
	return fmt.Sprintf("%d\t%s\t%s\t%d of %d\t%.0f\t%.0f\t%.0f kB/s\t%.0f kB/s\t%.1f %%", r.Nodes, quietly(r.Quiet), balanced(r.Home),
		r.Reported, r.Clients, r.Keys, r.Calls, r.In/1000, r.Out/1000, r.Core)
}

// overEach is how many requests over the threshold passed of each client that crossed
// it.
func (r Row) overEach() string {
	if r.Crossed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(r.OverAdmitted)/float64(r.Crossed))
}

func sent(scenario string) string { return scenario[len("one-window-"):] }

func quietly(quiet bool) string {
	if quiet {
		return "quiet"
	}
	return "every key"
}

func balanced(home bool) string {
	if home {
		return "at its node"
	}
	return "at any node"
}
