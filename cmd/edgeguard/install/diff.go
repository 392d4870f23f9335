package install

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many equal lines a hunk shows before and behind what differs.
const around = 3

// edit is a line: of both texts, or of one.
type edit struct {
	op   byte // ' ', '-' or '+'
	line string
}

// unified returns how two texts of a file differ, as `diff -u` says it.
func unified(c *change) string {
	from, to := c.path, c.path
	if c.before == nil {
		from = "/dev/null"
	}
	if c.after == nil {
		to = "/dev/null"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	edits := compare(linesOf(c.before), linesOf(c.after))
	for i, a, z := 0, 1, 1; i < len(edits); {
		if edits[i].op == ' ' {
			i, a, z = i+1, a+1, z+1
			continue
		}
		first, end, gap := max(0, i-around), i, 0
		for k := i; k < len(edits) && gap <= 2*around; k++ {
			if gap++; edits[k].op != ' ' {
				end, gap = k+1, 0
			}
		}
		end = min(len(edits), end+around)
		a, z = a-(i-first), z-(i-first)
		olds, news := 0, 0
		var hunk strings.Builder
		for _, e := range edits[first:end] {
			if e.op != '+' {
				olds++
			}
			if e.op != '-' {
				news++
			}
			hunk.WriteString(string(e.op) + strings.TrimSuffix(e.line, "\n") + "\n")
			if !strings.HasSuffix(e.line, "\n") {
				hunk.WriteString("\\ No newline at end of file\n")
			}
		}
		fmt.Fprintf(&b, "@@ -%s +%s @@\n%s", span(a, olds), span(z, news), &hunk)
		i, a, z = end, a+olds, z+news
	}
	return b.String()
}

// span writes where a hunk is in a text.
func span(at, lines int) string {
	if lines == 0 {
		at--
	}
	return fmt.Sprintf("%d,%d", at, lines)
}

func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return lines[:last]
	}
	return lines
}

// compare goes through two texts of which one has lines that the other lacks.
func compare(a, b []string) (edits []edit) {
	for len(a) > 0 {
		same := slices.Index(b, a[0])
		if same < 0 {
			edits, a = append(edits, edit{'-', a[0]}), a[1:]
			continue
		}
		for _, line := range b[:same] {
			edits = append(edits, edit{'+', line})
		}
		edits, a, b = append(edits, edit{' ', a[0]}), a[1:], b[same+1:]
	}
	for _, line := range b {
		edits = append(edits, edit{'+', line})
	}
	return edits
}
