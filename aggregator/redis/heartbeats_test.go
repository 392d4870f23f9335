package redis

import (
	"edgeguard/aggregator"
	"slices"
	"testing"
	"time"
)

// TestDuplicateNames: two runs of one name are duplicates while both are alive,
// and have been for longer than a restart takes.
func TestDuplicateNames(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	beat := func(node, boot string, started, at time.Duration) aggregator.Heartbeat {
		return aggregator.Heartbeat{Node: node, Boot: boot, Started: now.Add(-started), At: now.Add(-at)}
	}
	long := beat("a", "1", time.Hour, time.Second)
	for _, test := range []struct {
		name       string
		beats      []aggregator.Heartbeat
		alive      int
		duplicates []string
	}{
		{"alone", []aggregator.Heartbeat{long}, 1, nil},
		{"two names", []aggregator.Heartbeat{long, beat("b", "2", time.Hour, 0)}, 2, nil},
		{"two of one name", []aggregator.Heartbeat{long, beat("a", "2", time.Minute, 0)}, 2, []string{"a"}},
		{"one that is gone", []aggregator.Heartbeat{long, beat("a", "2", time.Minute, fresh)}, 1, nil},
		{"one from the future", []aggregator.Heartbeat{long, beat("a", "2", time.Minute, -fresh)}, 1, nil},
		{"one that has just started", []aggregator.Heartbeat{long, beat("a", "2", 2*time.Second, 0)}, 2, nil},
		{"one that ended as the other started", []aggregator.Heartbeat{beat("a", "1", time.Hour, 7*time.Second), beat("a", "2", 8*time.Second, 0)}, 2, nil},
	} {
		s := fleetState{now: now, nodes: test.beats}
		if n := len(s.alive()); n != test.alive {
			t.Errorf("%s: %d alive, not %d", test.name, n, test.alive)
		}
		if duplicates := s.duplicateNames(); !slices.Equal(duplicates, test.duplicates) {
			t.Errorf("%s: duplicates %q, not %q", test.name, duplicates, test.duplicates)
		}
	}
}
