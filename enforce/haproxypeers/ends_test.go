package haproxypeers_test

import (
	"iter"
	"net/netip"
	"regexp"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/enforce"
	"edgeguard/enforce/haproxypeers"
	"edgeguard/haproxy"
	"edgeguard/internal/program"
)

// inForce makes blocks in force, cut around what is exempt, and returns when HAProxy
// knows.
func inForce(t testing.TB, e *haproxypeers.Teacher, s *session, until time.Time, exempt []netip.Prefix, prefixes ...string) {
	t.Helper()
	var all iter.Seq[edgeguard.Block] = func(yield func(edgeguard.Block) bool) {
		for _, p := range prefixes {
			if !yield(edgeguard.Block{Prefix: netip.MustParsePrefix(p)}) {
				return
			}
		}
	}
	var entries []enforce.Entry
	for b := range enforce.Around(all, exempt) {
		entries = append(entries, enforce.Entry{Prefix: b.Prefix, Until: until})
	}
	if err := e.Replace(t.Context(), time.Now(), entries); err != nil {
		t.Fatal(err)
	}
	s.sync()
}

// TestSpared: an exempt address inside a block is never refused, and its neighbours are,
// for each length.
func TestSpared(t *testing.T) {
	p := startHAProxy(t, haproxy.BlockTableLines())
	e := haproxypeers.New()
	s := p.connect(t, e)
	for block, c := range map[string]struct{ exempt, passes, refused string }{
		"203.0.113.0/24":    {"203.0.113.7/32", "203.0.113.7", "203.0.113.8"},
		"203.0.0.0/16":      {"203.0.113.0/26", "203.0.113.63", "203.0.113.64"},
		"198.0.0.0/15":      {"198.1.2.3/32", "198.1.2.3", "198.0.2.3"},
		"2001:db8::/64":     {"2001:db8::7/128", "2001:db8::7", "2001:db8::8"},
		"2001:db8:1::/56":   {"2001:db8:1:7::/64", "2001:db8:1:7::1", "2001:db8:1:8::1"},
		"2001:db8:2::/48":   {"2001:db8:2:7::7/128", "2001:db8:2:7::7", "2001:db8:2:7::8"},
		"2001:db8:3::/44":   {"2001:db8:3:7::7/128", "2001:db8:3:7::7", "2001:db8:8::8"},
		"2001:db8:f0::/64":  {"2001:db8:f0::/96", "2001:db8:f0::7", ""},
		"2001:db8:f1::7/64": {"2001:db8:f1::/56", "2001:db8:f1::7", ""},
	} {
		inForce(t, e, s, time.Now().Add(time.Hour), []netip.Prefix{netip.MustParsePrefix(c.exempt)}, block)
		if p.refuses(t, netip.MustParseAddr(c.passes)) {
			t.Errorf("%s without %s refuses %s", block, c.exempt, c.passes)
		}
		if c.refused != "" && !p.refuses(t, netip.MustParseAddr(c.refused)) {
			t.Errorf("%s without %s passes %s", block, c.exempt, c.refused)
		}
	}
}

// TestWithoutEdgeguard: when edgeguard is gone, a block is in force until its table's time
// is over, and an exempt address passes all the while. The tables' times are minutes, and
// seconds here, in the same order; HAProxy knows nothing of the difference. 3.x ends a
// block at its own end, if that is sooner.
func TestWithoutEdgeguard(t *testing.T) {
	seconds := regexp.MustCompile(`expire (\d)(\d)\ds`) // 240s, 260s, 280s and 300s become 2400ms and so on
	p := startHAProxy(t, seconds.ReplaceAllString(haproxy.BlockTableLines(), "expire ${1}${2}00ms"))
	p.faster = 100
	e := haproxypeers.New()
	exempt := []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("2001:db8::7/128")}
	blocked := []netip.Addr{netip.MustParseAddr("203.0.113.8"), netip.MustParseAddr("2001:db8::8"), netip.MustParseAddr("192.0.2.1")}
	for _, lasts := range []time.Duration{time.Hour, time.Minute} {
		var s *session
		program.Eventually(t, "a block is refused", func() bool { // on a busy machine it may be over before it is asked for
			if s != nil {
				s.close()
			}
			s = p.connect(t, e)
			inForce(t, e, s, time.Now().Add(lasts), exempt, "203.0.113.0/24", "2001:db8::/64", "192.0.2.1/32")
			return p.refuses(t, blocked[0])
		})
		s.close() // without a word
		program.Eventually(t, "the blocks are over", func() bool {
			for _, addr := range exempt {
				if p.refuses(t, addr.Addr()) {
					t.Fatalf("%s is exempt, and refused", addr)
				}
			}
			for _, addr := range blocked {
				if p.refuses(t, addr) {
					return false
				}
			}
			return true
		})
	}
}

// TestRestarts: HAProxy that begins again is taught everything, and edgeguard that begins
// again lifts what it does not know, without a gap for what it does.
func TestRestarts(t *testing.T) {
	p := startHAProxy(t, haproxy.BlockTableLines())
	stays, goes := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	first := haproxypeers.New()
	s := p.connect(t, first)
	inForce(t, first, s, time.Now().Add(time.Hour), nil, "203.0.113.7/32", "203.0.113.8/32", "2001:db8::/56")
	s.close()
	if !p.refuses(t, stays) || !p.refuses(t, goes) {
		t.Fatal("the blocks are gone with edgeguard")
	}
	second := haproxypeers.New()
	if err := second.Replace(t.Context(), time.Now(), []enforce.Entry{{Prefix: netip.PrefixFrom(stays, 32), Until: time.Now().Add(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	p.connect(t, second).sync()
	if !p.refuses(t, stays) || p.refuses(t, goes) || p.refuses(t, netip.MustParseAddr("2001:db8::1")) {
		t.Error("after a restart, other blocks are in force than the node has")
	}
	fresh := startHAProxy(t, haproxy.BlockTableLines())
	fresh.connect(t, second)
	if !fresh.refuses(t, stays) || fresh.refuses(t, goes) {
		t.Error("a new HAProxy has other blocks than the node")
	}
}

// TestMany teaches 100,000 blocks and says how long it took.
func TestMany(t *testing.T) {
	p := startHAProxy(t, haproxy.BlockTableLines())
	e := haproxypeers.New()
	s := p.connect(t, e)
	const n = 100_000
	entries := make([]enforce.Entry, n)
	for i := range entries {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		entries[i] = enforce.Entry{Prefix: netip.PrefixFrom(addr, 32), Until: time.Now().Add(time.Hour)}
	}
	start := time.Now()
	if err := e.Replace(t.Context(), start, entries); err != nil {
		t.Fatal(err)
	}
	made := time.Since(start)
	s.sync()
	t.Logf("%d blocks: made in %v, all learned by HAProxy after %v", n, made, time.Since(start))
	for _, i := range []int{0, n / 2, n - 1} {
		if addr := entries[i].Prefix.Addr(); !p.refuses(t, addr) {
			t.Errorf("%s is not refused", addr)
		}
	}
	if addr := entries[n-1].Prefix.Addr().Next(); p.refuses(t, addr) {
		t.Errorf("%s is refused", addr)
	}
}
