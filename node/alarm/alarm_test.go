package alarm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

func TestAlarmsRepeatOnceAMinute(t *testing.T) {
	var heard []edgeguard.Alarm
	a := New(func(alarm edgeguard.Alarm) { heard = append(heard, alarm) }, nil)
	now := time.Unix(1_800_000_000, 0)
	for second := range 180 {
		a.Begins(now.Add(time.Duration(second)*time.Second), "log", "x", "cannot be read")
	}
	if len(heard) != 3 {
		t.Errorf("heard %d times in three minutes, want 3", len(heard))
	}
	a.Happened(now, "log", "y", "another log")
	if len(heard) != 4 || len(a.Lasting()) != 1 {
		t.Errorf("heard %d, lasting %v; want 4 and one", len(heard), a.Lasting())
	}
	if a.Ends("log", "y") || !a.Ends("log", "x") || a.Ends("log", "x") {
		t.Error("only what lasts can end, and once")
	}
	a.Begins(now, "log", "x", "again")
	if len(heard) != 5 {
		t.Error("what ended and began again was not reported")
	}
}

// A state that comes and goes many times is reported once a minute, and its end
// only where its beginning was.
func TestAlarmsThatComeAndGo(t *testing.T) {
	var reports, ends int
	a := New(func(edgeguard.Alarm) { reports++ }, func(string, string) { ends++ })
	start := time.Unix(1_800_000_000, 0)
	at := func(after time.Duration) time.Time { return start.Add(after) }
	for i := range 50 {
		a.Begins(at(time.Duration(i)*time.Second), "fleet", "redis", "cut off")
		if len(a.Lasting()) != 1 {
			t.Fatalf("at %d s: %v is active", i, a.Lasting())
		}
		a.Recovers("fleet", "redis")
		a.Again(at(time.Duration(i) * time.Second))
		if len(a.Lasting()) != 0 {
			t.Fatalf("at %d s: %v is active", i, a.Lasting())
		}
	}
	if reports != 1 || ends != 1 {
		t.Errorf("%d reports and %d ends in 50 s, want one each", reports, ends)
	}
	a.Begins(at(55*time.Second), "fleet", "redis", "cut off") // and it lasts
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{59 * time.Second, 1}, {60 * time.Second, 2}, {61 * time.Second, 2}, {10 * time.Minute, 2}} {
		if a.Again(at(step.at)); reports != step.want {
			t.Errorf("after %v: %d reports, want %d", step.at, reports, step.want)
		}
	}
	if a.Recovers("fleet", "redis"); ends != 2 {
		t.Errorf("%d ends, want 2", ends)
	}
	a.Again(at(12 * time.Minute))
	if len(a.raised) != 0 {
		t.Errorf("after its minute it is still remembered: %v", a.raised)
	}
}

// An alarm whose text changes is reported again once the new text has lasted for
// five seconds, at most once in ten. Its figures may change.
func TestAlarmsWithAnotherText(t *testing.T) {
	var reports []string
	a := New(func(alarm edgeguard.Alarm) { reports = append(reports, alarm.Text) }, nil)
	start := time.Unix(1_800_000_000, 0)
	for second := range 40 {
		now := start.Add(time.Duration(second) * time.Second)
		switch {
		case second == 0:
			a.Begins(now, "fleet", "redis", "cannot be reached (port 4711)")
		case second >= 3 && second < 20: // raised at each try
			a.Begins(now, "fleet", "redis", fmt.Sprintf("no library (try %d)", second))
		case second == 25: // raised once
			a.Begins(now, "fleet", "redis", "wrong password")
		case second > 31: // two causes alternate
			a.Begins(now, "fleet", "redis", []string{"read only", "loading"}[second%2])
		}
		a.Again(now)
		want := 1
		if second >= 10 {
			want++
		}
		if second >= 30 {
			want++
		}
		if len(reports) != want {
			t.Fatalf("at %d s: reported %q, want %d texts", second, reports, want)
		}
	}
	if reports[1] != "no library (try 10)" || reports[2] != "wrong password" {
		t.Errorf("reported %q", reports)
	}
}

