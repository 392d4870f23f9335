package detector_test

import (
	"fmt"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// crowd reports that forty addresses failed.
var crowd = rules.Spec{Name: "crowd", Match: rules.Match{Status: []string{"404"}}, Key: rules.Group{Everybody: true}, Distinct: "address",
	Threshold: 35, Guard: "1", Window: 10 * time.Minute, Action: edgeguard.ActionShadow}

// TestLateCrossing: a crossing of addresses that fail is told two minutes later, once.
func TestLateCrossing(t *testing.T) {
	b := newBench(t, crowd)
	var told []edgeguard.Crossing
	b.config.Crossed = func(c edgeguard.Crossing) { told = append(told, c) }
	b.reload(t, b.specs...)
	at := epoch.Add(30 * time.Minute)
	b.visits(epoch, at, 200)
	for i := range 60 { // the visitors go on, and sixty strangers fail
		b.visit(fmt.Sprintf("203.0.113.%d", i), at, 404)
	}
	b.visits(at, at.Add(119*time.Second), 200)
	b.Sweep(at.Add(119*time.Second), 1)
	if len(told) != 0 {
		t.Fatalf("told at once: %+v", told)
	}
	b.Sweep(at.Add(2*time.Minute), 1)
	b.Sweep(at.Add(5*time.Minute), 1)
	if len(told) != 1 || told[0].Excused || told[0].Rule != "crowd" || told[0].Count != 36 || !told[0].Time.Equal(at) {
		t.Errorf("told %+v", told)
	}
}

// TestTellWaiting: after the last of recorded events a crossing waits no longer.
func TestTellWaiting(t *testing.T) {
	b := newBench(t, crowd)
	told := 0
	b.config.Crossed = func(edgeguard.Crossing) { told++ }
	b.reload(t, b.specs...)
	b.visits(epoch, epoch.Add(30*time.Minute), 200)
	for i := range 60 {
		b.visit(fmt.Sprintf("203.0.113.%d", i), epoch.Add(30*time.Minute), 404)
	}
	for _, want := range []int{0, 1, 1} {
		if told != want {
			t.Errorf("told %d times, want %d", told, want)
		}
		b.TellWaiting(epoch.Add(30 * time.Minute))
	}
}

// TestLateCrossingOfOutage: where the site fails, all its visitors do: nothing is told but as excused, and
// the count begins anew.
func TestLateCrossingOfOutage(t *testing.T) {
	b := newBench(t, crowd)
	var told []edgeguard.Crossing
	b.config.Crossed = func(c edgeguard.Crossing) { told = append(told, c) }
	b.reload(t, b.specs...)
	fails := epoch.Add(30 * time.Minute)
	b.visits(epoch, fails, 200)
	b.visits(fails, fails.Add(2*time.Minute), 404)
	b.Sweep(fails.Add(5*time.Minute), 1)
	if len(told) == 0 {
		t.Error("nothing is told as excused")
	}
	for _, c := range told {
		if !c.Excused {
			t.Errorf("told %+v", c)
		}
	}
	works := fails.Add(2 * time.Minute)
	b.visits(works, works.Add(3*time.Minute), 200)
	at := works.Add(3 * time.Minute)
	for i := range 20 {
		b.visit(fmt.Sprintf("203.0.113.%d", i), at, 404)
	}
	ev := request("203.0.113.9", at)
	ev.Kind, ev.Verified = edgeguard.KindResponse, edgeguard.KindResponse
	ev.Known, ev.Status = edgeguard.FieldStatus, 404
	if n, ok := b.Count(at, &ev, 0); n != 20 || !ok {
		t.Errorf("the count is %d, want the 20 since", n)
	}
}
