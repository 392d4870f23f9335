package aggregator

import (
	"net/netip"
	"testing"
)

func numbered(i int) Key {
	return Key{Meter: 7, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)}
}

// watch has the fleet watch a key.
func (b *bench) watched(k Key) {
	p, ok := b.Watch(k, boot)
	if !ok {
		b.t.Fatal("no push of a watched key")
	}
	b.Answered(&p, Answer{}, boot)
}

// An event of a key that the fleet watches has it pushed before the next round, once, while
// nothing was heard of the others in its slot and the event passes.
func TestUrgent(t *testing.T) {
	for name, c := range map[string]struct {
		watched bool
		renews  uint32
		count   int
		want    int
	}{
		"watched":                {true, 100, 1, 1},
		"a stranger":             {false, 100, 10, 0},
		"a rule that blocks":     {true, 0, 1, 0},
		"over its limit by here": {true, 3, 4, 1}, // the first three passed
	} {
		b, k := newBench(t, nil), numbered(1)
		b.Totals.meters[0].Renews = c.renews
		if c.watched {
			b.watched(k)
		}
		b.hit(k.Prefix.Addr(), boot, c.count)
		pushes, more := b.CollectUrgent(boot, 10)
		if len(pushes) != c.want || more {
			t.Errorf("%s: %d pushes, more: %t", name, len(pushes), more)
		}
		for range 2 {
			b.hit(k.Prefix.Addr(), boot, 5)
			if again, _ := b.CollectUrgent(boot, 10); len(again) > 0 {
				t.Errorf("%s: again", name)
			}
			for i := range pushes { // it is known how it stands now
				b.Answered(&pushes[i], Answer{Peak: 5, Total: 5}, boot)
			}
		}
	}
}

// Very many keys take no more room than there is, and so many of them as are asked for; a
// round pushes all.
func TestUrgentBounded(t *testing.T) {
	b := newBench(t, nil)
	b.Totals.meters[0].Renews = 100
	for i := range 2 * mostUrgent {
		b.watched(numbered(i))
		b.hit(numbered(i).Prefix.Addr(), boot, 1)
	}
	select {
	case <-b.Urgent():
	default:
		t.Error("nobody is told")
	}
	if pushes, more := b.CollectUrgent(boot, 50); len(pushes) != 50 || !more || len(b.urgent.keys) != mostUrgent-50 {
		t.Errorf("%d, more: %t, %d wait", len(pushes), more, len(b.urgent.keys))
	}
	if n := len(b.Collect(boot, false)); n != 2*mostUrgent {
		t.Errorf("a round pushes %d", n)
	}
	if pushes, more := b.CollectUrgent(boot, 50); len(pushes) > 0 || more {
		t.Errorf("%d are left after the round", len(pushes))
	}
}
