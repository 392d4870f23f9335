// Package output aligns what the commands print for people. It has tables with colours,
// where the terminal shows them.
package output

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"unicode/utf8"

	"edgeguard/internal/safetext"
)

// The colours of a terminal, used sparingly: what was blocked, what is a
// heading.
const (
	Plain = ""
	Red   = "\x1b[31m"
	Amber = "\x1b[33m"
	Bold  = "\x1b[1m"
	Faint = "\x1b[2m"
	Reset = "\x1b[0m"
)

// Table is rows of aligned columns. text/tabwriter would count colour codes
// as width, so the padding is done here.
type Table struct {
	heads []string
	// right says which columns are aligned to the right: numbers.
	right []bool
	rows  [][]string
	// paints colours whole columns; empty for none.
	paints []string
	// Screen is how many columns of letters a line may have; 0 is a pipe, which has all
	// room. What is longer is clipped: a screen that is drawn again holds whole rows only.
	Screen int
}

// Texts adds columns that are aligned to the left, before any row is added. paint is their
// colour.
func (t *Table) Texts(paint string, heads ...string) { t.columns(false, paint, heads) }

// Numbers adds columns that are aligned to the right.
func (t *Table) Numbers(paint string, heads ...string) { t.columns(true, paint, heads) }

func (t *Table) columns(right bool, paint string, heads []string) {
	for _, head := range heads {
		t.heads, t.right, t.paints = append(t.heads, head), append(t.right, right), append(t.paints, paint)
	}
}

// Row adds a row. Cells show text of other programs, so they are cleaned.
func (t *Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = safetext.Strip(cell)
	}
	t.rows = append(t.rows, cells)
}

// Cell is a text with the head and the colour of its column.
type Cell struct {
	paint, head, text string
	right             bool
}

// Text returns a cell that is aligned to the left.
func Text(paint, head, text string) Cell { return Cell{paint: paint, head: head, text: text} }

// Number returns a cell that is aligned to the right.
func Number(paint, head, text string) Cell {
	return Cell{paint: paint, head: head, text: text, right: true}
}

// Cells adds a row whose cells bring their columns: those of the first row are the table's.
func (t *Table) Cells(cells ...Cell) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = c.text; len(t.rows) == 0 {
			t.columns(c.right, c.paint, []string{c.head})
		}
	}
	t.Row(row...)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Print writes the table; with colour if the output shows it.
func (t *Table) Print(w io.Writer, colour bool) {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.line(w, widths, t.heads, func(int) string { return Bold }, colour)
	for _, row := range t.rows {
		t.line(w, widths, row, func(i int) string { return t.paints[i] }, colour)
	}
}

func (t *Table) line(w io.Writer, widths []int, row []string, paint func(int) string, colour bool) {
	var line strings.Builder
	begins := 0
	for i, cell := range row {
		if t.Screen > 0 {
			room := t.Screen - begins
			if room < 1 || t.right[i] && room < widths[i] { // half a number is another one
				break
			}
			cell = Clip(cell, room)
			begins += widths[i] + len("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if p := paint(i); colour && p != "" {
			cell = p + cell + Reset
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

// Paint colours a text where colours are shown.
func Paint(colour, text string, on bool) string {
	if !on || text == "" {
		return text
	}
	return colour + text + Reset
}

// Clip cuts a text to a number of letters.
func Clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// First returns the first n rows, or all of them for 0.
func First[T any](rows []T, n int) []T {
	if n > 0 && len(rows) > n {
		return rows[:n]
	}
	return rows
}

// Prefix writes a single address bare, as people do.
func Prefix(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
