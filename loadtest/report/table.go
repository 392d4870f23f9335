package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// printTable prints one group for a terminal.
func printTable(out io.Writer, g group, rows []row) {
	fmt.Fprintf(out, "%s\n\n", plain.Replace(g.title))
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "  what\tgoal\t\tmeasured")
	for _, r := range rows {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", plain.Replace(r.what), r.goal, r.verdict, r.measured)
	}
	_ = tw.Flush()
	fmt.Fprintln(out)
}
