package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard/admin/watch"
)

// What a node says of its hour is what others read: each minute that was measured, with the rules
// that refused most.
func TestHourOfAnotherNode(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 30, 0, time.UTC)
	minute := func(ago int, rules map[string]watch.RuleCounters) watch.DayMinute {
		m := watch.DayMinute{Begin: now.Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Requests: uint64(100 * ago), Denied: 70, Rules: rules}
		return m
	}
	many := make(map[string]watch.RuleCounters)
	for i := range 10 {
		many[fmt.Sprint("r", i)] = watch.RuleCounters{Denied: uint64(i), Blocks: 1}
	}
	day := []watch.DayMinute{minute(61, nil), minute(60, nil), minute(5, many), minute(1, map[string]watch.RuleCounters{"r9": {Denied: 3}, "r0": {Blocks: 3}})}
	want := []watch.DayMinute{minute(60, nil), minute(5, nil), minute(1, nil)}
	for i := range want {
		want[i].Monitor, want[i].Rules = true, map[string]watch.RuleCounters{}
	}
	for i := 2; i < 10; i++ {
		want[1].Rules[fmt.Sprint("r", i)] = watch.RuleCounters{Denied: uint64(i)}
	}
	want[2].Rules["r9"] = watch.RuleCounters{Denied: 3}
	if diff := cmp.Diff(want, minutesOf(hourOf(day, now), true)); diff != "" {
		t.Error(diff)
	}
	if minutesOf(nil, false) != nil || len(minutesOf(hourOf(nil, now), false)) != 0 {
		t.Error("a node that has not said its hour, or has measured nothing, has no minute")
	}
}
