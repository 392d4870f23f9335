package overredis

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Print writes the tables for a terminal.
func (r *Result) Print(w io.Writer) {
	if r.Redis != "" {
		fmt.Fprintf(w, "Over a real Redis %s,\n%s\n", r.Redis, r.Sent)
	}
	if r.Missing != "" {
		fmt.Fprintf(w, "Not measured, or not all: %s\n", r.Missing)
	}
	for _, way := range r.Ways {
		fmt.Fprintf(w, "  %-15s %s\n", way.Name, way.What)
	}
	if len(r.Rows) > 0 {
		r.printRows(w)
	}
	if len(r.Costs) > 0 {
		r.printCosts(w)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(r.Memory) > 0 {
		fmt.Fprint(w, "\nMemory of Redis beside what a document says of a client, or of a log's request; 20 million\nclients are extrapolated\n")
		fmt.Fprintln(table, "way\teach client\tclients\tbytes each\ta request\tsaid\tMB for 20 M\t")
		for _, m := range r.Memory {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%d\t\n", m.Way, m.State, m.Clients, m.Bytes, m.RequestBytes, dash(m.Said), m.TwentyMillion)
		}
		_ = table.Flush() // whoever reads sees what is missing
	}
	if len(r.Claims) > 0 {
		fmt.Fprint(w, "\nWhat documents say\n")
	}
	for _, c := range r.Claims {
		fmt.Fprintf(w, "  %s:\n    said %g, is %g %s\n", c.Claim, c.Said, c.Is, c.Unit)
	}
}

// printRows writes two tables of the scenarios, with a column for each way that was
// run on all.
func (r *Result) printRows(w io.Writer) {
	fmt.Fprint(w, "\nBy the exact log: requests admitted over the limit / requests refused falsely; one client in\nso many sent all its requests\n")
	r.byWay(w, func(one *Row) string { return fmt.Sprintf("%d/%d", one.Over, one.RefusedFalsely) })
	fmt.Fprint(w, "\nOf one request: commands / µs of Redis' CPU, in pipelines\n")
	r.byWay(w, func(one *Row) string {
		return fmt.Sprintf("%.2f/%.1f", float64(one.Commands)/float64(max(1, one.Requests)), one.CPU)
	})
	fmt.Fprint(w, "\nRetry-After: of those asked, too early / too late, and by how much at most\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, one := range r.Rows {
		if one.Asked > 0 {
			fmt.Fprintf(table, "%s\t%s\t%d asked\t%d early\t%.3f s\t%d late\t%.3f s\t\n", one.Scenario, one.Way, one.Asked, one.Early, one.EarlyS, one.Late, one.LateS)
		}
	}
	_ = table.Flush()
}

// byWay writes a line for each scenario.
func (r *Result) byWay(w io.Writer, cell func(*Row) string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "scenario\t1 in\trequests\t")
	for _, way := range ways {
		if way.only == nil {
			fmt.Fprintf(table, "%s\t", way.name)
		}
	}
	for i := range r.Rows {
		one := &r.Rows[i]
		if i == 0 || one.Scenario != r.Rows[i-1].Scenario {
			fmt.Fprintf(table, "\n%s\t%d\t%d\t", one.Scenario, one.OneClientIn, one.Requests)
		}
		if !one.variant() {
			fmt.Fprintf(table, "%s\t", cell(one))
		}
	}
	fmt.Fprintln(table)
	_ = table.Flush() // whoever reads sees what is missing
	for i := range r.Rows {
		if one := &r.Rows[i]; one.variant() {
			fmt.Fprintf(w, "  %s by %s: %s\n", one.Scenario, one.Way, cell(one))
		}
	}
}

// variant reports whether a row's way was run on some scenarios only.
func (one *Row) variant() bool {
	return slices.ContainsFunc(ways, func(w way) bool { return w.name == one.Way && w.only != nil })
}

// printCosts writes what a request costs.
func (r *Result) printCosts(w io.Writer) {
	fmt.Fprint(w, "\nOne request on steady traffic, 33 of a client in 5 s; CPU is Redis', in µs\n")
	table := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "way\tcommands\tbytes in\tout\tpushed\tCPU piped\tof\tsingle\tof\twaits µs\tp99\t")
	for _, c := range r.Costs {
		fmt.Fprintf(table, "%s\t%.3f\t%.1f\t%.1f\t%.3f\t%.2f\t%s\t%s\t%s\t%s\t%s\t\n", c.Way, c.Commands, c.In, c.Out, c.Pushed,
			c.Pipelined, between(c.PipelinedBounds), dash(c.Single), between(c.SingleBounds), dash(c.Wait), dash(c.WaitMax))
	}
	_ = table.Flush()
	d := r.Decision
	fmt.Fprintf(w, "  a count in memory takes %.0f ns (%s), one script call %.0f ns: %.0f times\n",
		d.Memory, between(d.MemoryBounds), d.Script, d.Times)
	fmt.Fprintf(w, "  Redis' CPU a request: %.2f µs by all clients' pushes in pipelines, %.1f µs by a lone script call\n", d.PushCPU, d.ScriptCPU)
}

// between shows the least and the greatest of some turns.
func between(bounds [2]float64) string {
	if bounds[1] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g-%.3g", bounds[0], bounds[1])
}

// dash shows a figure, or that there is none.
func dash[T int64 | float64](n T) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", float64(n))
}
