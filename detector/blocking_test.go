package detector_test

import (
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// hears collects what a bench's detector tells.
func (b *bench) hears(t *testing.T) *[]edgeguard.Crossing {
	told := new([]edgeguard.Crossing)
	b.config.Crossed = func(c edgeguard.Crossing) { *told = append(*told, c) }
	b.reload(t, b.specs...)
	return told
}

// TestWhileOverEnd: a block lasts until the count has fallen to the limit, however
// short block_for is, from its beginning and also by what comes later in a slot.
func TestWhileOverEnd(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1", Window: time.Minute, BlockFor: 2 * time.Second, WhileOver: true})
	until := func() time.Duration {
		_, block := b.list.Find(epoch, host(someone).Addr())
		return block.Until.Sub(epoch)
	}
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	b.send(6, someone, at(0))
	b.send(5, someone, at(10*time.Second)) // the eleventh
	if got := until(); got != time.Minute {
		t.Errorf("the block ends at %v: when the first six leave", got)
	}
	b.send(5, someone, at(20*time.Second)) // 16: 10 when those six leave
	b.send(1, someone, at(20*time.Second)) // and 11 with one more in the same slot
	if got := until(); got != 70*time.Second {
		t.Errorf("extended to %v: when the next five leave", got)
	}
	if changes := len(b.told); changes != 2 {
		t.Errorf("%d changes of the list, want 2", changes)
	}
}

// TestWhileOverChangesNoListPerRequest: a flood moves the end once a slot, when it
// has reached the whole window.
func TestWhileOverChangesNoListPerRequest(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 50, Guard: "1", Window: time.Minute, WhileOver: true, BlockFor: time.Second})
	for ms := range 60_000 {
		if ms%10 == 0 {
			b.send(1, someone, epoch.Add(time.Duration(ms)*time.Millisecond))
		}
	}
	if changes := len(b.told); changes > 60 {
		t.Errorf("%d changes of the list in 60 slots", changes)
	}
}

// TestPatience: a client that waits as long as it is told is let through, is not
// told a second too many, and climbs no step.
func TestPatience(t *testing.T) {
	for _, spec := range []rules.Spec{
		{BlockFor: 2 * time.Second},
		{BlockFor: 2 * time.Second, Escalate: []time.Duration{20 * time.Second, 40 * time.Second}},
		{BlockFor: 2 * time.Second, Escalate: []time.Duration{20 * time.Second}, WhileOver: true},
		{BlockFor: 70 * time.Second, Escalate: []time.Duration{time.Hour}},
	} {
		spec.Name, spec.Threshold, spec.Guard, spec.Window = "r", 10, "1", time.Minute
		b := newBench(t, spec)
		at, blocks := epoch, 0
		for range 400 {
			v := b.send(1, someone, at)
			at = at.Add(700 * time.Millisecond)
			if v.Action != edgeguard.ActionDeny {
				continue
			}
			blocks++
			again := at.Add(-700 * time.Millisecond).Add(v.RetryAfter)
			if standing, _ := b.list.Find(again, host(someone).Addr()); standing.String() == "blocked" {
				t.Fatalf("%+v: blocked when it was told to come again", spec)
			}
			if v := b.send(1, someone, again); v.Action != edgeguard.ActionPass {
				t.Fatalf("%+v: told to wait until %v, and then %+v", spec, again, v)
			}
			at = again.Add(700 * time.Millisecond)
		}
		if steps := slices.Collect(b.Steps()); blocks < 2 || len(spec.Escalate) > 0 && spec.BlockFor < spec.Window && steps[0].Blocks != 1 {
			t.Errorf("%+v: %d blocks, %+v", spec, blocks, steps)
		}
	}
}

// TestHammerClimbs: who goes on through a block shorter than the window, and even
// shorter than a slot, climbs.
func TestHammerClimbs(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 10, Window: 10 * time.Minute, BlockFor: 2 * time.Second, Escalate: []time.Duration{4 * time.Second, time.Hour}})
	for ms := 0; ms < 20_000; ms += 100 {
		b.send(1, someone, epoch.Add(time.Duration(ms)*time.Millisecond))
	}
	if steps := slices.Collect(b.Steps()); len(steps) != 1 || steps[0].Blocks != 3 {
		t.Errorf("%+v", steps)
	}
}

