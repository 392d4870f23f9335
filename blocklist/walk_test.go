package blocklist

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

// TestAllFrom compares every page's beginning with what a sort says, and Around
// with a scan.
func TestAllFrom(t *testing.T) {
	d := newDice(t)
	for range 50 {
		l := New(Config{})
		for range d.IntN(60) {
			b := d.block(epoch)
			b.Lifted = false
			_, _ = l.Force(b, epoch) // those that are over are refused
		}
		all := slices.Collect(l.All(epoch))
		if !slices.IsSortedFunc(all, func(a, b edgeguard.Block) int { return a.Prefix.Compare(b.Prefix) }) {
			t.Fatalf("out of order: %v", all)
		}
		for range 40 {
			from := d.prefix()
			var want, around []edgeguard.Block
			for _, b := range all {
				if b.Prefix.Compare(from) >= 0 {
					want = append(want, b)
				}
				if b.Prefix.Bits() <= from.Bits() && b.Prefix.Contains(from.Addr()) {
					around = append([]edgeguard.Block{b}, around...)
				}
			}
			if got := slices.Collect(l.AllFrom(epoch, from)); !slices.Equal(got, want) {
				t.Fatalf("from %v: %v, want %v", from, got, want)
			}
			if got := l.Around(epoch, from); !slices.Equal(got, around) {
				t.Fatalf("around %v: %v, want %v", from, got, around)
			}
			for b := range l.AllFrom(epoch, from) {
				if b != want[0] {
					t.Fatalf("from %v begins with %v", from, b)
				}
				break
			}
		}
	}
}

func TestAllFromPutsRight(t *testing.T) {
	l := New(Config{})
	mustMerge(t, l, block("10.0.0.0/24", time.Hour), block("10.0.1.0/24", time.Hour), block("2001:db8::/64", time.Hour))
	for from, want := range map[string]int{"10.0.0.7/24": 3, "::ffff:10.0.1.0/120": 2, "255.255.255.255/32": 1, "::/0": 1, "2001:db8::/65": 0} {
		if got := len(slices.Collect(l.AllFrom(epoch, netip.MustParsePrefix(from)))); got != want {
			t.Errorf("from %s: %d blocks, want %d", from, got, want)
		}
	}
	if got := l.Around(epoch, netip.Prefix{}); got != nil {
		t.Errorf("around nothing: %v", got)
	}
}

// A walk sees the blocks as they were when it began, whatever changes meanwhile,
// and the list is right after it; a walk that is broken off ends, too.
func TestChangesDuringAWalk(t *testing.T) {
	l := New(Config{})
	for i := range 500 {
		mustMerge(t, l, block(host(2*i).String(), time.Hour))
	}
	seen := 0
	for b := range l.All(epoch) {
		if b.Rule == "new" {
			t.Fatalf("%v came during the walk", b.Prefix)
		}
		l.Lift(host(2*(499-seen)), epoch, "", "")
		fresh := block(host(2*seen+1).String(), time.Hour)
		fresh.Rule = "new"
		mustMerge(t, l, fresh)
		seen++
	}
	for range l.All(epoch) {
		break
	}
	if n := l.Len(); seen != 500 || n != 500 || l.walks != 0 {
		t.Errorf("%d seen, %d stand, %d walks under way", seen, n, l.walks)
	}
	for b := range l.All(epoch) {
		if b.Rule != "new" {
			t.Errorf("%v was lifted", b.Prefix)
		}
	}
}
