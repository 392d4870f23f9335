package aggregator

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard/shard"
)

// TestForged: more in this node's name than it pushed is a forgery, but for the
// cases in which an honest fleet has that.
func TestForged(t *testing.T) {
	const more = StatusMore
	for name, c := range map[string]struct {
		before func(*bench) // the push
		then   func(*bench) // before its answer
		a      Answer
		forged bool
	}{
		"more":              {a: Answer{Status: more, Peak: 30, Total: 30}, forged: true},
		"as much":           {a: Answer{Peak: 30, Total: 30}},
		"of an older push":  {then: func(b *bench) { b.hit(visitor, boot, 1); b.Collect(boot, false) }, a: Answer{Status: more}},
		"the clock stepped": {before: func(b *bench) { b.SetOffset(10*width*time.Second, boot.Add(-59*width*time.Second)) }, a: Answer{Status: more}},
		"it stepped before the window": {before: func(b *bench) { b.SetOffset(10*width*time.Second, boot.Add(-61*width*time.Second)) },
			a: Answer{Status: more}, forged: true},
		"an unblock is on its way": {before: func(b *bench) { b.Forget(netip.PrefixFrom(visitor, 32), boot.Add(-width*time.Second)) }, a: Answer{Status: more}},
		"an unblock arrived": {before: func(b *bench) { b.Forget(netip.PrefixFrom(visitor, 32), boot.Add(-width*time.Second)) },
			a: Answer{Status: more | StatusCleared, ClearedBefore: slotOf(boot)}, forged: true},
		"another boot":          {before: func(b *bench) { b.Redrawn(boot.Add(-width * time.Second)) }, a: Answer{Status: more}},
		"another boot long ago": {before: func(b *bench) { b.Redrawn(boot.Add(-61 * width * time.Second)) }, a: Answer{Status: more}, forged: true},
	} {
		b := newBench(t, nil)
		b.Sweep(boot)
		if c.before != nil {
			c.before(b)
		}
		b.hit(visitor, boot, 20)
		p := b.Collect(boot, false)
		if len(p) != 1 {
			t.Fatalf("%s: %d pushes", name, len(p))
		}
		if c.then != nil {
			c.then(b)
		}
		if out := b.Answered(&p[0], c.a, boot); out.Forged != c.forged {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestForgedWhileMemoryIsFull: a key that was evicted has less here than was
// pushed of it.
func TestForgedWhileMemoryIsFull(t *testing.T) {
	memory := shard.NewMemory(1 << 16)
	table := shard.New(memory, shard.Config{Seed: 1})
	c := Config{Meters: []Meter{{Fingerprint: 7, Width: width, Limit: 100, Table: table}}, Boot: boot, MaxNodes: 5}
	b := &bench{t, table, New(c)}
	b.Sweep(boot)
	b.hit(visitor, boot, 20)
	for i := range 20_000 {
		op := shard.Op{Addr: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Now: slotOf(boot), Slot: slotOf(boot), Cost: 1}
		table.Add(&op)
	}
	b.hit(visitor, boot, 1)
	for _, c := range []struct {
		slots  int
		forged bool
	}{{0, false}, {59, false}, {60, true}} {
		now := boot.Add(time.Duration(c.slots) * width * time.Second)
		b.hit(visitor, now, 1)
		p := b.Collect(now, false)
		for i := range p {
			if out := b.Answered(&p[i], Answer{Status: StatusMore}, now); p[i].Key.Prefix.Addr() == visitor && out.Forged != c.forged {
				t.Errorf("%d slots after: %+v, evicted %d", c.slots, out, table.Stats().Evicted)
			}
		}
	}
}

// TestForgedInTheNameOfANodeThatSawNothing: the reconcile of nothing shows it.
func TestForgedInTheNameOfANodeThatSawNothing(t *testing.T) {
	b := newBench(t, nil)
	p, ok := b.Watch(Key{Meter: 7, Prefix: netip.PrefixFrom(visitor, 32)}, boot)
	if out := b.Answered(&p, Answer{Status: StatusMore, Peak: 99, Total: 99}, boot); !ok || out != (Outcome{More: true, Forged: true}) {
		t.Errorf("%+v, %t", out, ok)
	}
	b = newBench(t, nil)
	b.hit(visitor, boot.Add(10*width*time.Second), 5)
	if p, ok := b.Watch(p.Key, boot); ok { // the caller's clock is behind the events'
		t.Errorf("a reconcile of nothing, of a key with counts: %+v", p)
	}
}
