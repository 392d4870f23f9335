package draw

import (
	"testing"

	"edgeguard/internal/words"
)

// Labels of limits do not lie on each other: the limit's own stays.
func TestLabelsHaveRoom(t *testing.T) {
	at := func(v float64) float64 { return 300 - v }
	labels := ""
	for _, l := range newLevels([]Limit{{100, "limit", "limit", 13, false}, {110, "threshold", "threshold", -4, true}, {105, "candidate", "candidate", -4, true}, {112, "candidate", "candidate", -4, true}, {200, "candidate", "candidate", -4, true}}, words.Measure{Each: 4}, at) {
		labels += l.Label + "; "
	}
	if labels != "limit 25; threshold 110, each counts 4; ; ; candidate 200, each counts 4; " {
		t.Error(labels)
	}
}

// A limit that is small beside the count has its label above its line: below is the axis.
func TestLabelsAreNotOnTheAxis(t *testing.T) {
	slots := make([]uint16, 60)
	slots[5] = 60_000
	c := NewChart(slots, 300, words.Measure{Each: 4, One: "attempt", Many: "attempts"}, []Limit{{29, "limit", "limit", 13, false}, {30, "threshold", "threshold", -4, true}})
	if c.Levels[0].LabelY != "267.9" || c.Levels[1].Label != "" || c.Left[1].Label != "5,000" || c.Label != "60 slots of 5 seconds that add up to 15,000 attempts" {
		t.Errorf("%+v, %+v, %s", c.Levels, c.Left, c.Label)
	}
}

// Each slot that counted something has a bar, the highest as high as the drawing and
// the least still to be seen.
func TestSpark(t *testing.T) {
	slots := make([]uint16, 60)
	slots[0], slots[2], slots[59] = 1, 600, 300
	s := NewSpark(slots, 300)
	if want := "M0.0 22.0v-1.0h1.6V22.0zM4.0 22.0v-22.0h1.6V22.0zM118.0 22.0v-11.0h1.6V22.0z"; s.Path != want || s.Label != "the last 5 minutes" || s.Most != 600 || s.Slot != 5 {
		t.Errorf("%+v", s)
	}
	if s := NewSpark(nil, 300); s.Path != "" {
		t.Errorf("%+v without slots", s)
	}
}

// Columns stand on each other, a series without a figure has none, and a line ends where nothing is
// known.
func TestStack(t *testing.T) {
	s := NewStack(3, 200)
	if got, want := s.Columns([]float64{100, 0, 50}), "M0.1 1000v-500h.8v500zM2.1 1000v-250h.8v250z"; got != want {
		t.Errorf("below %s", got)
	}
	if got, want := s.Columns([]float64{20, 0, 150}), "M0.1 500v-100h.8v100zM2.1 750v-750h.8v750z"; got != want {
		t.Errorf("above %s", got)
	}
	if got, want := s.Steps([]float64{200, 100, 9, 0}, func(i int) bool { return i != 2 }), "M0 0H1V500H2M3 1000H4"; got != want {
		t.Errorf("line %s", got)
	}
}