// TestStronger: at its crossing a rule whose block lasts longer takes the place of
// another's, once; one that is as long or shorter is told with what stands.
func TestStronger(t *testing.T) {
	login := rules.Spec{Name: "login", Threshold: 5, Guard: "1", BlockFor: 10 * time.Minute, Match: rules.Match{Method: []string{"POST"}}}
	trap := rules.Spec{Name: "trap", Threshold: 5, Guard: "1", BlockFor: 24 * time.Hour, Match: rules.Match{Method: []string{"GET"}}}
	same := trap
	same.Name = "same"
	for _, specs := range [][]rules.Spec{{login, trap, same}, {same, trap, login}} {
		b := newBench(t, specs...)
		told := b.hears(t)
		ask := func(method string, n int, at time.Time) {
			for range n {
				ev := request(someone, at)
				ev.Known, ev.Method = edgeguard.FieldMethod, method
				b.Decide(at, &ev)
			}
		}
		ask("POST", 6, epoch)
		ask("GET", 6, epoch.Add(time.Minute))
		_, block := b.list.Find(epoch, host(someone).Addr())
		if want := epoch.Add(time.Minute + 24*time.Hour); block.Rule == "login" || !block.Until.Equal(want) || len(b.told) != 2 {
			t.Fatalf("%+v stands after %d changes", block, len(b.told))
		}
		if len(*told) != 3 || (*told)[2].Action != edgeguard.ActionDeny || (*told)[2].Stands != block.Rule || !(*told)[2].Until.Equal(block.Until) {
			t.Errorf("told %+v", *told)
		}
		for s := range 600 { // both go on, and their counts fall and rise
			ask([]string{"POST", "GET"}[s/60%2], 3*(s/30%2), epoch.Add(2*time.Minute+time.Duration(s)*time.Second))
		}
		if len(b.told) != 2 {
			t.Errorf("%d changes of the list", len(b.told))
		}
		for _, c := range (*told)[3:] {
			if c.Action != edgeguard.ActionDeny || c.Stands != block.Rule {
				t.Errorf("told %+v", c)
			}
		}
	}
}

// TestOperatorsBlock: a rule takes nobody's word away, and says what stands.
func TestOperatorsBlock(t *testing.T) {
	spec := rules.Spec{Name: "trap", Threshold: 1, Guard: "1", BlockFor: 24 * time.Hour, WhileOver: true}
	for name, add := range map[string]edgeguard.Block{
		"by hand":   {Prefix: host(someone), Rule: edgeguard.ManualRule},
		"confirmed": {Prefix: host(someone), Rule: "login"},
	} {
		b := newBench(t, spec)
		told := b.hears(t)
		add.Since, add.Until = epoch, epoch.Add(time.Minute)
		made, _, err := b.list.Add(add, name == "confirmed", epoch)
		if err != nil {
			t.Fatal(err)
		}
		b.send(10, someone, epoch)
		if _, block := b.list.Find(epoch, host(someone).Addr()); *block != made {
			t.Errorf("%s: %+v stands", name, block)
		}
		if len(*told) != 1 || (*told)[0].Stands != add.Rule {
			t.Errorf("%s: told %+v", name, *told)
		}
	}
}

// TestWiderBlockIsAnother: a block of a network stands beside that of an address in
// it, and is not hidden by it.
func TestWiderBlockIsAnother(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "host", Threshold: 5, Guard: "1", BlockFor: time.Hour},
		rules.Spec{Name: "net", Threshold: 10, Guard: "1", BlockFor: time.Minute, Key: rules.Group{V4: 24}})
	b.send(20, someone, epoch)
	if around := b.list.Around(epoch, host(someone)); len(around) != 2 || around[0].Rule != "host" || around[1].Rule != "net" {
		t.Errorf("%+v", around)
	}
	if v := b.send(1, "192.0.2.77", epoch); v.Rule != "net" {
		t.Errorf("another of the network: %+v", v)
	}
}

