package blocklist

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

func TestMergeRefuses(t *testing.T) {
	tests := []struct {
		name          string
		change        func(*edgeguard.Block)
		merge, force  error
		evenTombstone error
	}{
		{"good", func(*edgeguard.Block) {}, nil, nil, nil},
		{"zero prefix", prefixIs(netip.Prefix{}), ErrInvalid, ErrInvalid, ErrInvalid},
		{"host bits", prefixIs(netip.MustParsePrefix("172.16.1.1/24")), ErrInvalid, ErrInvalid, ErrInvalid},
		{"mapped IPv4", prefixIs(netip.MustParsePrefix("::ffff:172.16.1.1/128")), ErrInvalid, ErrInvalid, ErrInvalid},
		{"everybody, IPv4", prefixIs(netip.MustParsePrefix("0.0.0.0/0")), ErrUnspecified, ErrUnspecified, nil},
		{"everybody, IPv6", prefixIs(netip.MustParsePrefix("::/0")), ErrUnspecified, ErrUnspecified, nil},
		{"unspecified IPv4", prefixIs(netip.MustParsePrefix("0.0.0.0/32")), ErrUnspecified, ErrUnspecified, nil},
		{"unspecified IPv6", prefixIs(netip.MustParsePrefix("::/128")), ErrUnspecified, ErrUnspecified, nil},
		{"/15", prefixIs(netip.MustParsePrefix("172.16.0.0/15")), ErrTooWide, nil, nil},
		{"/16", prefixIs(netip.MustParsePrefix("172.16.0.0/16")), nil, nil, nil},
		{"IPv6 /31", prefixIs(netip.MustParsePrefix("2a00::/31")), ErrTooWide, nil, nil},
		{"IPv6 /32", prefixIs(netip.MustParsePrefix("2a00::/32")), nil, nil, nil},
		{"inside the allowlist", prefixIs(netip.MustParsePrefix("192.0.2.7/32")), ErrAllowed, ErrAllowed, nil},
		{"around something allowlisted", prefixIs(netip.MustParsePrefix("192.0.0.0/16")), nil, nil, nil},
		{"protected", prefixIs(netip.MustParsePrefix("10.0.0.1/32")), ErrProtected, nil, nil},
		{"around something protected", prefixIs(netip.MustParsePrefix("10.0.0.0/24")), nil, nil, nil},
		{"over", func(b *edgeguard.Block) { b.Until = epoch }, ErrExpired, ErrExpired, nil},
		{"long over", func(b *edgeguard.Block) { b.Until = epoch.Add(-defaultRetention) }, ErrExpired, ErrExpired, ErrExpired},
		{"no end", func(b *edgeguard.Block) { b.Until = time.Time{} }, ErrExpired, ErrExpired, ErrExpired},
		{"last version", func(b *edgeguard.Block) { b.Version = math.MaxUint64 }, ErrInvalid, ErrInvalid, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := block("172.16.1.1/32", time.Minute)
			tt.change(&b)
			config := Config{Allow: prefixes("192.0.2.0/24"), Protected: prefixes("10.0.0.1/32")}
			merged := func(b edgeguard.Block, how func(*List, edgeguard.Block, time.Time) (bool, error), want error) {
				t.Helper()
				l := New(config)
				changed, err := how(l, b, epoch)
				if !errors.Is(err, want) || changed != (want == nil) {
					t.Errorf("lifted %v: got %v, %v, want %v", b.Lifted, changed, err, want)
				}
				if refused := want != nil; refused && l.Len() != 0 {
					t.Errorf("refused, and yet stands")
				}
			}
			merged(b, (*List).Merge, tt.merge)
			merged(b, (*List).Force, tt.force)
			b.Lifted = true
			merged(b, (*List).Merge, tt.evenTombstone)
		})
	}
}

func prefixIs(p netip.Prefix) func(*edgeguard.Block) {
	return func(b *edgeguard.Block) { b.Prefix = p }
}

