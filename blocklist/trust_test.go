package blocklist

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

// A record that another node forced may be wide, but overrides nothing that is
// protected here. What was forced here does.
func TestForcedElsewhere(t *testing.T) {
	const inside, around = "10.1.0.0/16", "10.0.0.0/8"
	l := New(Config{Protected: prefixes("10.1.0.0/16")})
	if _, err := l.Agree(block(inside, time.Hour), Trust{Forced: true, Signed: true, Here: true}, epoch); !errors.Is(err, ErrProtected) {
		t.Errorf("a block inside what is protected: %v", err)
	}
	if changed, err := l.Agree(block(around, time.Hour), Trust{Forced: true, Signed: true}, epoch); !changed || err != nil {
		t.Fatalf("a wide block: %v, %v", changed, err)
	}
	standings := func(want Standing) {
		t.Helper()
		for addr, want := range map[string]Standing{"10.1.2.3": want, "10.2.2.3": Blocked} {
			if s, _ := l.Find(epoch, netip.MustParseAddr(addr)); s != want {
				t.Errorf("%s is %s, want %s", addr, s, want)
			}
		}
	}
	standings(Protected)
	confirmed, _, err := l.Confirm(block(around, time.Hour), epoch)
	if trust := l.Trust(confirmed.Prefix); err != nil || trust != (Trust{Forced: true}) {
		t.Errorf("confirmed: %v, %+v", err, trust)
	}
	standings(Protected)
	if _, changed, err := l.Add(block(around, time.Hour), true, epoch); !changed || err != nil {
		t.Fatalf("forced here: %v, %v", changed, err)
	}
	standings(Blocked)
}

// The record that the list has, forced here after it came from the fleet, changes
// what is enforced.
func TestForceOfTheSameRecord(t *testing.T) {
	l := New(Config{Protected: prefixes("10.1.0.0/16")})
	b := block("10.0.0.0/8", time.Hour)
	if _, err := l.Agree(b, Trust{Forced: true}, epoch); err != nil {
		t.Fatal(err)
	}
	changes := 0
	l.OnChange(func(edgeguard.Block) { changes++ })
	if changed, err := l.Force(b, epoch); !changed || err != nil || changes != 1 {
		t.Errorf("changed %v, %v, OnChange %d times", changed, err, changes)
	}
	if s, _ := l.Find(epoch, netip.MustParseAddr("10.1.2.3")); s != Blocked {
		t.Errorf("%s", s)
	}
	if changed, err := l.Agree(b, Trust{Forced: true}, epoch); changed || err != nil || !l.Trust(b.Prefix).Here {
		t.Errorf("from the fleet again: changed %v, %v, %+v", changed, err, l.Trust(b.Prefix))
	}
}

