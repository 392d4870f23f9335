package detector_test

import (
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
)

// The block that follows an eviction is not a new step of escalate: it lasts as
// long as the one that was evicted was to last.
func TestEvictionIsNoStep(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3, Guard: "1", BlockFor: 10 * time.Minute, Escalate: []time.Duration{time.Hour, 5 * time.Hour}})
	b.list = blocklist.New(blocklist.Config{Most: 2})
	b.list.OnChange(func(block edgeguard.Block) { b.told = append(b.told, block) })
	b.config.List = b.list
	b.Detector = detector.New(b.config)
	const other, third = "198.51.100.1", "203.0.113.1"
	lasts := func(who string, at time.Time) time.Duration {
		t.Helper()
		if v := b.send(4, who, at); v.Action != edgeguard.ActionDeny {
			t.Fatalf("%s: %+v", who, v)
		}
		last := b.told[len(b.told)-1]
		if last.Prefix != host(who) {
			t.Fatalf("%s was not blocked, the last was %v", who, last)
		}
		return last.Until.Sub(at)
	}
	at := epoch
	for i, want := range []time.Duration{10 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if got := lasts(someone, at); got != want {
			t.Errorf("block %d lasts %v, want %v", i, got, want)
		}
		at = at.Add(time.Second)
		b.send(20, other, at)
		at = at.Add(time.Second)
		b.send(20, third, at) // pushes out someone, who was refused the least
		at = at.Add(time.Second)
		if s, _ := b.list.Find(at, host(someone).Addr()); s == blocklist.Blocked {
			t.Fatal("not evicted: the test tries nothing")
		}
		b.list.SetMost(3)
		b.list.Lift(host(third), at, "", "")
		b.Clear(at, host(third))
		b.list.SetMost(2)
	}
	at = at.Add(time.Hour)
	if got := lasts(someone, at); got != time.Hour {
		t.Errorf("after its end the next block lasts %v, want an hour", got)
	}
}

// Each event that a block refuses is noted, the crossing's own included, one by
// one or in a batch; a look is not.
func TestRefusalsAreNoted(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3, Guard: "1"})
	b.send(3+5, someone, epoch)
	events := make([]edgeguard.Event, 7)
	nows := make([]time.Time, len(events))
	for i := range events {
		events[i], nows[i] = request(someone, epoch), epoch.Add(time.Second)
	}
	b.DecideBatch(nows, events, make([]edgeguard.Verdict, len(events)))
	b.LookUpVerdict(epoch, &edgeguard.Event{Addr: host(someone).Addr()})
	if n, last, ok := b.list.Refusals(host(someone)); !ok || n != 12 || !last.Equal(epoch.Add(time.Second)) {
		t.Errorf("%d refusals, the last at %v, %v", n, last, ok)
	}
}
