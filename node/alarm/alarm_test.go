package alarm

import (
	"fmt"
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
