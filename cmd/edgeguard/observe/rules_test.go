package observe

import (
	"testing"

	"edgeguard/admin"
)

// Near is from 80 % of the limit up to it, by buckets that may lie on both sides.
func TestNear(t *testing.T) {
	counts := []admin.Bucket{{Low: 1, High: 1, Keys: 1000}, {Low: 79, High: 79, Keys: 100}, {Low: 80, High: 81, Keys: 20}, {Low: 100, High: 101, Keys: 5}, {Low: 200, High: 203, Keys: 2}}
	for _, c := range []struct {
		limit      uint32
		over, want uint64
	}{
		{100, 2, 25}, // of those at 100 and 101, none is over
		{100, 7, 20},
		{102, 2, 5}, // 81 is 79.4 %
		{1000, 0, 0},
		{1, 1127, 0},
		{100, 9999, 0}, // the two looks were at different times
	} {
		if got := near(counts, c.limit, c.over); got != c.want {
			t.Errorf("limit %d, %d over: %d, want %d", c.limit, c.over, got, c.want)
		}
	}
}
