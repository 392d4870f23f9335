package fleet

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"edgeguard/aggregator"
)

// whole is an answer that lists n nodes.
func whole(n int, now time.Duration, version int64) *State {
	s := &State{Now: at(now), Whole: true, Version: version}
	for i := range n {
		s.News = append(s.News, came(beat(fmt.Sprint("n", i), "1", now, 1)))
	}
	return s
}

// All nodes together read one whole list a second, however many they are, by
// chance; in between news are read from where the last ended.
func TestRhythm(t *testing.T) {
	for _, test := range []struct {
		nodes int
		draw  float64
		want  time.Duration
	}{
		{1, 0.5, 2 * time.Second},
		{3, 0, 1500 * time.Millisecond},
		{3, 1, 4500 * time.Millisecond},
		{1000, 0, 500 * time.Second},
		{1000, 1, 1500 * time.Second},
		{10, 0.5, 10 * time.Second},
	} {
		r := NewRoster("n0", "1", func() float64 { return test.draw })
		if r.Since(at(0)) != 0 {
			t.Error("the first list is not whole")
		}
		r.Apply(at(0), whole(test.nodes, 0, 7), parse)
		r.Apply(at(time.Second), &State{Now: at(time.Second), Version: 9}, parse)
		if got := r.Since(at(test.want - 1)); got != 9 || r.Version() != 9 {
			t.Errorf("%+v: since %d before the time has come, want 9", test, got)
		}
		if got := r.Since(at(test.want)); got != 0 {
			t.Errorf("%+v: since %d when the time has come, want 0", test, got)
		}
	}
}

// The whole list is read sooner after a join, for a clock that looks wrong, and
// where another run of this node came.
func TestWholeListSooner(t *testing.T) {
	fresh := func() *Roster {
		r := NewRoster("n0", "1", func() float64 { return 0.5 })
		r.Apply(at(0), whole(1000, 0, 7), parse)
		return r
	}
	due := func(what string, r *Roster, want time.Duration) {
		t.Helper()
		if r.Since(at(want-1)) == 0 || r.Since(at(want)) != 0 {
			t.Errorf("%s: the whole list is not due after %v", what, want)
		}
	}
	r := fresh()
	if r.Rejoin(); r.Since(at(0)) != 0 || r.Version() != 0 {
		t.Error("after a join the list is not whole")
	}
	r = fresh()
	r.ReadAllSoon()
	due("a clock that looks wrong", r, 30*time.Second)
	r = fresh()
	var left []News
	for i := range 996 {
		left = append(left, gone(beat(fmt.Sprint("n", i+4), "1", 0, 0)))
	}
	r.Apply(at(time.Second), &State{Now: at(time.Second), Version: 8, News: left[:600]}, parse)
	due("600 nodes that left", r, 800*time.Second)
	r.Apply(at(time.Second), &State{Now: at(time.Second), Version: 9, News: left}, parse)
	due("all nodes but 4 that left", r, 30*time.Second)
	r = fresh()
	r.Apply(at(time.Second), &State{Now: at(time.Second), Version: 8, News: []News{came(beat("n0", "2", time.Second, 1))}}, parse)
	due("another run of this node", r, 6*time.Second)
	r = fresh()
	r.Apply(at(time.Second), &State{Now: at(time.Second), Version: 8, News: []News{came(beat("n1", "2", time.Second, 1))}}, parse)
	due("another run of another node", r, 1000*time.Second)
}

// Of two answers that overtook each other the later one is in force.
func TestOvertaken(t *testing.T) {
	r := newRoster()
	r.Apply(at(0), whole(0, 0, 1), parse)
	r.Apply(at(0), &State{Now: at(0), Version: 6, News: []News{came(beat("b", "2", 0, 5))}}, parse)
	r.Apply(at(0), &State{Now: at(0), Version: 5, News: []News{gone(beat("b", "2", 0, 0))}}, parse)
	if got := shown(r); got != "b/2:5" || r.Version() != 6 {
		t.Errorf("%q at version %d", got, r.Version())
	}
	r.Apply(at(0), whole(0, 0, 2), parse) // an emptied Redis
	if got := shown(r); got != "" || r.Version() != 2 {
		t.Errorf("%q at version %d after the namespace was made again", got, r.Version())
	}
}

// An answer is parsed as it is, and anything else is an error.
func TestRosterParse(t *testing.T) {
	head := []any{int64(1_800_000_000), int64(250_000), int64(12), "0123", int64(1_799_999_999), "5-0", "1.2"}
	index := append(append([]any{}, head...), int64(42), int64(1), int64(1_800_000_001), int64(1), int64(0), int64(3), int64(9))
	want := State{
		Now: rosterStart.Add(250 * time.Millisecond), Changes: 12, Digest: "0123", Cutoff: 1_799_999_999, Tip: "5-0", Born: "1.2",
	}
	want.Version, want.Other, want.Before, want.More, want.Ask = 42, true, 1_800_000_001, true, 3
	want.News = []News{{"a/1", "x", true}, {"b/2", "", false}}
	got, err := ParseState(append(append([]any{}, index...), "a/1", int64(1), "x", "b/2", int64(0), ""))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range index {
		if _, err := ParseState(index[:n]); err == nil {
			t.Errorf("%d parts are an answer", n)
		}
	}
	for _, i := range []int{0, 1, 2, 4, 7, 8, 9, 10, 11, 12, 13} {
		bad := append([]any{}, index...)
		bad[i] = "x"
		if _, err := ParseState(bad); err == nil {
			t.Errorf("part %d may be no number", i)
		}
	}
	if _, err := ParseState(append(append([]any{}, index...), "a/1", int64(1))); err == nil {
		t.Error("a node without its value")
	}
}

func FuzzApply(f *testing.F) {
	h := beat("a", "1", 0, 1)
	f.Add(h.Field(), h.Encode(), true, true, int64(3))
	f.Fuzz(func(t *testing.T, field, value string, alive, whole bool, version int64) {
		r := newRoster()
		for range 2 {
			r.Apply(at(0), &State{Now: at(0), Whole: whole, Version: version, News: []News{{field, value, alive}}}, parse)
		}
		for _, h := range r.Alive() {
			if !alive || h.Field() != field || rosterStart.Sub(h.At).Abs() >= Fresh {
				t.Errorf("%+v is alive by %q", h, value)
			}
		}
		_ = Duplicates([]aggregator.Heartbeat{h, h})
	})
}
