package aggregator

import (
	"strings"
	"testing"
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
		if got := SplitReason(test.parts); got != overInFleet+test.want {
			t.Errorf("%q, not %q", got, overInFleet+test.want)
		}
	}
	long := strings.Repeat("n", 255)
	var many []NodeCount
	for i := range 9 {
		many = append(many, NodeCount{long, uint32(1<<32 - 1 - i)})
	}
	if got := SplitReason(many); len(got) > 255 {
		t.Errorf("%d bytes", len(got))
	}
}
