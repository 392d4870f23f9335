package watch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A day has each minute that was measured, once, with the counts of all runs in it. What was
// not measured is missing, and what is older than a day goes.
func TestDay(t *testing.T) {
	var kept []DayMinute
	run := func(from, to int, perSecond uint64) *Rates {
		r := new(Rates)
		for _, m := range kept {
			r.RestoreMinute(m)
		}
		for s := from; s <= to; s++ {
			n := perSecond * uint64(s-from)
			r.Note(begin.Add(time.Duration(s)*time.Second), func() Counters {
				return Counters{Requests: n, Denied: n / 2, Rules: map[string]RuleCounters{"site": {Denied: n / 2}, "quiet": {}}}
			})
		}
		kept = r.KeptDay()
		return r
	}
	minute := func(at int, requests uint64) DayMinute {
		m := DayMinute{Begin: begin.Add(time.Duration(at) * time.Minute), Requests: requests, Denied: requests / 2}
		if requests > 0 {
			m.Rules = map[string]RuleCounters{"site": {Denied: requests / 2}}
		}
		return m
	}
	run(0, 150, 2)        // two minutes, and half of the third
	run(160, 180, 10)     // the rest of it
	r := run(600, 660, 4) // after a gap, a minute
	want := []DayMinute{minute(0, 120), minute(1, 120), minute(2, 60+200), minute(10, 240)}
	if diff := cmp.Diff(want, r.Day()); diff != "" {
		t.Error(diff)
	}
	r = run(86_400+60, 86_400+120, 2)
	if got := r.Day(); len(got) != 3 || got[0].Begin != want[2].Begin || got[2].Requests != 120 {
		t.Errorf("a day later: %+v", got)
	}
	for s := range 2 * 86_400 / 60 {
		r.RestoreMinute(minute(s, 1))
	}
	if n := len(r.Day()); n != 1440 {
		t.Errorf("%d minutes of a day", n)
	}
}

// A clock that was wrong by years for a while hides nothing of the day that follows.
func TestDayAfterAWrongClock(t *testing.T) {
	r, wrong := new(Rates), begin.AddDate(10, 0, 0)
	for n, from := range []time.Time{wrong, begin} {
		for s := range 121 {
			r.Note(from.Add(time.Duration(s)*time.Second), func() Counters { return Counters{Requests: uint64(121*n + s)} })
		}
	}
	if got := r.Day(); len(got) != 2 || !got[0].Begin.Equal(begin) || got[1].Requests != 60 {
		t.Errorf("%+v", got)
	}
}
