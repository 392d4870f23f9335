package detector_test

import (
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// An event of many hits counts what as many events count, and a rule's cost is multiplied.
// Different values are counted once.
func TestHits(t *testing.T) {
	var crossings []edgeguard.Crossing
	set := compile(t,
		rules.Spec{Name: "all", Threshold: 100, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "dear", Threshold: 60_000, Cost: 7, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "paths", Threshold: 100, Distinct: "path", Action: edgeguard.ActionDeny},
	)
	d := newDetector(t, set, nil, &crossings)
	at := epoch
	for i, c := range []struct {
		hits            uint16
		all, dear, path uint32
	}{{0, 1, 7, 1}, {1, 2, 14, 1}, {40, 42, 294, 1}, {60, 102, 714, 1}} {
		ev := request("203.0.113.9", at)
		ev.Hits, ev.Path, ev.Known = c.hits, "/a", edgeguard.FieldPath
		v := d.Decide(at, &ev)
		if denied := v.Action == edgeguard.ActionDeny; denied != (c.all > set.Rules[0].Limit) {
			t.Errorf("%d: %+v", i, v)
		}
		for rule, want := range map[int]uint32{0: c.all, 1: c.dear, 2: c.path} {
			if got, ok := d.Count(at, &ev, rule); !ok || got != want {
				t.Errorf("%d: rule %d counts %d (%v), want %d", i, rule, got, ok, want)
			}
		}
	}
	ev := request("203.0.113.10", at)
	ev.Hits = 65535
	d.Decide(at, &ev)
	if got, _ := d.Count(at, &ev, 1); got != 65535 {
		t.Errorf("more than a slot holds: %d", got)
	}
	if _, ok := d.Count(at, &ev, 2); ok {
		t.Error("an event without a path has a count of paths")
	}
	if got, ok := d.Count(at.Add(time.Hour), &ev, 0); !ok || got != 0 {
		t.Errorf("after the window: %d", got)
	}
}
