package console

import (
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// The sentence names how many nodes counted, of the block's own evidence alone.
func TestMadeBy(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 5, 0, 0, time.UTC)
	since := now.Add(-29 * time.Second)
	e := &admin.Explanation{Time: now}
	b := admin.Block{Origin: "edge-1", Since: since}
	two := []admin.NodeCount{{Node: "edge-1", Count: 1000}, {Node: "edge-2", Count: 901}}
	for text, found := range map[string]*admin.Evidence{
		". edge-1 made the block at 12:04:31.":                                      nil,
		". Two nodes counted them together; edge-1 made the block at 12:04:31.":     {Fleet: true, Since: since, Split: two},
		". Several nodes counted them together; edge-1 made the block at 12:04:31.": {Fleet: true, Since: since},
		". edge-2 counted them; edge-1 made the block at 12:04:31.":                 {Fleet: true, Since: since, Split: two[1:]},
	} {
		if got := madeBy(&b, found, e); got.Text != text {
			t.Errorf("%q, want %q", got.Text, text)
		}
	}
	for name, found := range map[string]*admin.Evidence{"this node's count": {Since: since}, "another block": {Fleet: true, Since: since.Add(-time.Hour), Split: two}} {
		if got := madeBy(&b, found, e); got.Text != ". edge-1 made the block at 12:04:31." {
			t.Errorf("%s: %q", name, got.Text)
		}
	}
}

func TestCounted(t *testing.T) {
	slots := make([]uint16, 60)
	slots[3], slots[59] = 700, 97
	found := admin.Evidence{Origin: "edge-1", Count: 1901, Limit: 1900, Slots: slots, Unit: words.Measure{Each: 2, One: "attempt", Many: "attempts"}}
	for text, c := range map[string]struct {
		fleet bool
		nodes int
	}{
		"950.5 attempts, and the limit is 950. edge-1 counted all of them.":                                                   {false, 0},
		"950.5 attempts, and the limit is 950. edge-1 counted 398.5 of them, which are drawn here, and other nodes the rest.": {true, 0},
		"950.5 attempts, and the limit is 950. Four nodes counted them together. Drawn here are the 398.5 of edge-1.":         {true, 4},
		"950.5 attempts, and the limit is 950. 16 nodes or more counted them together. Drawn here are the 398.5 of edge-1.":   {true, 16},
	} {
		found.Fleet, found.Split = c.fleet, make([]admin.NodeCount, c.nodes)
		if got := counted(&found); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}
