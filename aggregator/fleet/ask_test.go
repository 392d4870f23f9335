package fleet

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

// TestAsks: immediately after a join, each minute, five times, and never after none
// was lacking.
func TestAsks(t *testing.T) {
	asked := func(a *MACAsks, from, to int, lacking func(second int) int) (at []int) {
		for s := from; s < to; s += 2 {
			if a.AskDue(start.Add(time.Duration(s)*time.Second), lacking(s)) {
				at = append(at, s)
			}
		}
		return at
	}
	some := func(int) int { return 1 }
	for what, test := range map[string]struct {
		lacking func(int) int
		want    []int
	}{
		"always lacking": {some, []int{0, 60, 120, 180, 240}},
		"none":           {func(int) int { return 0 }, nil},
		"repaired":       {func(s int) int { return max(0, 100-s) }, []int{0, 60}},
		"repaired, and unsigned ones later": {func(s int) int {
			if s == 10 {
				return 0
			}
			return 1
		}, []int{0}},
	} {
		a := &MACAsks{}
		a.Joined()
		if got := asked(a, 0, 1000, test.lacking); !slices.Equal(got, test.want) {
			t.Errorf("%s: asks at %v, want %v", what, got, test.want)
		}
	}
	a := &MACAsks{}
	if got := asked(a, 0, 1000, some); got != nil {
		t.Errorf("before a join: asks at %v", got)
	}
	var got []int
	for s := range 100 { // a connection that flaps
		a.Joined()
		got = append(got, asked(a, 2*s, 2*s+2, some)...)
	}
	if want := []int{0, 60, 120, 180}; !slices.Equal(got, want) {
		t.Errorf("with 100 joins: asks at %v, want %v", got, want)
	}
}

// TestLot: three of all nodes, spread over ten seconds.
func TestLot(t *testing.T) {
	for _, test := range []struct {
		nodes int
		draw  float64
		wait  time.Duration
		drawn bool
	}{
		{0, 0.5, 5 * time.Second, true},
		{1, 0.999, 9990 * time.Millisecond, true},
		{3, 0.5, 5 * time.Second, true},
		{6, 0, 0, true},
		{6, 0.25, 5 * time.Second, true},
		{6, 0.499, 9980 * time.Millisecond, true},
		{6, 0.5, 0, false},
		{1000, 0.0015, 5 * time.Second, true},
		{1000, 0.003, 0, false},
		{1000, 0.9, 0, false},
	} {
		wait, drawn := lot(test.nodes, test.draw)
		if drawn != test.drawn || drawn && (wait-test.wait).Abs() > time.Microsecond {
			t.Errorf("%d nodes, %v: %v, %v", test.nodes, test.draw, wait, drawn)
		}
	}
}

// TestAnswers: one answer to a question, after the wait; none to what was there
// before the join, nor to the node's own.
func TestAnswers(t *testing.T) {
	a := &MACAnswers{}
	due := func(second int, question int64, draw float64) bool {
		return a.AnswerDue(start.Add(time.Duration(second)*time.Second), question, 3, draw)
	}
	a.NoteAnswered(7)
	for i, step := range []struct {
		second   int
		question int64
		draw     float64
		want     bool
	}{
		{0, 7, 0, false},    // from before the join
		{2, 8, 0.45, false}, // 4.5 s
		{4, 8, 0, false},
		{6, 8, 0, false},
		{8, 8, 0, true},
		{10, 8, 0, false},
		{12, 9, 0, false}, // within a minute of the answer
		{66, 9, 0, false},
		{68, 9, 0, true},
		{200, 0, 0, true}, // Redis was emptied, or somebody wrote a lower number
	} {
		if got := due(step.second, step.question, step.draw); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
	a.NoteAnswered(10)
	if due(400, 10, 0) {
		t.Error("it answers itself")
	}
}

// TestConstantQuestions: whoever asks with each heartbeat for an hour costs a
// node one full read a minute at most, and a large fleet three.
func TestConstantQuestions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, nodes := range []int{1, 3, 300} {
		all := 0
		for range nodes {
			a, last := &MACAnswers{}, start.Add(-time.Hour)
			for s := 0; s < 3600; s += 2 {
				now := start.Add(time.Duration(s) * time.Second)
				if !a.AnswerDue(now, int64(s+1), nodes, r.Float64()) {
					continue
				}
				if now.Sub(last) < time.Minute {
					t.Fatalf("%d nodes: two full reads within %v", nodes, now.Sub(last))
				}
				last = now
				all++
			}
		}
		if most := 60 * min(nodes, 4); all > most || all < 60*min(nodes, 2)*2/3 {
			t.Errorf("%d nodes: %d full reads in an hour", nodes, all)
		}
	}
}
