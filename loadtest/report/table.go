package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// plain takes the marks of Markdown out of a text for the terminal.
var plain = strings.NewReplacer("`", "", "*", "")

// printTable prints one group for a terminal.
func printTable(out io.Writer, t Table) {
	fmt.Fprintf(out, "%s\n\n", plain.Replace(t.Title))
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "  what\tgoal\t\tmeasured")
	for _, r := range t.Rows {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", plain.Replace(r.What), r.Goal, r.Verdict, r.Measured)
	}
	_ = tw.Flush()
	fmt.Fprintln(out)
}
