package blocklist

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard"
)

func allowance(prefix string, until time.Duration) edgeguard.Block {
	b := block(prefix, until)
	b.Rule, b.Allow = "manual", true
	return b
}

func mustAdd(t *testing.T, l *List, b edgeguard.Block, now time.Time) edgeguard.Block {
	t.Helper()
	made, changed, err := l.Add(b, false, now)
	if err != nil || !changed {
		t.Fatalf("%+v: changed %v, %v", b, changed, err)
	}
	return made
}

func (l *List) standing(after time.Duration, addr string) Standing {
	s, _ := l.Find(epoch.Add(after), netip.MustParseAddr(addr))
	return s
}

// An allowance ends the block of its prefix and has those inside it sleep until
// it is over; a longer one holds beside a shorter, and beside what is protected
// or forced.
func TestAllowance(t *testing.T) {
	l := New(Config{Protected: prefixes("172.16.9.9/32")})
	mustMerge(t, l, block("172.16.0.0/16", time.Hour), block("172.16.1.7/32", time.Hour))
	mustForce(t, l, block("172.16.9.9/32", time.Hour))
	mustAdd(t, l, allowance("172.16.0.0/16", time.Minute), epoch)
	mustAdd(t, l, allowance("172.16.1.0/24", time.Second), epoch)
	for _, tt := range []struct {
		addr  string
		after time.Duration
		want  Standing
	}{
		{"172.16.1.7", 0, Allowed},
		{"172.16.9.9", 0, Allowed},
		{"172.16.200.1", 0, Allowed},
		{"172.16.1.7", time.Second, Allowed}, // the longest is over, the one around it not
		{"172.16.1.7", time.Minute, Blocked},
		{"172.16.9.9", time.Minute, Blocked},
		{"172.16.200.1", time.Minute, None}, // its block was ended, and does not come back
	} {
		if got := l.standing(tt.after, tt.addr); got != tt.want {
			t.Errorf("%s after %v: %s, want %s", tt.addr, tt.after, got, tt.want)
		}
	}
	if a, ok := l.Allowance(epoch, netip.MustParsePrefix("172.16.1.7/32")); !ok || a.Prefix.String() != "172.16.1.0/24" {
		t.Errorf("%v %v", a, ok)
	}
	if _, ok := l.Allowance(epoch, netip.MustParsePrefix("172.16.0.0/15")); ok {
		t.Error("an allowance covers what is wider")
	}
	if l.Empty() || l.Len() != 2 || l.Stats().Allowances != 2 {
		t.Errorf("%d blocks, %+v", l.Len(), l.Stats())
	}
}

// Whoever makes a block here is told that an allowance holds the prefix; a block
// that another node made before it heard is taken, and loses or sleeps.
func TestAllowanceAndBlocks(t *testing.T) {
	l := New(Config{})
	made := mustAdd(t, l, allowance("172.16.1.0/24", time.Hour), epoch)
	for _, p := range []string{"172.16.1.0/24", "172.16.1.9/32"} {
		if _, changed, err := l.Add(block(p, time.Hour), true, epoch); changed || !errors.Is(err, ErrAllowed) {
			t.Errorf("a block of %s: %v, %v", p, changed, err)
		}
	}
	mustAdd(t, l, block("172.16.0.0/16", time.Hour), epoch)
	for version := range uint64(1000) { // of a node that was cut off
		b := block("172.16.1.0/24", time.Hour)
		b.Version = version
		mustMerge(t, l, b)
	}
	if got := l.standing(0, "172.16.1.9"); got != Allowed || l.standing(0, "172.16.2.9") != Blocked {
		t.Errorf("%s", got)
	}
	later := block("172.16.1.0/24", time.Hour)
	later.Version = made.Version + 1
	mustMerge(t, l, later)
	if got := l.standing(0, "172.16.1.9"); got != Blocked || l.Stats().Allowances != 0 {
		t.Errorf("a later word does not replace the allowance: %s", got)
	}
}

func TestDisallow(t *testing.T) {
	l := New(Config{})
	forEver := allowance("172.16.1.0/24", 0)
	forEver.Until = edgeguard.Forever
	made := mustAdd(t, l, forEver, epoch)
	mustMerge(t, l, block("172.16.1.9/32", time.Hour))
	if _, ok := l.Lift(made.Prefix, epoch, "", ""); ok {
		t.Error("an allowance was lifted as a block")
	}
	if _, ok := l.Disallow(netip.MustParsePrefix("172.16.1.9/32"), epoch, "", ""); ok {
		t.Error("a block was taken back as an allowance")
	}
	at := epoch.Add(time.Minute)
	tomb, ok := l.Disallow(made.Prefix, at, "moved out", "n2")
	if !ok || !tomb.Allow || !tomb.Lifted || tomb.Version != made.Version+1 || tomb.Reason != "moved out" || tomb.Origin != "n2" || tomb.Since != at {
		t.Errorf("%v %+v", ok, tomb)
	}
	if want := at.Add(rememberAllowance); tomb.Until != want {
		t.Errorf("remembered until %s, want %s", tomb.Until, want)
	}
	if got := l.standing(time.Minute, "172.16.1.9"); got != Blocked {
		t.Errorf("what slept is %s", got)
	}
	if changed, err := l.Merge(made, at); changed || err != nil || l.standing(time.Minute, "172.16.1.1") != None {
		t.Errorf("older news brought it back: %v, %v", changed, err)
	}
	checkCounts(t, l)
}

