package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard/admin/watch"
	"edgeguard/aggregator"
)

// What a node says of its last hour, of hours by longer steps or of a time that has passed is what others
// read: each step of which a minute was measured, with the rules that refused most.
func TestSpansOfAnotherNode(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 3, 30, 0, time.UTC)
	minute := func(ago int, rules map[string]watch.RuleCounters) watch.DayMinute {
		return watch.DayMinute{Begin: now.Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Requests: uint64(100 * ago), Denied: 70, Rules: rules}
	}
	many := make(map[string]watch.RuleCounters)
	for i := range 10 {
		many[fmt.Sprint("r", i)] = watch.RuleCounters{Denied: uint64(i), Blocks: 1}
	}
	day := []watch.DayMinute{minute(61, nil), minute(60, nil), minute(5, many), minute(1, map[string]watch.RuleCounters{"r9": {Denied: 3}, "r0": {Blocks: 3}})}
	step := func(begin string, measured int, requests uint64, rules ...uint64) watch.DayMinute {
		at, _ := time.Parse("15:04", begin)
		m := watch.DayMinute{Begin: time.Date(2026, 11, 29, at.Hour(), at.Minute(), 0, 0, time.UTC), Measured: measured, Requests: requests, Denied: 70 * uint64(measured), Monitor: true, Rules: map[string]watch.RuleCounters{}}
		for i, n := range rules {
			m.Rules[fmt.Sprint("r", 9-i)] = watch.RuleCounters{Denied: n}
		}
		return m
	}
	for span, want := range map[aggregator.Span][]watch.DayMinute{
		{Step: 1, Length: 60}:  {step("11:03", 1, 6000), step("11:58", 1, 500, 9, 8, 7, 6, 5, 4, 3, 2), step("12:02", 1, 100, 3)},
		{Step: 15, Length: 96}: {step("11:00", 2, 12100), step("11:45", 1, 500, 9, 8, 7, 6, 5, 4, 3, 2), step("12:00", 1, 100, 3)},
		{Step: 5, Length: 2, Until: now.Add(-3*time.Minute).Unix() / 300}: {step("11:55", 1, 500, 9, 8, 7, 6, 5, 4, 3, 2)},
		{Step: 1, Length: 60, Until: 1}:                                   {},
	} {
		said := minutesOf(spansOf(day, now, []aggregator.Span{span}), true)
		if diff := cmp.Diff(map[watch.Span][]watch.DayMinute{watch.Span(span): want}, said); diff != "" {
			t.Errorf("%+v: %s", span, diff)
		}
	}
	if len(minutesOf(nil, false)) != 0 || len(minutesOf(spansOf(nil, now, []aggregator.Span{{Step: 1, Length: 60}}), false)[watch.Span{Step: 1, Length: 60}]) != 0 {
		t.Error("a node that was asked for nothing, or has measured nothing, has no minute")
	}
}
