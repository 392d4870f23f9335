package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/detector"
	"edgeguard/internal/fulltest"
)

// TestPrice holds what a day of guessing gains by a scope that fails on purpose: no more than
// what a client may be spared, whoever arms it, and two limits: those of the lift with which that
// is used up, and of a block that begins later than it would have. The docs have its table.
func TestPrice(t *testing.T) {
	fulltest.Only(t)
	sets, err := named([]string{packaged})
	if err != nil {
		t.Fatal(err)
	}
	limit := int(ruleOf(t, sets[0], "login/failed").Limit) / guessCosts
	var table bytes.Buffer
	if err := printPrice(context.Background(), &table, sets[0]); err != nil {
		t.Fatal(err)
	}
	for i := range raids {
		alone, n := rowOf(t, table.String(), raids[i].name)
		if most := alone + (detector.SparedLimits+2)*limit; n > most {
			t.Errorf("%s: %d guesses are let in, want at most %d", raids[i].name, n, most)
		}
		if i == 0 && n <= alone {
			t.Errorf("%s: %d guesses are let in: nothing is gained, and nothing tested", raids[i].name, n)
		}
	}
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "detection.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), table.String()) {
		t.Errorf("docs/detection.md does not have what `go run ./loadtest/detection -guard` prints:\n%s", &table)
	}
}

// rowOf returns the two numbers of a table's row.
func rowOf(t *testing.T, table, name string) (alone, with int) {
	t.Helper()
	_, row, _ := strings.Cut(table, "| "+name+" | ")
	if _, err := fmt.Sscanf(row, "%d | %d |", &alone, &with); err != nil {
		t.Fatalf("%s: %v in\n%s", name, err, table)
	}
	return alone, with
}
