package aggregator

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard/shard"
)

// few is an answer by which the key is far from its limit.
var few = Answer{Peak: 20, Total: 20}

// TestHoldBack: each condition by itself ends the wait.
func TestHoldBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		then   func(*bench) // after 10 were pushed and answered, and 9 more came
		held   bool
	}{
		"nothing happens":  {then: func(*bench) {}, held: true},
		"not quiet":        {change: func(c *Config) { c.Quiet = false }, then: func(*bench) {}},
		"a share more":     {then: func(b *bench) { b.hit(visitor, boot, 1) }},
		"watched":          {then: func(b *bench) { b.watch(b.known(), slotOf(boot), true) }},
		"the node leaves":  {then: func(b *bench) { b.Leave() }},
		"a new connection": {then: func(b *bench) { b.ReconcileAll() }},
		"a smaller share":  {then: func(b *bench) { b.SetNodes(6, boot) }},
		"a reload": {then: func(b *bench) {
			b.Totals = New(Config{Meters: []Meter{b.meters[0].Meter}, Boot: boot, Quiet: true, MaxNodes: 5, Previous: b.Totals})
		}},
		"not compared for two visits": {then: func(b *bench) {
			p := &b.suspects[b.hashSuspect(b.known())%parts]
			p.visit(nil)
			p.visit(nil)
		}},
		"compared at one visit": {then: func(b *bench) { b.suspects[b.hashSuspect(b.known())%parts].visit(nil) }, held: true},
		"a clock step":          {then: func(b *bench) { b.SetOffset(-10*width*time.Second, boot.Add(-width*time.Second)) }, held: true}, // what it pushed is of no other slot
	} {
		b := newBench(t, c.change)
		b.hit(visitor, boot, 10)
		p := b.Collect(boot, false)
		b.Answered(&p[0], few, boot)
		b.hit(visitor, boot, 9)
		c.then(b)
		if got := len(b.Collect(boot, false)) == 0; got != c.held {
			t.Errorf("%s: held %t, want %t", name, got, c.held)
		}
	}
}

// known returns the only suspect.
func (b *bench) known() suspectID {
	for i := range b.suspects {
		for id := range b.suspects[i].known {
			return id
		}
	}
	return newSuspectID(0, netip.PrefixFrom(visitor, 32), 0)
}

// TestHoldBackNeedsAGoodAnswer: the newest push must be answered, in full and
// without more to follow.
func TestHoldBackNeedsAGoodAnswer(t *testing.T) {
	for name, a := range map[string]Answer{
		"all slots are asked for": {Status: StatusSendFull}, "refused": {Status: StatusRefused}, "near": {Peak: 50, Total: 50},
		"cleared": {Status: StatusCleared, ClearedBefore: slotOf(boot)},
	} {
		b := newBench(t, nil)
		b.hit(visitor, boot, 10)
		p := b.Collect(boot, false)
		b.Answered(&p[0], few, boot)
		next := boot.Add(width * time.Second)
		b.hit(visitor, next, 1)
		p = b.Collect(next, false)
		b.Answered(&p[0], a, next)
		b.hit(visitor, next, 1)
		if len(b.Collect(next, false)) == 0 {
			t.Errorf("%s: held back", name)
		}
	}
}

// TestHoldBackByThePushOfThisSlot: after a window, what was reported then is no
// base. By it, 60 counts were held back at a share of 10.
func TestHoldBackByThePushOfThisSlot(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 95)
	p := b.Collect(boot, false)
	b.Answered(&p[0], few, boot)
	b.hit(visitor, boot, 9)
	one(t, b.Collect(boot, false), 0, 0)
	b.hit(visitor, boot, 1)
	p = b.Collect(boot, false)
	if len(p) != 1 {
		t.Fatalf("10 more in the slot: %+v", p)
	}
	b.Answered(&p[0], few, boot)
	later := boot.Add(60 * width * time.Second)
	b.hit(visitor, later, 60)
	one(t, b.Collect(later, false), slotOf(later), 60, 60)
}

// TestHoldBackByTheNewestPush: an answer to an older push says nothing, and what
// came while the newest was on its way is not lost from sight.
func TestHoldBackByTheNewestPush(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 95)
	old := b.Collect(boot, false)
	b.Answered(&old[0], few, boot)
	later := boot.Add(60 * width * time.Second)
	b.hit(visitor, later, 20)
	first := b.Collect(later, false)
	b.hit(visitor, later, 30)
	second := b.Collect(later, false)
	b.hit(visitor, later, 30)
	b.Answered(&first[0], few, later)
	third := one(t, b.Collect(later, false), slotOf(later), 80, 80) // not answered
	b.Answered(&second[0], few, later)
	fourth := one(t, b.Collect(later, false), slotOf(later), 80, 80)
	b.hit(visitor, later, 10) // before the answer: less than was reported a window ago
	b.Answered(&fourth, few, later)
	b.Answered(&third, few, later)
	one(t, b.Collect(later, false), slotOf(later), 90, 90)
}

// TestAHeldSuspectIsComparedInTime: where a slot is long, a Redis that lost it
// is found out all the same.
func TestAHeldSuspectIsComparedInTime(t *testing.T) {
	const hour = 3600
	b := newBench(t, func(c *Config) { c.Meters[0].Width = hour })
	begin := time.Unix(boot.Unix()/hour*hour, 0)
	count := func(n int, now time.Time) {
		slot := uint32(now.Unix() / hour)
		for range n {
			op := shard.Op{Addr: visitor, Now: slot, Slot: slot, Cost: 1}
			b.Count(0, &op, b.table.Add(&op).Count)
		}
	}
	count(10, begin)
	b.answer(b.Collect(begin, false), few, begin)
	count(1, begin)
	pushed := 0
	for now := begin; now.Before(begin.Add(5 * time.Minute)); now = now.Add(500 * time.Millisecond) {
		changed := b.Collect(now, false)
		pushed += len(changed)
		b.answer(changed, few, now)
		reconciled, _ := b.Reconcile(now, 10)
		pushed += len(reconciled)
		b.answer(reconciled, few, now)
	}
	if pushed < 9 || pushed > 40 {
		t.Errorf("%d pushes in five minutes", pushed)
	}
}
