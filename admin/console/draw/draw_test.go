package draw

import "testing"

// Labels of limits do not lie on each other: the limit's own stays.
func TestLabelsHaveRoom(t *testing.T) {
	at := func(v float64) float64 { return 300 - v }
	labels := ""
	for _, l := range newLevels([]Limit{{100, "limit", "limit", 13}, {110, "threshold", "threshold", -4}, {105, "candidate", "candidate", -4}, {112, "candidate", "candidate", -4}, {200, "candidate", "candidate", -4}}, at) {
		labels += l.Label + "; "
	}
	if labels != "limit 100; threshold 110; ; ; candidate 200; " {
		t.Error(labels)
	}
}
