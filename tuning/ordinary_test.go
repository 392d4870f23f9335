package tuning

import (
	"testing"
	"time"

	"edgeguard/rules"
)

var crowd = Meter{Fingerprint: "crowd", Window: 15 * time.Minute}

// day0 is midnight.
var day0 = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// noteDays notes a day each, of so many windows, one of which counts most.
func noteDays(h *History, from int, windows int, most ...uint32) {
	for i, n := range most {
		for w := range windows {
			h.NoteDay(day0.AddDate(0, 0, from+i).Add(time.Duration(w)*crowd.Window), crowd, min(n, uint32(w)*n))
		}
	}
}

func ordinaryAfter(h *History, days int) Ordinary { return h.Ordinary(day0.AddDate(0, 0, days), crowd) }

func TestOrdinaryNeedsSevenDays(t *testing.T) {
	h := &History{}
	noteDays(h, 0, 96, 30, 30, 30, 33, 30, 30)
	if o := ordinaryAfter(h, 6); o != (Ordinary{Days: 6, Usual: 30}) {
		t.Errorf("after six days %+v", o)
	}
	noteDays(h, 6, 47, 30)
	if o := ordinaryAfter(h, 7); o.Days != 6 || o.Threshold != 0 {
		t.Errorf("a day of which less than half was seen counts: %+v", o)
	}
	noteDays(h, 7, 48, 30)
	if o := ordinaryAfter(h, 7); o.Days != 6 {
		t.Errorf("the day under way counts: %+v", o)
	}
	if o := ordinaryAfter(h, 8); o != (Ordinary{Days: 7, Usual: 30, Threshold: 120}) {
		t.Errorf("after seven days %+v", o)
	}
}

// Who attacks on three days of the first seven changes nothing, and who attacks on all of the next ones raises
// the threshold fourfold in half a month at most, until it is none.
func TestOrdinaryAttacked(t *testing.T) {
	h := &History{}
	noteDays(h, 0, 96, 401, 30, 401, 8, 30, 401, 30)
	if o := ordinaryAfter(h, 7); o.Usual != 30 || o.Threshold != 120 {
		t.Errorf("three days of seven: %+v", o)
	}
	h = &History{}
	noteDays(h, 0, 96, 2, 2, 2, 2, 2, 2, 2)
	last, raised := uint32(leastLearned), 0
	for day := 7; day < 70; day++ {
		noteDays(h, day, 96, rules.MaxDistinct+1)
		o := ordinaryAfter(h, day+1)
		if o.Usual > last {
			t.Fatalf("day %d: an attack that was told counts as ordinary: %+v", day, o)
		}
		if o.Threshold != last {
			if o.Threshold > ordinaryTimes*last || o.Threshold != 0 && day-raised < 7 {
				t.Errorf("day %d, %d after the last: %d after %d", day, day-raised, o.Threshold, last)
			}
			if o.Threshold == 0 {
				return
			}
			last, raised = o.Threshold, day
		}
	}
	t.Errorf("an attack of two months is learned nowhere: %d", last)
}

// A count that is ordinary and has no room below what can be counted has no threshold.
func TestLearnedFrom(t *testing.T) {
	for usual, want := range map[uint32]uint32{0: 100, 25: 100, 26: 104, 100: 400, 101: 0, 401: 0} {
		if got := LearnedFrom(usual); got != want {
			t.Errorf("%d: %d, want %d", usual, got, want)
		}
	}
}

// What is kept has bounds: of days, of meters, and where the clock went back.
func TestOrdinaryBounds(t *testing.T) {
	h := &History{}
	for day := range 100 {
		noteDays(h, day, 96, uint32(day))
	}
	if o := ordinaryAfter(h, 100); o.Days != ordinaryDays {
		t.Errorf("%d days are kept", o.Days)
	}
	noteDays(h, 90, 96, 1) // the clock was set back
	if o := ordinaryAfter(h, 91); o.Days > 20 {
		t.Errorf("days that have not come yet count: %+v", o)
	}
	for i := range 3 * MaxMeters {
		h.NoteDay(day0, Meter{Fingerprint: string(rune('a' + i)), Window: time.Minute}, 1)
	}
	n := 0
	for range h.AllDays() {
		n++
	}
	if n > MaxMeters {
		t.Errorf("%d meters are kept", n)
	}
	again := &History{}
	again.RestoreDays(crowd, []Day{{Number: 2}, {Number: 1}})
	again.RestoreDays(crowd, make([]Day, 1000))
	if o := again.Ordinary(day0, crowd); o.Days != 0 {
		t.Errorf("what no history wrote was restored: %+v", o)
	}
}

// A log of many days speaks as a node's days do: one that was attacked does not count, and one on which nothing
// was counted does.
func TestSuggestLearned(t *testing.T) {
	c := Config{Most: rules.MaxDistinct}
	same := func(n uint32) uint32 { return n }
	tally := NewTally(c)
	if s := tally.SuggestLearned(same); s.Threshold != 0 {
		t.Errorf("of nothing: %+v", s)
	}
	for day, n := range []uint32{30, 20, 0, 30, 223, 0, 41} {
		for i := range n {
			tally.Event(i + 1)
			tally.NoteDay(day0.AddDate(0, 0, 6-day), i+1) // not in the order of their times
		}
	}
	if s := tally.SuggestLearned(same); s.Threshold != 120 || s.Limit != 120 {
		t.Errorf("%+v", s)
	}
	tally.NoteDay(day0.AddDate(-50, 0, 0), 5)
	if s := tally.SuggestLearned(same); s.Threshold != 100 {
		t.Errorf("most of the last month is silent: %+v", s)
	}
	tally = NewTally(c)
	if tally.NoteDay(day0, 190); tally.SuggestLearned(same).Threshold != 0 {
		t.Error("a limit over what can be counted")
	}
	for i := range 2 * mostDays {
		tally.NoteDay(day0.AddDate(0, 0, -i), 1)
	}
	if len(tally.Days) != mostDays {
		t.Errorf("%d days are kept", len(tally.Days))
	}
}
