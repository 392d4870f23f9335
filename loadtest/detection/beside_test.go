package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/fulltest"
)

// TestBeside holds that who has one part of the site fail on purpose keeps no outage of another
// from being seen. The docs have its table.
func TestBeside(t *testing.T) {
	fulltest.Only(t)
	sets, err := named([]string{packaged})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := printBeside(context.Background(), &table, sets[0]); err != nil {
		t.Fatal(err)
	}
	for _, b := range besides {
		if _, n := rowOf(t, table.String(), b.name); b.own != nil && n*100 > besideHomes {
			t.Errorf("%s: %d of %d homes are blocked", b.name, n, besideHomes)
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