func TestMergeOrder(t *testing.T) {
	base := block("172.16.1.1/32", time.Minute)
	change := func(f func(*edgeguard.Block)) edgeguard.Block {
		b := base
		f(&b)
		return b
	}
	tests := []struct {
		name          string
		lesser, wins  edgeguard.Block
		blockedAfter  bool
		changedByLess bool
	}{
		{"version, though it ends sooner", base, change(func(b *edgeguard.Block) { b.Version, b.Until = 2, epoch.Add(time.Second) }), true, false},
		{"allowance, though it ends sooner", base, change(func(b *edgeguard.Block) { b.Allow, b.Until = true, epoch.Add(time.Second) }), false, false},
		{"version over an allowance", change(func(b *edgeguard.Block) { b.Allow = true }), change(func(b *edgeguard.Block) { b.Version = 2 }), true, false},
		{"end", base, change(func(b *edgeguard.Block) { b.Until = epoch.Add(time.Hour) }), true, false},
		{"tombstone of the same version and end", base, change(func(b *edgeguard.Block) { b.Lifted = true }), false, false},
		{"later end over a tombstone of the same version", change(func(b *edgeguard.Block) { b.Lifted = true }), change(func(b *edgeguard.Block) { b.Until = epoch.Add(time.Hour) }), true, false},
		{"beginning", base, change(func(b *edgeguard.Block) { b.Since = epoch.Add(1) }), true, false},
		{"rule", base, change(func(b *edgeguard.Block) { b.Rule = "~" }), true, false},
		{"origin", base, change(func(b *edgeguard.Block) { b.Origin = "b" }), true, false},
		{"reason", base, change(func(b *edgeguard.Block) { b.Reason = "b" }), true, false},
		{"count", base, change(func(b *edgeguard.Block) { b.Count = 1 }), true, false},
		{"limit", base, change(func(b *edgeguard.Block) { b.Limit = 1 }), true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, order := range [][]edgeguard.Block{{tt.lesser, tt.wins}, {tt.wins, tt.lesser}, {tt.wins, tt.lesser, tt.lesser, tt.wins}} {
				l := New(Config{})
				mustMerge(t, l, order...)
				held := l.recordOf(base.Prefix)
				if held == nil || held.block != tt.wins {
					t.Errorf("%v: %v stays", order, held)
				}
				if standing, _ := l.Find(epoch, base.Prefix.Addr()); (standing == Blocked) != tt.blockedAfter {
					t.Errorf("%v: %s", order, standing)
				}
			}
		})
	}
}

func TestMergeReportsChange(t *testing.T) {
	l := New(Config{})
	b := block("172.16.1.1/32", time.Minute)
	steps := []struct {
		name    string
		version uint64
		until   time.Duration
		lifted  bool
		changed bool
	}{
		{"new", 5, time.Minute, false, true},
		{"again", 5, time.Minute, false, false},
		{"older", 4, time.Hour, false, false},
		{"newer", 6, time.Minute, false, true},
		{"older tombstone", 5, time.Minute, true, false},
		{"tombstone", 7, time.Minute, true, true},
		{"tombstone again", 7, time.Minute, true, false},
		{"older block", 6, time.Hour, false, false},
		{"block anew", 8, time.Minute, false, true},
		{"newer, and over already: ends it", 9, -time.Minute, false, true},
		{"older than what ended it", 8, time.Hour, false, false},
		{"newer, over, and nothing to end", 10, -time.Minute, false, false},
	}
	for _, s := range steps {
		b.Version, b.Until, b.Lifted = s.version, epoch.Add(s.until), s.lifted
		changed, err := l.Merge(b, epoch)
		if changed != s.changed || (err != nil) != (s.until < 0) {
			t.Errorf("%s: changed %v, error %v", s.name, changed, err)
		}
	}
	if v := l.Version(b.Prefix); v != 10 {
		t.Errorf("version %d", v)
	}
}

func TestMergeDropsMonotonicReadings(t *testing.T) {
	l := New(Config{})
	b := block("172.16.1.1/32", 0)
	b.Since = time.Now()
	b.Until = b.Since.Add(time.Minute).In(time.FixedZone("x", 3600))
	if _, err := l.Merge(b, b.Since); err != nil {
		t.Fatal(err)
	}
	same := b
	same.Since, same.Until = b.Since.Round(0).UTC(), b.Until.Round(0).UTC()
	if _, got := l.Find(b.Since, b.Prefix.Addr()); got == nil || *got != same {
		t.Errorf("got %v, want %v", got, same)
	}
}

