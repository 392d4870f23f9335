package main

import (
	"regexp"
	"testing"
)

const root = "../.."

func TestLimits(t *testing.T) {
	h, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.check(); err != nil {
		t.Error(err)
	}
}

// The page shows the house as it is: its rooms, arrows and reasons. Its figures
// may be those of an earlier day, or every change of a line would fail here.
func TestPage(t *testing.T) {
	h, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _, err := split(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	figures := regexp.MustCompile(`[0-9][0-9,]*`)
	shape := func(table string) string { return figures.ReplaceAllString(table, "N") }
	if got, want := shape(table), shape(h.table()); got != want {
		t.Errorf("docs/architecture.md shows another house. Write it again: go run ./internal/house -write docs/architecture.md\ngot:\n%s\nwant:\n%s", got, want)
	}
}

func TestQuantile(t *testing.T) {
	values := []int{5, 1, 4, 2, 3}
	for p, want := range map[float64]int{0: 1, .5: 3, 1: 5} {
		if got := quantile(values, p); got != want {
			t.Errorf("quantile(%v, %v) = %d, want %d", values, p, got, want)
		}
	}
}
