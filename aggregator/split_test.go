package aggregator

import (
	"slices"
	"strings"
	"testing"

	"edgeguard/internal/words"
)

// TestSplitReason holds the words, the order and the bound.
func TestSplitReason(t *testing.T) {
	for _, test := range []struct {
		want  string
		parts []NodeCount
	}{
		{"", nil},
		{": a 5", []NodeCount{{"a", 5}}},
		{": b 9, a 5, c 5, d 1", []NodeCount{{"a", 5}, {"b", 9}, {"d", 1}, {"c", 5}}},
		{": b 9, a 5, c 5, 2 more 3", []NodeCount{{"a", 5}, {"b", 9}, {"d", 1}, {"c", 5}, {"e", 2}}},
	} {
		if got := SplitReason(test.parts, words.Measure{}); got != overInFleet+test.want {
			t.Errorf("%q, not %q", got, overInFleet+test.want)
		}
	}
	if got := SplitReason([]NodeCount{{"a", 50}, {"b", 34}}, words.Measure{Each: 4, One: "attempt", Many: "attempts"}); got != overInFleet+": a 12.5, b 8.5" {
		t.Error(got)
	}
	long := strings.Repeat("n", 255)
	var many []NodeCount
	for i := range 9 {
		many = append(many, NodeCount{long, uint32(1<<32 - 1 - i)})
	}
	if got := SplitReason(many, words.Measure{}); len(got) > 255 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestSumByNode: the runs of a node are one line of a split.
func TestSumByNode(t *testing.T) {
	got := SumByNode([]NodeCount{{"edge-b", 5}, {"edge-a", 4}, {"edge-b", 1}, {"edge-c", 7}, {"edge-a", 3}})
	if want := []NodeCount{{"edge-a", 7}, {"edge-c", 7}, {"edge-b", 6}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