func TestForceUpgrades(t *testing.T) {
	l := New(Config{})
	b := block("172.16.1.1/32", time.Minute)
	mustMerge(t, l, b)
	l.SetProtected(prefixes("172.16.0.0/12"))
	if s, _ := l.Find(epoch, b.Prefix.Addr()); s != Protected {
		t.Fatalf("%s", s)
	}
	if changed, err := l.Force(b, epoch); !changed || err != nil {
		t.Errorf("the same block, now forced: %v, %v", changed, err)
	}
	if s, _ := l.Find(epoch, b.Prefix.Addr()); s != Blocked {
		t.Errorf("%s", s)
	}
}

// TestLiftKeepsForce: the tombstone of a block that was forced is so, too, or a
// wide one would be believed by no other node.
func TestLiftKeepsForce(t *testing.T) {
	for _, force := range []bool{true, false} {
		l := New(Config{})
		b := block("172.16.0.0/16", time.Hour)
		merge := l.Merge
		if force {
			merge = l.Force
		}
		if _, err := merge(b, epoch); err != nil {
			t.Fatal(err)
		}
		if tombstone, ok := l.Lift(b.Prefix, epoch, "enough", "n1"); !ok || !tombstone.Lifted || l.Trust(b.Prefix).Forced != force {
			t.Errorf("forced %v: lifted %v, and the tombstone forced %v", force, ok, l.Trust(b.Prefix).Forced)
		}
	}
}

func TestLift(t *testing.T) {
	l := New(Config{})
	wide := block("172.16.0.0/16", time.Hour)
	b := block("172.16.1.1/32", time.Minute)
	mustMerge(t, l, wide, b)
	if _, ok := l.Lift(netip.MustParsePrefix("172.16.1.0/24"), epoch, "", ""); ok {
		t.Error("lifted what was never blocked")
	}
	if _, ok := l.Lift(b.Prefix, epoch.Add(time.Minute), "", ""); ok {
		t.Error("lifted what was over")
	}
	at := epoch.Add(20 * time.Second)
	tomb, ok := l.Lift(b.Prefix, at.In(time.FixedZone("x", 3600)), "customer", "n1")
	if !ok || !tomb.Lifted || tomb.Version != 1+aheadLift || tomb.Reason != "customer" || tomb.Origin != "n1" || tomb.Until != at.Add(rememberLift) || tomb.Since != at {
		t.Errorf("%v %+v", ok, tomb)
	}
	if s, got := l.Find(epoch, b.Prefix.Addr()); s != Blocked || got == nil || *got != wide {
		t.Errorf("a tombstone hides the shorter block: %s %v", s, got)
	}
	if _, ok := l.Lift(b.Prefix, epoch, "", ""); ok {
		t.Error("lifted twice")
	}
	other := New(Config{})
	mustMerge(t, other, tomb, b)
	if s, _ := other.Find(epoch, b.Prefix.Addr()); s != None {
		t.Errorf("late news of the block brought it back: %s", s)
	}
}

func TestSetAllow(t *testing.T) {
	l := New(Config{})
	mustMerge(t, l, block("172.16.0.0/16", time.Hour), block("172.16.1.0/24", time.Hour), block("172.16.1.7/32", time.Hour), block("172.16.2.0/24", time.Hour), block("2001:db8::/64", time.Hour))
	overruled := l.SetAllow(prefixes("172.16.1.0/24", "172.16.1.7/32", "2001:db8::1/128"))
	var got []netip.Prefix
	for _, b := range overruled {
		got = append(got, b.Prefix)
	}
	slices.SortFunc(got, netip.Prefix.Compare)
	if want := prefixes("172.16.0.0/16", "172.16.1.0/24", "172.16.1.7/32", "2001:db8::/64"); !slices.Equal(got, want) {
		t.Errorf("overruled %v, want %v", got, want)
	}
	for addr, want := range map[string]Standing{"172.16.1.7": Allowed, "172.16.1.9": Allowed, "172.16.2.1": Blocked, "2001:db8::1": Allowed, "2001:db8::2": Blocked} {
		if s, _ := l.Find(epoch, netip.MustParseAddr(addr)); s != want {
			t.Errorf("%s: %s, want %s", addr, s, want)
		}
	}
	l.SetAllow(nil)
	if s, _ := l.Find(epoch, netip.MustParseAddr("172.16.1.9")); s != Blocked {
		t.Errorf("taken off the allowlist: %s", s)
	}
}
