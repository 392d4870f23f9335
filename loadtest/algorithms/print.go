package algorithms

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// printedSlot is the one whose scenarios are printed, the default's; those of
// the others are in the result.
const printedSlot = 5

// Print writes for a terminal what decides; the rest is in the result.
func (r *Result) Print(w io.Writer) {
	fmt.Fprintf(w, "Ways to limit a rate on the same traffic, seed %d\n", r.Seed)
	for _, l := range r.Limiters {
		fmt.Fprintf(w, "  %-13s %s\n", l.Name, l.What)
	}
	r.rows(w, "Most admitted to one client in any window, in % of the limit", func(s *Played, k int) string {
		v := &s.Rows[k]
		return fmt.Sprint(uint64(v.Most) * 100 / uint64(v.Limit))
	})
	exact := r.limiterAt("sliding-log")
	r.rows(w, "Requests admitted in all, beside the exact log", func(s *Played, k int) string {
		return fmt.Sprintf("%+d", s.Rows[k].Allowed-s.Rows[exact].Allowed)
	})
	r.printStated(w)
	r.printClaims(w)
	r.printMeasured(w)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", wrapped(note))
	}
}

// span is an error of counts, in whole costs.
func span(least, greatest float64) string {
	return fmt.Sprintf("%d..%+d", int(math.Round(least)), int(math.Round(greatest)))
}

// rows writes a line a scenario and a column a limiter.
func (r *Result) rows(w io.Writer, title string, cell func(s *Played, k int) string) {
	fmt.Fprintf(w, "\n%s (slots of %d s)\n", title, printedSlot)
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(columns, "\t")
	for _, l := range r.Limiters {
		fmt.Fprint(columns, short(l.Name), "\t")
	}
	fmt.Fprintln(columns)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.SlotS != printedSlot {
			continue
		}
		fmt.Fprint(columns, s.Name, "\t")
		for k := range s.Rows {
			fmt.Fprint(columns, cell(s, k), "\t")
		}
		fmt.Fprintln(columns)
	}
	_ = columns.Flush()
}

// short is a limiter's name as a column has room for.
func short(name string) string {
	name, _, _ = strings.Cut(name, "-window")
	return strings.NewReplacer("counters", "ctrs", "sliding-", "").Replace(name)
}

// printStated writes, over all scenarios on one node, the error that a limiter
// states beside what it was, and the truth of its times to wait.
func (r *Result) printStated(w io.Writer) {
	fmt.Fprintf(w, "\nError beside what is stated, and times to wait (all slots, one node)\n")
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "\tstated error\tworst error\tbeyond\twaits asked\tsilent\tshort\tlong")
	for i, l := range r.Limiters {
		t := r.total(i, func(s *Played) bool { return s.Nodes == 1 })
		fmt.Fprintf(columns, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", l.Name, l.Stated, span(t.Least, t.Greatest), t.Beyond,
			t.Asked, t.Silent, t.Early, t.Late)
	}
	_ = columns.Flush()
}

func (r *Result) printClaims(w io.Writer) {
	fmt.Fprintf(w, "\nWhat the documents say\n")
	for i := range r.Claims {
		c, verdict := &r.Claims[i], "not so"
		if c.True {
			verdict = "so"
		}
		fmt.Fprintf(w, "%s\n%s\n", wrapped(c.Document+": "+c.Says), indented(verdict+": "+c.Found))
	}
}

// printMeasured writes what keys and decisions cost.
func (r *Result) printMeasured(w io.Writer) {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(columns, "\nHeap\tclients\tslots with a request\tbytes a key\tMB\n")
	for _, m := range r.Memory {
		fmt.Fprintf(columns, "%s\t%d\t%d\t%.1f\t%d\n", m.Limiter, m.Clients, m.Slots, m.BytesAKey, m.TotalBytes/1_000_000)
	}
	fmt.Fprintf(columns, "\nA decision\tkeys\tns, median\tleast\tmost\n")
	for _, s := range r.Speed {
		fmt.Fprintf(columns, "%s\t%s of %d\t%.0f\t%.0f\t%.0f\n", s.Limiter, s.Keys, s.Clients, s.MedianNS, s.LeastNS, s.MostNS)
	}
	fmt.Fprintf(columns, "\nedgeguard\tgoroutines\tns, median\tleast\tmost\n")
	for _, s := range r.Scale {
		fmt.Fprintf(columns, "%s\t%d\t%.0f\t%.0f\t%.0f\n", s.What, s.Goroutines, s.MedianNS, s.LeastNS, s.MostNS)
	}
	fmt.Fprintf(columns, "\nAn operation\tinstructions\n")
	for _, c := range r.Costs {
		if !slices.ContainsFunc(printedCosts, func(begins string) bool { return strings.HasPrefix(c.Name, begins) }) {
			continue
		}
		from := ""
		if c.Committed {
			from = " (table)"
		}
		fmt.Fprintf(columns, "%s\t%.0f%s\n", c.Name, c.Instructions, from)
	}
	_ = columns.Flush()
}

// printedCosts begin the names of the operations that are printed: a decision of
// each limiter, and ours by keys, addresses and rules.
var printedCosts = []string{"Take/", "Add/ipv", "Decide/", "Rules/1-", "Rules/20-paths", "Rules/20-count", "Rules/200-"}

// width is that of a terminal.
const width = 96

// wrapped breaks a text into lines.
func wrapped(text string) string {
	var out strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			out.WriteByte('\n')
			at = 0
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String()
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(wrapped(text), "\n", "\n    ")
}
