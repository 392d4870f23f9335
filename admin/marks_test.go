package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/eventlog"
)

// alarmed is a view with a log in which alarms begin and end, minutes before noon.
func alarmed(t *testing.T) *View {
	t.Helper()
	e := NewEvents("edge-1", eventlog.New(eventlog.Config{}), nil)
	ago := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	e.Alarm(edgeguard.Alarm{Time: ago(3000), Kind: "disk", Lasts: true, Text: "too long ago"})
	e.Alarm(edgeguard.Alarm{Time: ago(400), Kind: "log", About: "a", Lasts: true, Text: "of the last run"})
	e.State(ago(300), StateStarting, "the node was started")
	e.Alarm(edgeguard.Alarm{Time: ago(200), Kind: "log", About: "a", Lasts: true, Text: "a is away"})
	e.Alarm(edgeguard.Alarm{Time: ago(199), Kind: "log", About: "a", Lasts: true, Again: true, Same: true, Text: "a is away"})
	e.Alarm(edgeguard.Alarm{Time: ago(198), Kind: "log", About: "b", Lasts: true, Text: "b is away"})
	e.Alarm(edgeguard.Alarm{Time: ago(150), Kind: "log", About: "a", Lasts: true, Over: true, Text: "a is away"})
	e.Alarm(edgeguard.Alarm{Time: ago(90), Kind: "wide", About: "rule", Text: "many"})
	e.Alarm(edgeguard.Alarm{Time: ago(80), Kind: "log", About: "b", Lasts: true, Again: true, Text: "b is gone"})
	e.Change(Audit{Time: ago(30), Who: "127.0.0.1:1", User: "anna", Action: "threshold", Target: "login", Detail: "40 → 50", Result: "ok"})
	e.Change(Audit{Time: ago(29), Who: "x", Action: "threshold", Target: "login", Detail: "50 → 0", Result: "refused"})
	e.Change(Audit{Time: ago(28), Who: "x", Action: "block", Target: "203.0.113.1", Result: "ok"})
	day := minutesBefore(noon, 100, "login", 121, 40, 20)
	day[1].Blocks, day[2].Blocks = 9, 10
	return NewView(&watching{day: day}, e)
}

// An alarm is in force from when it began until it recovered, or the node was started again.
func TestAlarmsInForce(t *testing.T) {
	v := alarmed(t)
	for _, c := range []struct {
		from, until int
		want        string
	}{
		{60, 0, "log b 08:42– b is gone; "},
		{170, 120, "log a 08:40–09:30 a is away; log b 08:42– b is away; "},
		{100, 85, "log b 08:42– b is away; wide rule 10:30–10:30 many; "},
		{360, 310, "log a 05:20– of the last run; "},
		{360, 290, "log a 05:20–07:00 of the last run; "},
		{290, 210, ""},
	} {
		got := ""
		for _, a := range v.AlarmsIn(t.Context(), noon.Add(-time.Duration(c.from)*time.Minute), noon.Add(-time.Duration(c.until)*time.Minute)) {
			ended := ""
			if !a.Ended.IsZero() {
				ended = a.Ended.Format("15:04")
			}
			got += fmt.Sprintf("%s %s %s–%s %s; ", a.Kind, a.About, a.Began.Format("15:04"), ended, a.Text)
		}
		if got != c.want {
			t.Errorf("%d to %d minutes ago: %q, want %q", c.from, c.until, got, c.want)
		}
	}
}

// A span has marks where ten or more blocks were made in a minute, an alarm began, or a threshold
// was changed; a guest sees no change.
func TestMarks(t *testing.T) {
	v := alarmed(t)
	told := func(v *View, minutes int) (all string) {
		for _, m := range v.Hours(t.Context(), noon.Add(-time.Duration(minutes)*time.Minute), noon).Marks {
			all += m.Time.Format("15:04 ") + m.Kind + " " + m.Text + "\n"
		}
		return all
	}
	if got, want := told(v, 60), "11:30 threshold threshold of login by anna: 40 → 50\n11:40 blocks 10 blocks were made or changed\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := told(v.ForGuests(), 60); strings.Contains(got, "anna") || !strings.Contains(got, "blocks") {
		t.Errorf("a guest: %s", got)
	}
	if got, want := told(v, 360), "08:40 alarm a is away\n08:42 alarm b is away\n10:30 alarm many\n11:30 threshold threshold of login by anna: 40 → 50\n11:40 blocks 10 blocks were made or changed\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// However much happened, marks are bounded.
func TestMarksAreBounded(t *testing.T) {
	var day []watch.DayMinute
	for i := range 1440 {
		day = append(day, watch.DayMinute{Begin: noon.Add(time.Duration(i-1440) * time.Minute), Blocks: 50})
	}
	v := NewView(&watching{day: day}, NewEvents("edge-1", eventlog.New(eventlog.Config{}), nil))
	if marks := v.Hours(t.Context(), noon.Add(-24*time.Hour), noon).Marks; len(marks) != mostMarks || !marks[mostMarks-1].Time.Equal(noon.Add(-time.Minute)) {
		t.Errorf("%d marks", len(marks))
	}
}
