package console

import (
	"bytes"
	"strings"
	"testing"
)

// Each column of blocks has a cell in a row.
func TestColumnsHaveCells(t *testing.T) {
	var page bytes.Buffer
	shown := blockTable{Heads: plainHeads(), Rows: []blockRow{{Prefix: "203.0.113.9"}}}
	if err := newLayout(nil, assetFiles{}).templates["blocked.html"].ExecuteTemplate(&page, "rows", shown); err != nil {
		t.Fatal(err)
	}
	if heads, cells := strings.Count(page.String(), "<th "), strings.Count(page.String(), "<td "); heads != len(blockColumns) || cells != heads {
		t.Errorf("%d columns have %d heads and %d cells:\n%s", len(blockColumns), heads, cells, &page)
	}
}
