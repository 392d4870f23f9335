package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The colours of a terminal, used sparingly: what was blocked, what is a
// heading.
const (
	red   = "\x1b[31m"
	amber = "\x1b[33m"
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	reset = "\x1b[0m"
)

// table is rows of aligned columns. text/tabwriter would count colour codes
// as width, so the padding is done here.
type table struct {
	heads []string
	// right says which columns are aligned to the right: numbers.
	right []bool
	rows  [][]string
	// paints colours whole columns; empty for none.
	paints []string
}

// column adds a column before any row is added.
func (t *table) column(head string, right bool, paint string) {
	t.heads = append(t.heads, head)
	t.right = append(t.right, right)
	t.paints = append(t.paints, paint)
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table; with colour if the output shows it.
func (t *table) print(w io.Writer, colour bool) {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.line(w, widths, t.heads, func(int) string { return bold }, colour)
	for _, row := range t.rows {
		t.line(w, widths, row, func(i int) string { return t.paints[i] }, colour)
	}
}

func (t *table) line(w io.Writer, widths []int, row []string, paint func(int) string, colour bool) {
	var line strings.Builder
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if p := paint(i); colour && p != "" {
			cell = p + cell + reset
		}
		if i > 0 {
			line.WriteString("  ")
		}
		if t.right[i] {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}
