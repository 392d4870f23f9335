package tools

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is what the arms did. What they were asked is the seed's; what they did, they did on
// this machine.
type Result struct {
	Seed     uint64 `json:"seed"`
	Full     bool   `json:"full"`
	Scenario string `json:"scenario"`
	Limit    uint32 `json:"limit"`
	Window   int    `json:"window_s"`
	// Rounds, Conns and Clients are of the turns, Rate is how many requests a second have
	// their time taken.
	Rounds  int   `json:"rounds"`
	Rate    int   `json:"rate"`
	Conns   int   `json:"conns"`
	Clients int   `json:"clients"`
	Arms    []Arm `json:"arms"`
}

// Arm is a row of the result.
type Arm struct {
	Name string `json:"name"`
	What string `json:"what"`
	Base string `json:"base,omitempty"` // the arm that it adds to
	// Expressed is how the limit is said to it, and Bound is by how much it may be off.
	Expressed string `json:"expressed"`
	Bound     string `json:"bound,omitempty"`
	// Missing says why it was not measured, or not wholly.
	Missing string  `json:"missing,omitempty"`
	Judged  *Judged `json:"judged,omitempty"`
	Cost    *Cost   `json:"cost,omitempty"`
}

// Spread is a figure of several: the middle, and the ends.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
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
	r := &Result{Seed: t.options.Seed, Full: t.options.Full, Scenario: t.scenario.What, Limit: limit.limit, Window: int(limit.window.Seconds()),
		Rounds: t.rounds, Rate: costRate, Conns: costConns, Clients: costClients}
	for _, a := range arms {
		r.Arms = append(r.Arms, Arm{Name: a.name, What: a.what, Base: a.base, Expressed: a.expressed(limit), Bound: a.bound})
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

// Print writes the result as a table of at most 100 columns, and what each arm is.
func (r *Result) Print(w io.Writer) {
	fold(w, "", fmt.Sprintf("%s; limit %d in %d s, seed %d", r.Scenario, r.Limit, r.Window, r.Seed))
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "arm\tserver µs\ttool µs\tadded µs\t+p50 ms\t+p99 ms\tcaught\thit\tpassed\tto block, s")
	for i := range r.Arms {
		r.Arms[i].print(tw)
	}
	_ = tw.Flush()
	fmt.Fprintln(w)
	fold(w, "", fmt.Sprintf("µs are of processor time, for a request that passes, of as many as fit over %d connections from %d clients; ms are what a request "+
		"takes more at %d a second. Medians of %d rounds by turns. Caught are clients over the limit, hit are others, passed are requests of a client that had "+
		"crossed it. To block is from that request to the first refusal: the median, and the longest.", r.Conns, r.Clients, r.Rate, r.Rounds))
	for _, a := range r.Arms {
		fmt.Fprintln(w)
		fold(w, "", a.Name+": "+a.What)
		for _, line := range []struct{ what, text string }{{"limit", a.Expressed}, {"bound", a.Bound}, {"not measured", a.Missing}} {
			if line.text != "" {
				fold(w, "  ", line.what+": "+line.text)
			}
		}
	}
}

// fold writes a text in lines of at most 100 columns, unless a word is longer.
func fold(w io.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 100 && line != indent {
			fmt.Fprintln(w, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

func (a *Arm) print(w io.Writer) {
	server, tool, added, p50, p99 := "-", "-", "-", "-", "-"
	if c := a.Cost; c != nil {
		server, tool = fmt.Sprintf("%.1f", c.ServerCPU.Median), fmt.Sprintf("%.1f", c.ToolCPU.Median)
		if c.AddedP99 != (Spread{}) { // the base ran
			added = fmt.Sprintf("%+.1f", c.AddedCPU.Median)
			p50, p99 = fmt.Sprintf("%+.2f", c.AddedP50.Median), fmt.Sprintf("%+.2f", c.AddedP99.Median)
		}
	}
	caught, hit, passed, block := "-", "-", "-", "-"
	if j := a.Judged; j != nil {
		caught, hit, passed = fmt.Sprintf("%d/%d", j.Caught, j.Over), fmt.Sprintf("%d/%d", j.Hit, j.Visitors), fmt.Sprint(j.Passed)
		if len(j.Blocks) > 0 {
			block = fmt.Sprintf("%.3f, %.3f", j.Block.Median, j.Block.Most)
		}
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Name, server, tool, added, p50, p99, caught, hit, passed, block)
}
