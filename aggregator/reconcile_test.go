package aggregator

import (
	"net/netip"
	"testing"
	"time"
)

// answer applies the same answer to pushes.
func (b *bench) answer(pushes []Push, a Answer, now time.Time) (again int) {
	for i := range pushes {
		if b.Answered(&pushes[i], a, now).Again {
			again++
		}
	}
	return again
}

func TestLostReconcilesAll(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	b.answer(b.Collect(boot, false), Answer{}, boot)
	next := boot.Add(width * time.Second)
	b.ReconcileAll()
	one(t, b.Collect(next, false), 0, 0)
	pushes, more := b.Reconcile(next, 10)
	p := one(t, pushes, slotOf(next), 20, 0)
	if p.Full || !p.IsReconcile() || more {
		t.Errorf("%+v, more: %t", p, more)
	}
	if out := b.Answered(&p, Answer{Status: StatusSendFull}, next); !out.Again {
		t.Errorf("full push requested: %+v", out)
	}
	if p := one(t, b.Collect(next, false), slotOf(boot), 20, 20, 0); !p.Full {
		t.Error("not full")
	}
	b.ReconcileAll()
	if pushes, _ := b.Reconcile(next, 10); len(pushes) != 0 {
		t.Errorf("reconciled what is still to be answered: %+v", pushes)
	}
}

// Every suspect is reconciled or pushed once in 30 s, and never all together.
func TestReconcileGoesRound(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Quiet = false })
	const keys = 2000
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }
	for i := range keys {
		b.hit(addr(i), boot, 1)
	}
	b.answer(b.Collect(boot, false), Answer{}, boot)
	last := make(map[Key]time.Time)
	for now, n := boot, 0; now.Before(boot.Add(2 * time.Minute)); now = now.Add(500 * time.Millisecond) {
		b.hit(addr(0), now, 1) // is pushed, and need not be reconciled
		changed := b.Collect(now, false)
		b.answer(changed, Answer{}, now)
		pushes, more := b.Reconcile(now, keys)
		if n += len(pushes); more || len(pushes) > keys/10 {
			t.Fatalf("%d reconciles together, more: %t", len(pushes), more)
		}
		for i := range pushes {
			if k := pushes[i].Key; k == changed[0].Key {
				t.Fatal("a key that was pushed a moment ago is reconciled")
			} else if before, ok := last[k]; ok && now.Sub(before) > ReconcileEvery {
				t.Fatalf("%s passed between two reconciles", now.Sub(before))
			} else {
				last[k] = now
			}
		}
		b.answer(pushes, Answer{}, now)
	}
	if len(last) != keys-1 {
		t.Errorf("%d of %d were reconciled", len(last), keys-1)
	}
}

// A Redis that was emptied without a reconnect asks for everything; the rest is
// pushed unasked and immediately.
func TestALossIsSeen(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Quiet = false })
	const keys = 500
	for i := range keys {
		b.hit(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), boot, 1)
	}
	b.answer(b.Collect(boot, false), Answer{}, boot)
	b.Reconcile(boot, keys)
	now := boot.Add(10 * time.Second)
	for i := range lossSeen {
		b.hit(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), now, 1)
	}
	if again := b.answer(b.Collect(now, false), Answer{Status: StatusSendFull}, now); again != lossSeen {
		t.Fatalf("%d go again", again)
	}
	b.answer(b.Collect(now, false), Answer{}, now)
	var full int
	for more := true; more; {
		var pushes []Push
		pushes, more = b.Reconcile(now, 100)
		for i := range pushes {
			if pushes[i].Full {
				full++
			}
		}
		b.answer(pushes, Answer{}, now)
	}
	if full != keys-lossSeen { // Collect has pushed those
		t.Errorf("%d of %d were pushed in full", full, keys)
	}
	// Where late events make Redis ask for more at every push, not everything is
	// pushed in full at every round.
	for i := range 20 {
		now = now.Add(500 * time.Millisecond)
		b.hit(visitor, now, 1)
		b.hit(stranger, now, 1)
		b.hit(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), now, 1)
		b.hit(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), now, 1)
		b.answer(b.Collect(now, false), Answer{Status: StatusSendFull}, now)
		if pushes, _ := b.Reconcile(now, keys); len(pushes) > keys/4 {
			t.Fatalf("round %d: %d reconciles", i, len(pushes))
		}
	}
}

// After a step of the clock more may be stored than is claimed: nothing is
// compared until what was stored before it has left the window. After a step
// back that takes longer.
func TestAfterAStepPushesAreFull(t *testing.T) {
	for _, c := range []struct{ step, slots int }{{10, 60}, {-10, 70}} {
		b := newBench(t, nil)
		b.hit(visitor, boot, 20)
		b.answer(b.Collect(boot, false), Answer{}, boot)
		b.SetOffset(time.Duration(c.step)*width*time.Second, boot)
		for _, slots := range []int{1, c.slots - 1, c.slots, c.slots + 1} {
			now, full := boot.Add(time.Duration(slots)*width*time.Second), slots < c.slots
			b.hit(visitor, now, 20)
			b.answer(b.Collect(now, false), Answer{}, now)
			b.hit(visitor, now, 20)
			changes := b.Collect(now, false)
			b.answer(changes, Answer{}, now)
			b.ReconcileAll()
			pushes, _ := b.Reconcile(now, 10)
			if len(pushes) != 1 || len(changes) != 1 || pushes[0].Full != full || changes[0].Full != full {
				t.Errorf("step %d, %d slots later: %+v, %+v", c.step, slots, pushes, changes)
			}
			b.answer(pushes, Answer{}, now)
		}
	}
}