// Wide allowances want force, that of everybody included.
func TestAllowanceWidth(t *testing.T) {
	for _, p := range []string{"0.0.0.0/0", "::/0", "10.0.0.0/15", "2a00::/31"} {
		l := New(Config{})
		b := allowance(p, time.Hour)
		if _, _, err := l.Add(b, false, epoch); !errors.Is(err, ErrTooWide) {
			t.Errorf("%s: %v", p, err)
		}
		if _, changed, err := l.Add(b, true, epoch); !changed || err != nil || !l.Trust(b.Prefix).Forced {
			t.Errorf("%s, forced: %v, %v", p, changed, err)
		}
		if s, _ := l.Find(epoch, b.Prefix.Addr().Next()); s != Allowed {
			t.Errorf("%s: %s", p, s)
		}
		if _, ok := l.Disallow(b.Prefix, epoch, "", ""); !ok || !l.Empty() || !l.Trust(b.Prefix).Forced {
			t.Errorf("%s stays, or other nodes will not believe that it is taken back", p)
		}
	}
}

// A version that leaves no room is not passed over.
func TestAllowanceOfTheLastVersions(t *testing.T) {
	l := New(Config{})
	b := block("172.16.1.1/32", time.Hour)
	b.Version = math.MaxUint64 - 3
	mustMerge(t, l, b)
	if made := mustAdd(t, l, allowance("172.16.1.1/32", time.Hour), epoch); made.Version != b.Version+1 {
		t.Errorf("version %d", made.Version)
	}
}

// The end of an allowance is told, by time and by a block in its place.
func TestAllowanceChangesAreTold(t *testing.T) {
	l := New(Config{})
	var told []string
	now := epoch
	l.OnChange(func(b edgeguard.Block) {
		word := "block"
		switch {
		case b.Allow && b.Lifted:
			word = "taken back"
		case b.Allow && !b.Until.After(now):
			word = "over"
		case b.Allow:
			word = "allowed"
		}
		told = append(told, word+" "+b.Prefix.Addr().String())
	})
	mustAdd(t, l, allowance("10.0.0.1/32", time.Hour), epoch)
	mustAdd(t, l, allowance("10.0.0.2/32", time.Hour), epoch)
	l.Disallow(netip.MustParsePrefix("10.0.0.1/32"), epoch, "", "")
	b := block("10.0.0.2/32", time.Hour)
	b.Version = math.MaxUint64 / 2
	now = epoch.Add(time.Minute)
	if _, err := l.Merge(b, now); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, l, allowance("10.0.0.3/32", 2*time.Minute))
	now = epoch.Add(2 * time.Minute)
	l.Sweep(now)
	want := []string{"allowed 10.0.0.1", "allowed 10.0.0.2", "taken back 10.0.0.1", "over 10.0.0.2", "block 10.0.0.2", "allowed 10.0.0.3", "over 10.0.0.3"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}

// SetAllow leaves the allowances alone.
func TestSetAllowKeepsAllowances(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24")})
	mustAdd(t, l, allowance("192.0.2.0/24", time.Hour), epoch)
	l.SetAllow(nil)
	if got := l.standing(0, "192.0.2.1"); got != Allowed {
		t.Errorf("%s", got)
	}
	if _, ok := l.Disallow(netip.MustParsePrefix("192.0.2.0/24"), epoch, "", ""); !ok || l.standing(0, "192.0.2.1") != None {
		t.Error("it stays")
	}
}

func TestFindBesideAllowancesDoesNotAllocate(t *testing.T) {
	l := New(Config{})
	mustMerge(t, l, block("172.16.1.1/32", time.Hour))
	mustAdd(t, l, allowance("172.16.2.0/24", time.Hour), epoch)
	for _, addr := range []string{"172.16.1.1", "172.16.2.2", "172.16.1.2"} {
		a := netip.MustParseAddr(addr)
		if n := testing.AllocsPerRun(100, func() { l.Find(epoch, a) }); n != 0 {
			t.Errorf("%s: %v allocations", addr, n)
		}
	}
}

// Whoever looks while an allowance is made again and again, and blocks and others
// come and go, always finds it.
func TestAllowanceIsAlwaysThere(t *testing.T) {
	l := New(Config{})
	mustAdd(t, l, allowance("172.16.1.0/24", time.Hour), epoch)
	addr, done := netip.MustParseAddr("172.16.1.9"), make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s, _ := l.Find(epoch, addr); s != Allowed {
					t.Errorf("found %s", s)
					return
				}
			}
		})
	}
	for i := range 1000 {
		mustAdd(t, l, allowance("172.16.1.0/24", time.Hour+time.Duration(i)), epoch)
		mustMerge(t, l, block("172.16.1.9/32", time.Minute))
		mustAdd(t, l, allowance("172.16.1.9/32", time.Minute), epoch)
		l.Disallow(netip.MustParsePrefix("172.16.1.9/32"), epoch, "", "")
	}
	l.Sweep(epoch.Add(2 * time.Minute))
	close(done)
	readers.Wait()
	checkCounts(t, l)
}
