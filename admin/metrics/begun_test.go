package metrics

import "testing"

// Counters that can count are there before they do, and what was counted stays.
func TestBegun(t *testing.T) {
	got := begun(map[string]uint64{"manual": 3, "other": 1}, "manual", "fleet")
	if len(got) != 3 || got["manual"] != 3 || got["fleet"] != 0 || got["other"] != 1 {
		t.Errorf("%v", got)
	}
	if _, there := got["fleet"]; !there {
		t.Error("what has not come yet is missing")
	}
}