// A forced block of the fleet that ends no later goes on overriding what is protected
// where that was forced here. One that asks for more does not.
func TestForcedHereGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*edgeguard.Block)
		forced bool
		want   Standing
	}{
		"confirmed elsewhere": {func(*edgeguard.Block) {}, true, Blocked},
		"ends sooner":         {func(b *edgeguard.Block) { b.Until = b.Until.Add(-time.Minute) }, true, Blocked},
		"ends later":          {func(b *edgeguard.Block) { b.Until = b.Until.Add(1) }, true, Protected},
		"not forced":          {func(*edgeguard.Block) {}, false, Protected},
	} {
		l := New(Config{Protected: prefixes("10.1.2.0/24")})
		b := block("10.1.0.0/16", time.Hour)
		mustForce(t, l, b)
		b.Version++
		c.change(&b)
		if changed, err := l.Agree(b, Trust{Forced: c.forced}, epoch); !changed || err != nil {
			t.Fatal(changed, err)
		}
		if s, _ := l.Find(epoch, netip.MustParseAddr("10.1.2.3")); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// The same record with a good MAC becomes signed, in whatever form the list has it,
// and no receiver of changes is called.
func TestSignedLater(t *testing.T) {
	lifted, allowed, ended := block("198.51.100.2/32", time.Hour), block("198.51.100.3/32", time.Hour), block("198.51.100.4/32", time.Minute)
	lifted.Lifted, allowed.Allow = true, true
	for name, b := range map[string]edgeguard.Block{
		"block": block("198.51.100.1/32", time.Hour), "tombstone": lifted, "allowance": allowed, "ended": ended,
	} {
		t.Run(name, func(t *testing.T) {
			l, now := New(Config{}), epoch
			if _, err := l.Agree(b, Trust{}, now); err != nil {
				t.Fatal(err)
			}
			if name == "ended" {
				now = b.Until
				l.Sweep(now)
			}
			l.OnChange(func(b edgeguard.Block) { t.Errorf("%+v is a change", b) })
			if changed, _ := l.Agree(b, Trust{Signed: true}, now); changed || !l.Trust(b.Prefix).Signed {
				t.Errorf("changed %v, %+v", changed, l.Trust(b.Prefix))
			}
			if changed, _ := l.Agree(b, Trust{}, now); changed || !l.Trust(b.Prefix).Signed {
				t.Errorf("unsigned again: changed %v, %+v", changed, l.Trust(b.Prefix))
			}
			checkCounts(t, l)
		})
	}
}

// An unsigned record of a crossing does not replace the signed one, be it earlier or
// later. A signed one, a new version and another rule do.
func TestUnsignedOfACrossing(t *testing.T) {
	mine := block("198.51.100.7/32", time.Hour)
	mine.Version = 3
	for _, tt := range []struct {
		name     string
		change   func(*edgeguard.Block)
		signed   bool
		replaces bool
	}{
		{"earlier", func(b *edgeguard.Block) { b.Until = b.Until.Add(-time.Millisecond) }, false, false},
		{"later", func(b *edgeguard.Block) { b.Until = b.Until.Add(oneCrossing) }, false, false},
		{"later than one crossing", func(b *edgeguard.Block) { b.Until = b.Until.Add(oneCrossing + 1) }, false, true},
		{"of the same instant", func(*edgeguard.Block) {}, false, false},
		{"earlier, signed", func(b *edgeguard.Block) { b.Until = b.Until.Add(-time.Millisecond) }, true, true},
		{"later, signed", func(b *edgeguard.Block) { b.Until = b.Until.Add(time.Millisecond) }, true, true},
		{"newer", func(b *edgeguard.Block) { b.Version++ }, false, true},
		{"tombstone", func(b *edgeguard.Block) { b.Lifted = true }, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(Config{})
			l.SetSigns(true)
			mustMerge(t, l, mine)
			theirs := mine
			theirs.Origin = "z"
			tt.change(&theirs)
			changed, err := l.Agree(theirs, Trust{Signed: tt.signed}, epoch)
			if changed != tt.replaces || err != nil || l.Trust(mine.Prefix).Signed == (tt.replaces && !tt.signed) {
				t.Errorf("changed %v, %v, %+v", changed, err, l.Trust(mine.Prefix))
			}
		})
	}
}

// What this node makes is signed while it has a key. What it only repeats is not: a
// record of another client of Redis must not become signed by this node's help.
func TestWhatIsSigned(t *testing.T) {
	for _, signs := range []bool{true, false} {
		l := New(Config{})
		l.SetSigns(!signs)
		theirs := block("198.51.100.9/32", time.Hour)
		if _, err := l.Agree(theirs, Trust{}, epoch); err != nil {
			t.Fatal(err)
		}
		old := block("198.51.100.1/32", time.Hour)
		mustMerge(t, l, old)
		l.SetSigns(signs)
		want := map[string]bool{"198.51.100.1/32": !signs, "198.51.100.9/32": false}
		is := func(prefix string) { want[prefix] = signs }
		mustMerge(t, l, block("198.51.100.2/32", time.Hour))
		is("198.51.100.2/32")
		mustForce(t, l, block("198.51.100.3/32", time.Hour))
		is("198.51.100.3/32")
		if _, _, err := l.Add(block("198.51.100.4/32", time.Hour), false, epoch); err != nil {
			t.Fatal(err)
		}
		is("198.51.100.4/32")
		if _, err := l.Agree(block("198.51.100.5/32", time.Hour), Trust{Signed: !signs}, epoch); err != nil {
			t.Fatal(err)
		}
		l.Lift(netip.MustParsePrefix("198.51.100.5/32"), epoch, "enough", "here")
		is("198.51.100.5/32")
		theirs = l.Reword(theirs, "a 12, b 9", epoch)
		for prefix, want := range want {
			if got := l.Trust(netip.MustParsePrefix(prefix)).Signed; got != want {
				t.Errorf("signs %v: %s signed %v, want %v", signs, prefix, got, want)
			}
		}
		if theirs.Reason != "a 12, b 9" {
			t.Errorf("%+v", theirs)
		}
	}
}
