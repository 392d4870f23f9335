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

// A limit that is small beside the count has its label above its line: below is the axis.
func TestLabelsAreNotOnTheAxis(t *testing.T) {
	slots := make([]uint16, 60)
	slots[5] = 60_000
	c := NewChart(slots, 300, []Limit{{29, "limit", "limit", 13}, {30, "threshold", "threshold", -4}})
	if c.Levels[0].LabelY != "267.9" || c.Levels[1].Label != "" {
		t.Errorf("%+v", c.Levels)
	}
}

// Each slot that counted something has a bar, the highest as high as the drawing and
// the least still to be seen.
func TestSpark(t *testing.T) {
	slots := make([]uint16, 60)
	slots[0], slots[2], slots[59] = 1, 600, 300
	s := NewSpark(slots, 300)
	if want := "M0.0 22.0v-1.0h1.6V22.0zM4.0 22.0v-22.0h1.6V22.0zM118.0 22.0v-11.0h1.6V22.0z"; s.Path != want || s.Label != "the last 5 minutes, at most 600 in 5 s" {
		t.Errorf("%+v", s)
	}
	if s := NewSpark(nil, 300); s.Path != "" {
		t.Errorf("%+v without slots", s)
	}
}