func TestAlarmsAreBounded(t *testing.T) {
	a := New(func(edgeguard.Alarm) {}, nil)
	now := time.Unix(1_800_000_000, 0)
	for i := range 10 * maxAlarms {
		a.Happened(now.Add(time.Duration(i)*time.Second), "kind", fmt.Sprint(i), "text")
	}
	if len(a.raised) > maxAlarms {
		t.Errorf("%d alarms are remembered, want %d at most", len(a.raised), maxAlarms)
	}
}

// Reported has what was reported: an alarm while it lasts, an event for a minute however
// often it happens, and nothing that began again within the minute of its last report.
func TestReported(t *testing.T) {
	a := New(func(edgeguard.Alarm) {}, func(string, string) {})
	start := time.Unix(1_800_000_000, 0)
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	names := func() (all string) {
		for _, c := range a.Reported() {
			all += fmt.Sprintf("%s %s %t since %d; ", c.Kind, c.Text, c.Event, int(c.Since.Sub(start).Seconds()))
		}
		return all
	}
	for i, step := range []struct {
		do   func(now time.Time)
		want string
	}{
		{func(now time.Time) { a.Begins(now, "log", "x", "closed") }, "log closed false since 0; "},
		{func(now time.Time) { a.Begins(now, "log", "x", "closed") }, "log closed false since 0; "},
		{func(time.Time) { a.Recovers("log", "x") }, ""},
		{func(now time.Time) { a.Begins(now, "log", "x", "again") }, ""},
		{func(time.Time) { a.Ends("log", "x") }, ""},
		{func(now time.Time) { a.Happened(now, "wide", "x", "one") }, "wide one true since 5; "},
		{func(now time.Time) { a.Happened(now, "wide", "x", "two") }, "wide one true since 5; "},
		{func(now time.Time) { a.Again(now.Add(2 * Every)) }, ""},
	} {
		now := at(i)
		step.do(now)
		if got := names(); got != step.want {
			t.Errorf("at %v: %q, want %q", now.Sub(start), got, step.want)
		}
	}
}

// One unusable folder is one alarm: what happens to a file in it is told while the folder's is over.
func TestOneCauseIsToldOnce(t *testing.T) {
	var told []string
	tracker := New(func(a edgeguard.Alarm) { told = append(told, a.Text) }, func(string, string) {})
	now := time.Unix(1_700_000_000, 0)
	tracker.Begins(now, State, "/var/lib/e", "the folder is away")
	tracker.Happened(now, Overlay, "/var/lib/e/overlay.yaml", "overlay /var/lib/e/overlay.yaml cannot be used")
	tracker.Happened(now, State, "x", "/var/lib/else/node.state cannot be used")
	tracker.Recovers(State, "/var/lib/e")
	tracker.Happened(now, Overlay, "/var/lib/e/overlay.yaml", "overlay /var/lib/e/overlay.yaml is damaged")
	if want := []string{"the folder is away", "/var/lib/else/node.state cannot be used", "overlay /var/lib/e/overlay.yaml is damaged"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

// An alarm that was told says when it is told again, and that it is over, however it ended.
func TestAlarmsTellTheirEnd(t *testing.T) {
	told := ""
	hear := func(a edgeguard.Alarm) {
		told += fmt.Sprintf("%s %v %v %v %v; ", a.About, a.Lasts, a.Again, a.Same, a.Over)
	}
	a := New(hear, func(string, string) {})
	a.Over = hear
	now := time.Unix(1_800_000_000, 0)
	a.Begins(now, "log", "x", "3 lines are lost")
	a.Begins(now.Add(time.Second), "log", "x", "4 lines are lost")
	a.Begins(now.Add(time.Minute), "log", "x", "5 lines are lost")
	a.Begins(now.Add(2*time.Minute), "log", "x", "it is gone")
	a.Ends("log", "x")
	a.Ends("log", "x")
	a.Happened(now, "log", "y", "it was moved")
	a.Recovers("log", "y")
	a.Begins(now, "log", "z", "away")
	a.Recovers("log", "z")
	a.Recovers("log", "z")
	a.Begins(now.Add(time.Second), "log", "z", "away") // within its minute: not told
	a.Ends("log", "z")
	if want := "x true false false false; x true true true false; x true true false false; x true false false true; y false false false false; z true false false false; z true false false true; "; told != want {
		t.Errorf("%s\nwant %s", told, want)
	}
}
