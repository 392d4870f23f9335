package detector_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// TestWhileOverInBatches: a batch gives the verdicts that one by one gives,
// also where blocks are extended on the way.
func TestWhileOverInBatches(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	spec := rules.Spec{Name: "r", Threshold: 12, Window: time.Minute, BlockFor: 10 * time.Second, WhileOver: true}
	one, many := newBench(t, spec), newBench(t, spec)
	var nows []time.Time
	var events []edgeguard.Event
	for at := epoch; len(events) < 5000; at = at.Add(time.Duration(r.IntN(800)) * time.Millisecond) {
		if r.IntN(500) == 0 {
			at = at.Add(time.Duration(r.IntN(120)) * time.Second) // long enough for counts to fall
		}
		nows, events = append(nows, at), append(events, request([]string{someone, "192.0.2.2", "192.0.2.3"}[r.IntN(3)], at))
	}
	verdicts := make([]edgeguard.Verdict, len(events))
	for from := 0; from < len(events); {
		to := min(len(events), from+1+r.IntN(100))
		many.DecideBatch(nows[from:to], events[from:to], verdicts[from:to])
		from = to
	}
	var denied, differ int
	for i := range events {
		v := one.Decide(nows[i], &events[i])
		if v.Action == edgeguard.ActionDeny {
			denied++
		}
		if v.Action != verdicts[i].Action {
			differ++
		}
	}
	// What later events of a batch counted may extend a block by a slot or two
	// more, which is all that may differ.
	if denied == 0 || differ*50 > denied {
		t.Errorf("seed %d: %d of %d denials differ", seed, differ, denied)
	}
	t.Logf("%d of %d denials differ", differ, denied)
}

// TestWhileOverAllocations: a flood on a block that is extended allocates
// nothing within a slot.
func TestWhileOverAllocations(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 5, WhileOver: true})
	ev := request(someone, epoch)
	b.send(100, someone, epoch)
	if n := testing.AllocsPerRun(1000, func() { b.Decide(epoch, &ev) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
