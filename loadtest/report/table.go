package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// link is one of Markdown.
var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// marks are those of Markdown.
var marks = strings.NewReplacer("`", "", "*", "")

// plain takes the marks and links of Markdown out of a text.
func plain(text string) string { return marks.Replace(link.ReplaceAllString(text, "$1")) }

// printTable prints one group for a terminal.
func printTable(out io.Writer, t Table) {
	fmt.Fprintf(out, "%s\n\n", plain(t.Title))
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "  what\tgoal\t\tmeasured")
	for _, r := range t.Rows {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", plain(r.What), r.Goal, r.Verdict, r.Measured)
	}
	_ = tw.Flush()
	fmt.Fprintln(out)
}
