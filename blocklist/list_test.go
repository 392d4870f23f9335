package blocklist

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
	"unsafe"

	"edgeguard"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func block(prefix string, until time.Duration) edgeguard.Block {
	return edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Since: epoch, Until: epoch.Add(until), Version: 1}
}

func prefixes(list ...string) []netip.Prefix {
	var parsed []netip.Prefix
	for _, s := range list {
		parsed = append(parsed, netip.MustParsePrefix(s))
	}
	return parsed
}

func mustMerge(t testing.TB, l *List, blocks ...edgeguard.Block) {
	t.Helper()
	for _, b := range blocks {
		if _, err := l.Merge(b, epoch); err != nil {
			t.Fatal(err)
		}
	}
}

func mustForce(t testing.TB, l *List, blocks ...edgeguard.Block) {
	t.Helper()
	for _, b := range blocks {
		if _, err := l.Force(b, epoch); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCovers(t *testing.T) {
	l := New(Config{Allow: prefixes("172.16.9.0/24"), Protected: prefixes("10.0.0.0/8")})
	mustMerge(t, l, block("172.16.0.0/16", time.Hour), block("172.16.5.0/32", time.Hour), block("2001:db8::/64", time.Minute))
	for _, c := range []struct {
		prefix string
		after  time.Duration
		want   bool
	}{
		{"172.16.0.0/16", 0, true},
		{"172.16.4.0/24", 0, true},
		{"172.16.4.7/32", 0, true},
		{"172.0.0.0/8", 0, false},
		{"172.16.0.0/15", 0, false},
		{"172.16.9.0/24", 0, false}, // allowed
		{"172.16.8.0/23", 0, true},  // allowed in its second half
		{"172.16.5.0/24", 0, false}, // a longer block hides the /16
		{"10.1.0.0/16", 0, false},   // protected
		{"2001:db8::/64", 0, true},
		{"2001:db8::/64", time.Minute, false}, // ended
		{"2001:db8::/63", 0, false},
	} {
		if got := l.Covers(epoch.Add(c.after), netip.MustParsePrefix(c.prefix)); got != c.want {
			t.Errorf("%s after %v: %v", c.prefix, c.after, got)
		}
	}
}

func TestFind(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24", "203.0.113.99/24"), Protected: prefixes("10.0.0.0/8", "192.0.2.1/32", "::ffff:198.51.100.1/128")})
	mustMerge(t, l,
		block("172.16.0.0/16", time.Hour), block("172.16.5.0/24", time.Minute), block("172.16.5.9/32", time.Second),
		block("2001:db8::/64", time.Hour))
	mustForce(t, l, block("10.1.0.0/16", time.Hour), block("10.1.2.0/24", time.Minute))
	tests := []struct {
		name, addr string
		after      time.Duration
		standing   Standing
		prefix     string
	}{
		{"never heard of", "8.8.8.8", 0, None, ""},
		{"longest wins", "172.16.5.9", 0, Blocked, "172.16.5.9/32"},
		{"over at its end, not after it", "172.16.5.9", time.Second, Blocked, "172.16.5.0/24"},
		{"an expired longest does not hide a shorter", "172.16.5.9", 59 * time.Second, Blocked, "172.16.5.0/24"},
		{"nor do two", "172.16.5.9", 2 * time.Minute, Blocked, "172.16.0.0/16"},
		{"all over", "172.16.5.9", time.Hour, None, ""},
		{"IPv6 by /64", "2001:db8::77", 0, Blocked, "2001:db8::/64"},
		{"next /64", "2001:db8:0:1::77", 0, None, ""},
		{"allowlist", "192.0.2.7", 0, Allowed, ""},
		{"allowlist over protected", "192.0.2.1", 0, Allowed, ""},
		{"allowlist prefix with host bits", "203.0.113.1", 0, Allowed, ""},
		{"protected", "10.9.9.9", 0, Protected, ""},
		{"protected, given as mapped", "198.51.100.1", 0, Protected, ""},
		{"forced block of protected", "10.1.2.3", 0, Blocked, "10.1.2.0/24"},
		{"its shorter one", "10.1.2.3", time.Minute, Blocked, "10.1.0.0/16"},
		{"and protected again after it", "10.1.2.3", time.Hour, Protected, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			standing, b := l.Find(epoch.Add(tt.after), netip.MustParseAddr(tt.addr))
			if (standing == Blocked) != (b != nil) {
				t.Fatalf("%s with block %v", standing, b)
			}
			if b == nil {
				b = &edgeguard.Block{}
			}
			prefix := ""
			if b.Prefix.IsValid() {
				prefix = b.Prefix.String()
			}
			if standing != tt.standing || prefix != tt.prefix {
				t.Errorf("got %s %q, want %s %q", standing, prefix, tt.standing, tt.prefix)
			}
		})
	}
}

func TestFindEmpty(t *testing.T) {
	l := New(Config{})
	if l.view.Load() != nil {
		t.Error("an empty list has a view")
	}
	for _, a := range []netip.Addr{{}, netip.IPv4Unspecified(), netip.MustParseAddr("::1")} {
		if s, b := l.Find(epoch, a); s != None || b != nil {
			t.Errorf("%v: %s %v", a, s, b)
		}
	}
	mustMerge(t, l, block("192.0.2.1/32", time.Second))
	if s, _ := l.Find(epoch, netip.Addr{}); s != None {
		t.Errorf("zero address: %s", s)
	}
	l.Sweep(epoch.Add(time.Second))
	if l.view.Load() != nil {
		t.Error("a list that is empty again has a view")
	}
	if l.Len() != 0 || len(slices.Collect(l.All(epoch))) != 0 {
		t.Error("not empty")
	}
}

func TestFindAllocatesNothing(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24"), Protected: prefixes("10.0.0.0/8")})
	mustMerge(t, l, block("172.16.0.0/16", time.Hour), block("172.16.5.0/24", time.Minute), block("2001:db8::/32", time.Hour), block("2001:db8::1/128", time.Minute))
	mustForce(t, l, block("10.1.0.0/16", time.Hour))
	later := epoch.Add(2 * time.Minute)
	for _, addr := range []string{"8.8.8.8", "2a00::1", "192.0.2.7", "10.1.0.1", "10.2.0.1", "172.16.5.5", "2001:db8::1"} {
		a := netip.MustParseAddr(addr)
		if n := testing.AllocsPerRun(100, func() { l.Find(later, a) }); n != 0 {
			t.Errorf("%s: %v allocations", addr, n)
		}
	}
}

// TestEntrySize holds what a block costs beside bart's own share: the size
// class of 192 bytes.
func TestEntrySize(t *testing.T) {
	if size := unsafe.Sizeof(entry{}); size > 192 {
		t.Errorf("an entry is %d bytes", size)
	}
}

func TestAllInOrder(t *testing.T) {
	l := New(Config{})
	given := []string{"2001:db8::/64", "203.0.113.9/32", "10.0.0.0/16", "10.0.0.0/24", "2001:db8::1/128", "9.0.0.0/24"}
	for _, p := range given {
		mustMerge(t, l, block(p, time.Minute))
	}
	mustMerge(t, l, block("11.0.0.0/24", time.Second))
	want := prefixes("9.0.0.0/24", "10.0.0.0/16", "10.0.0.0/24", "203.0.113.9/32", "2001:db8::/64", "2001:db8::1/128")
	var got []netip.Prefix
	for b := range l.All(epoch.Add(time.Second)) {
		// A change during the iteration is not seen by it, and waits for nothing.
		mustMerge(t, l, block(fmt.Sprintf("12.0.%d.0/24", len(got)), time.Minute))
		got = append(got, b.Prefix)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for range l.All(epoch) {
		break
	}
}

func TestStats(t *testing.T) {
	l := New(Config{})
	manual := block("10.0.0.0/24", time.Minute)
	manual.Rule = "manual"
	mustMerge(t, l, block("9.0.0.1/32", time.Second), block("9.0.0.2/32", time.Minute), block("2001:db8::/64", time.Minute), manual)
	if _, ok := l.Lift(manual.Prefix, epoch, "mistake", "n1"); !ok {
		t.Fatal("not lifted")
	}
	l.Sweep(epoch.Add(time.Second))
	s := l.Stats()
	if s.V4 != 1 || s.V6 != 1 || s.Remembered != 2 || len(s.Rules) != 1 || s.Rules["site"] != 2 {
		t.Errorf("%+v", s)
	}
	checkCounts(t, l)
}

func TestStandingString(t *testing.T) {
	for s, want := range map[Standing]string{None: "none", Allowed: "allowed", Protected: "protected", Blocked: "blocked", 9: "standing(9)"} {
		if s.String() != want {
			t.Errorf("got %s, want %s", s, want)
		}
	}
}
