package node

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"edgeguard"
)

func TestAlarmsRepeatOnceAMinute(t *testing.T) {
	var heard []edgeguard.Alarm
	a := newAlarms(slog.New(slog.DiscardHandler), func(alarm edgeguard.Alarm) { heard = append(heard, alarm) })
	now := time.Unix(1_800_000_000, 0)
	for second := range 180 {
		a.begins(now.Add(time.Duration(second)*time.Second), "log", "x", "cannot be read")
	}
	if len(heard) != 3 {
		t.Errorf("heard %d times in three minutes, want 3", len(heard))
	}
	a.happened(now, "log", "y", "another log")
	if len(heard) != 4 || len(a.lasting()) != 1 {
		t.Errorf("heard %d, lasting %v; want 4 and one", len(heard), a.lasting())
	}
	if a.ends("log", "y") || !a.ends("log", "x") || a.ends("log", "x") {
		t.Error("only what lasts can end, and once")
	}
	a.begins(now, "log", "x", "again")
	if len(heard) != 5 {
		t.Error("what ended and began again was not reported")
	}
}

func TestAlarmsAreBounded(t *testing.T) {
	a := newAlarms(slog.New(slog.DiscardHandler), func(edgeguard.Alarm) {})
	now := time.Unix(1_800_000_000, 0)
	for i := range 10 * maxAlarms {
		a.happened(now.Add(time.Duration(i)*time.Second), "kind", fmt.Sprint(i), "text")
	}
	if len(a.raised) > maxAlarms {
		t.Errorf("%d alarms are remembered, want %d at most", len(a.raised), maxAlarms)
	}
}