// TestConfigOrderDecides: of rules that cross at one event and block for as long,
// the first in the config blocks, whatever they count.
func TestConfigOrderDecides(t *testing.T) {
	a := rules.Spec{Name: "a", Threshold: 5, Guard: "1"}
	b := rules.Spec{Name: "b", Threshold: 1, Guard: "1", Cost: 2, Match: rules.Match{Path: []string{"/x"}}}
	c := rules.Spec{Name: "c", Threshold: 1, Guard: "1"}
	n := newBench(t, a, b, c) // a and c share a meter
	told := n.hears(t)
	ev := request(someone, epoch)
	ev.Known, ev.Path = edgeguard.FieldPath, "/y"
	n.Decide(epoch, &ev)
	ev.Path = "/x"
	if v := n.Decide(epoch, &ev); v.Rule != "b" {
		t.Errorf("%+v", v)
	}
	if len(*told) != 2 || (*told)[0].Rule != "b" || (*told)[1].Rule != "c" || (*told)[1].Stands != "b" {
		t.Errorf("told %+v", *told)
	}
}

// TestSaturatedSlotCrossesOnce: where a slot is full nothing is added, and nothing
// crosses again.
func TestSaturatedSlotCrossesOnce(t *testing.T) {
	for _, cost := range []uint32{40_000, 65_535} {
		b := newBench(t, rules.Spec{Name: "r", Threshold: 65_534, Guard: "1", Cost: cost, Action: edgeguard.ActionShadow})
		told := b.hears(t)
		b.send(5, someone, epoch)
		if len(*told) != 1 {
			t.Errorf("cost %d: told %+v", cost, *told)
		}
	}
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

// TestRetryAfterOfSeveral: of two rules that deny, the one that lasts longer says
// when to come again.
func TestRetryAfterOfSeveral(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "short", Threshold: 1, Guard: "1", Window: time.Minute, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "long", Threshold: 1, Guard: "1", Window: 5 * time.Minute, Action: edgeguard.ActionDeny})
	if v := b.send(2, someone, epoch); v.Rule != "short" || v.RetryAfter != 5*time.Minute {
		t.Errorf("denied by %q for %v, want the first rule and 5m", v.Rule, v.RetryAfter)
	}
}

// TestRetryAfterOfDearRequest: a request that costs more waits for more room, also
// while the count of the rule that blocks is under its limit.
func TestRetryAfterOfDearRequest(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1", Window: time.Minute, BlockFor: 50 * time.Second,
		Costs: []rules.Charge{{Match: rules.Match{Method: []string{"POST"}}, Cost: 5}}})
	b.send(9, someone, epoch)
	b.send(2, someone, epoch.Add(20*time.Second)) // blocks until 70 s
	at := epoch.Add(61 * time.Second)             // 2 of 10 are left, and 7 with this one
	dear := request(someone, at)
	dear.Known, dear.Method = edgeguard.FieldMethod, "POST"
	if v := b.Decide(at, &dear); v.RetryAfter != 19*time.Second {
		t.Errorf("told to come again after %v, want 19s: before 80 s there is no room for 5 more", v.RetryAfter)
	}
}

// TestWeakBlockAndSteps: who sees to it that a short block of another rule stands
// whenever he crosses climbs all the same.
func TestWeakBlockAndSteps(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "weak", Threshold: 5, Guard: "1", Window: time.Minute, BlockFor: 10 * time.Second},
		rules.Spec{Name: "strong", Threshold: 6, Guard: "1", Window: time.Minute, BlockFor: time.Minute, Escalate: []time.Duration{time.Hour}})
	b.send(7, someone, epoch)
	at := epoch.Add(2 * time.Minute)
	b.send(7, someone, at)
	_, block := b.list.Find(at, host(someone).Addr())
	if block == nil || block.Rule != "strong" || !block.Until.Equal(at.Add(time.Hour)) {
		t.Errorf("%+v stands", block)
	}
}
