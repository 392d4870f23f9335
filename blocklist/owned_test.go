package blocklist

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

// owned is a block of an owner, for so long.
func owned(prefix, owner string, d time.Duration) edgeguard.Block {
	b := block(prefix, d)
	b.Rule, b.Version = edgeguard.OwnerRule(owner), 0
	return b
}

// An owner's block takes the place of what ends sooner, and never of an operator's.
func TestAddOwned(t *testing.T) {
	const prefix = "172.16.1.1/32"
	byRule := func(l *List, d time.Duration) { _, _, _ = l.Add(block(prefix, d), false, epoch) }
	byHand := func(l *List, force bool) {
		b := block(prefix, time.Minute)
		if b.Rule = "site"; !force {
			b.Rule = edgeguard.ManualRule
		}
		_, _, _ = l.Add(b, force, epoch)
	}
	for name, c := range map[string]struct {
		before  func(*List)
		changed bool
	}{
		"nothing":            {func(*List) {}, true},
		"a rule's, shorter":  {func(l *List) { byRule(l, 59*time.Minute) }, true},
		"a rule's, as long":  {func(l *List) { byRule(l, time.Hour) }, false},
		"a rule's, longer":   {func(l *List) { byRule(l, 2*time.Hour) }, false},
		"an operator's":      {func(l *List) { byHand(l, false) }, false},
		"a forced one":       {func(l *List) { byHand(l, true) }, false},
		"a wider operator's": {func(l *List) { _, _, _ = l.Add(block("172.16.0.0/16", time.Hour), true, epoch) }, true},
		"its own, shorter":   {func(l *List) { _, _, _ = l.AddOwned(owned(prefix, "f", time.Minute), epoch) }, true},
		"its own, longer":    {func(l *List) { _, _, _ = l.AddOwned(owned(prefix, "f", 2*time.Hour), epoch) }, false},
		"its own, taken back": {func(l *List) {
			_, _, _ = l.AddOwned(owned(prefix, "f", 2*time.Hour), epoch)
			l.Lift(netip.MustParsePrefix(prefix), epoch, "", "")
		}, true},
	} {
		l := New(Config{})
		c.before(l)
		before := l.BlockOf(epoch, netip.MustParsePrefix(prefix))
		got, changed, err := l.AddOwned(owned(prefix, "f", time.Hour), epoch)
		now := l.BlockOf(epoch, netip.MustParsePrefix(prefix))
		if err != nil || changed != c.changed || *now != got {
			t.Errorf("%s: %+v, %v, %v, in force is %+v", name, got, changed, err, now)
		}
		if !changed && before != nil && *before != *now {
			t.Errorf("%s: it was %+v, and is %+v", name, before, now)
		}
	}
}

// What a rule may not block, an owner may not.
func TestAddOwnedRefuses(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24"), Protected: prefixes("10.0.0.1/32")})
	for prefix, want := range map[string]error{
		"192.0.2.7/32": ErrAllowed, "10.0.0.1/32": ErrProtected, "172.0.0.0/15": ErrTooWide, "0.0.0.0/32": ErrUnspecified,
	} {
		if _, changed, err := l.AddOwned(owned(prefix, "f", time.Hour), epoch); changed || !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", prefix, changed, err, want)
		}
	}
}

// An owner that goes mad takes no room from operators, nor more than there is.
func TestOwnedBlocksAreBounded(t *testing.T) {
	l := New(Config{Most: 100})
	for i := range 1000 {
		addr := netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)})
		if _, _, err := l.AddOwned(owned(netip.PrefixFrom(addr, 32).String(), "f", time.Hour), epoch); err != nil {
			t.Fatal(err)
		}
	}
	if l.Len() > 100 {
		t.Errorf("%d blocks, more than 100", l.Len())
	}
	b := block("198.51.100.1/32", time.Hour)
	b.Rule = edgeguard.ManualRule
	if _, changed, err := l.Add(b, false, epoch); !changed || err != nil {
		t.Errorf("an operator's block finds no room: %v", err)
	}
}

// An owner takes back what it made on this node, and nothing else; its tombstone
// says that no counts are forgotten. An operator's unblock of the same block does not.
func TestLiftOwned(t *testing.T) {
	const prefix = "172.16.1.1/32"
	p := netip.MustParsePrefix(prefix)
	l := New(Config{})
	b := owned(prefix, "f", time.Hour)
	b.Origin = "here"
	put := func(b edgeguard.Block) {
		t.Helper()
		if _, _, err := l.AddOwned(b, epoch); err != nil {
			t.Fatal(err)
		}
	}
	put(b)
	for _, c := range []struct{ owner, origin string }{{"g", "here"}, {"f", "elsewhere"}, {"", "here"}} {
		if _, ok := l.LiftOwned(p, c.owner, epoch, "", c.origin); ok {
			t.Errorf("%+v lifted it", c)
		}
	}
	if gone, ok := l.LiftOwned(p, "f", epoch, "unbanned", "here"); !ok || gone.Forgets() || !gone.Lifted || gone.Reason != "unbanned" {
		t.Errorf("%+v, %v", gone, ok)
	}
	if _, ok := l.LiftOwned(p, "f", epoch, "", "here"); ok {
		t.Error("it was lifted twice")
	}
	if put(b); l.BlockOf(epoch, p) == nil {
		t.Error("it cannot be banned again")
	}
	if gone, ok := l.Lift(p, epoch, "by hand", "here"); !ok || !gone.Forgets() {
		t.Errorf("by an operator: %+v, %v", gone, ok)
	}
	if _, _, err := l.Add(block(prefix, time.Hour), false, epoch); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.LiftOwned(p, "f", epoch, "", "here"); ok || l.BlockOf(epoch, p) == nil {
		t.Error("it lifted a rule's block")
	}
}
