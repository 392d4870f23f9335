package clientaddr

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
)

// house is the trust of most cases: this host, a private net, a content
// network's prefix in both families.
func house(tb testing.TB) *Trust {
	tb.Helper()
	trust, err := NewTrust(append(Loopback(),
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.1.0.0/16"), // one in the other
		netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:cd::/48")), true)
	if err != nil {
		tb.Fatal(err)
	}
	return trust
}

func finder(tb testing.TB, header string) *Finder {
	tb.Helper()
	f, err := NewFinder(house(tb), header)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

var findCases = []struct {
	name, header, peer string
	lines              []string
	want               string // "" for nobody
	hops               int
}{
	{"no header", "", "10.0.0.1", nil, "10.0.0.1", 0},
	{"empty header", "", "10.0.0.1", []string{""}, "10.0.0.1", 0},
	{"only commas", "", "10.0.0.1", []string{" , ,, "}, "10.0.0.1", 0},
	{"one hop", "", "10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9", 1},
	{"stranger's header is not read", "", "203.0.113.1", []string{"203.0.113.9"}, "203.0.113.1", 0},
	{"stranger's header in v6", "", "2001:db8::1", []string{"203.0.113.9"}, "2001:db8::1", 0},
	{"mapped peer", "", "::ffff:10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9", 1},
	{"mapped stranger", "", "::ffff:203.0.113.1", []string{"1.1.1.1"}, "203.0.113.1", 0},
	{"peer with a zone", "", "fe80::1%eth0", []string{"1.1.1.1"}, "fe80::1", 0},
	{"the right-most stranger", "", "10.0.0.1", []string{"1.1.1.1, 203.0.113.9, 10.2.2.2"}, "203.0.113.9", 2},
	{"forged left part", "", "10.0.0.1", []string{"127.0.0.1, 203.0.113.9"}, "203.0.113.9", 1},
	{"all trusted", "", "10.0.0.1", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3", 2},
	{"two lines in order", "", "10.0.0.1", []string{"1.1.1.1", "203.0.113.9"}, "203.0.113.9", 1},
	{"two lines, walked through", "", "10.0.0.1", []string{"203.0.113.9", "10.2.2.2"}, "203.0.113.9", 2},
	{"an empty line between", "", "10.0.0.1", []string{"203.0.113.9", "", "10.2.2.2"}, "203.0.113.9", 2},
	{"blanks and tabs", "", "10.0.0.1", []string{"\t203.0.113.9 ,\t 10.2.2.2 "}, "203.0.113.9", 2},
	{"trailing comma", "", "10.0.0.1", []string{"203.0.113.9,"}, "203.0.113.9", 1},
	{"port", "", "10.0.0.1", []string{"203.0.113.9:4711"}, "203.0.113.9", 1},
	{"brackets and port", "", "10.0.0.1", []string{"[2001:db8::9]:4711"}, "2001:db8::9", 1},
	{"brackets", "", "10.0.0.1", []string{"[2001:db8::9]"}, "2001:db8::9", 1},
	{"bare v6", "", "10.0.0.1", []string{"2001:db8::9"}, "2001:db8::9", 1},
	{"v6 proxy", "", "2001:db8:cd::5", []string{"2001:db8::9, 198.51.100.7"}, "2001:db8::9", 2},
	{"mapped in the header", "", "10.0.0.1", []string{"::ffff:203.0.113.9"}, "203.0.113.9", 1},
	{"mapped trusted hop", "", "10.0.0.1", []string{"203.0.113.9, ::ffff:10.9.9.9"}, "203.0.113.9", 2},
	{"zone", "", "10.0.0.1", []string{"fe80::9%eth0"}, "fe80::9", 1},
	{"garbage", "", "10.0.0.1", []string{"who"}, "10.0.0.1", 0},
	{"unknown", "", "10.0.0.1", []string{"unknown"}, "10.0.0.1", 0},
	{"garbage behind a proxy", "", "10.0.0.1", []string{"203.0.113.9, who, 10.2.2.2"}, "10.2.2.2", 1},
	{"leading zeros", "", "10.0.0.1", []string{"203.0.113.9, 01.2.3.4"}, "10.0.0.1", 0},
	{"hexadecimal", "", "10.0.0.1", []string{"0x0a000001"}, "10.0.0.1", 0},
	{"decimal", "", "10.0.0.1", []string{"167772161"}, "10.0.0.1", 0},
	{"short form", "", "10.0.0.1", []string{"10.1"}, "10.0.0.1", 0},
	{"unspecified", "", "10.0.0.1", []string{"0.0.0.0"}, "10.0.0.1", 0},
	{"multicast", "", "10.0.0.1", []string{"224.0.0.1"}, "10.0.0.1", 0},
	{"port too great", "", "10.0.0.1", []string{"203.0.113.9:65536"}, "10.0.0.1", 0},
	{"quoted in a plain list", "", "10.0.0.1", []string{`"203.0.113.9"`}, "10.0.0.1", 0},
	{"a prefix is no address", "", "10.0.0.1", []string{"203.0.113.0/24"}, "10.0.0.1", 0},
	{"a newline", "", "10.0.0.1", []string{"203.0.113.9\n"}, "10.0.0.1", 0},
	{"unix socket", "", "", []string{"203.0.113.9"}, "203.0.113.9", 1},
	{"unix socket without header", "", "", nil, "", 0},
	{"too long", "", "10.0.0.1", []string{strings.Repeat("1", 1<<20)}, "10.0.0.1", 0},
	{"too long behind a hop", "", "10.0.0.1", []string{strings.Repeat("1", 1<<20) + ", 203.0.113.9"}, "203.0.113.9", 1},
	{"fifty hops", "", "10.0.0.1", []string{"203.0.113.9" + strings.Repeat(", 10.2.2.2", MaxHops-1)}, "203.0.113.9", MaxHops},
	{"one more", "", "10.0.0.1", []string{"203.0.113.9" + strings.Repeat(", 10.2.2.2", MaxHops)}, "10.2.2.2", MaxHops},
	{"a thousand commas", "", "10.0.0.1", []string{"203.0.113.9" + strings.Repeat(",", 1000)}, "10.0.0.1", 0},

	{"forwarded", Forwarded, "10.0.0.1", []string{"for=203.0.113.9;proto=http;by=203.0.113.43"}, "203.0.113.9", 1},
	{"forwarded, case and blanks", Forwarded, "10.0.0.1", []string{" proto=http; FOR=203.0.113.9 "}, "203.0.113.9", 1},
	{"forwarded v6", Forwarded, "10.0.0.1", []string{`for="[2001:db8:cafe::17]:4711"`}, "2001:db8:cafe::17", 1},
	{"forwarded v6 without port", Forwarded, "10.0.0.1", []string{`for="[2001:db8:cafe::17]"`}, "2001:db8:cafe::17", 1},
	{"forwarded, hidden port", Forwarded, "10.0.0.1", []string{`for="203.0.113.9:_a.b-c"`}, "203.0.113.9", 1},
	{"forwarded, hidden client", Forwarded, "10.0.0.1", []string{"for=_hidden"}, "10.0.0.1", 0},
	{"forwarded, unknown client", Forwarded, "10.0.0.1", []string{"for=203.0.113.9, for=unknown, for=10.2.2.2"}, "10.2.2.2", 1},
	{"forwarded, two hops", Forwarded, "10.0.0.1", []string{"for=203.0.113.9, for=10.2.2.2"}, "203.0.113.9", 2},
	{"forwarded, two lines", Forwarded, "10.0.0.1", []string{"for=203.0.113.9", "for=10.2.2.2;by=10.0.0.1"}, "203.0.113.9", 2},
	{"forwarded, comma in quotes", Forwarded, "10.0.0.1", []string{`for=203.0.113.9;host="a,for=1.1.1.1"`}, "203.0.113.9", 1},
	{"forwarded, semicolon in quotes", Forwarded, "10.0.0.1", []string{`for=203.0.113.9;host="a;for=1.1.1.1"`}, "203.0.113.9", 1},
	{"forwarded, escaped quote", Forwarded, "10.0.0.1", []string{`for=203.0.113.9;host="a\",for=1.1.1.1"`}, "203.0.113.9", 1},
	{"forwarded, a quote that the client left open", Forwarded, "10.0.0.1", []string{`for="x, for=203.0.113.9`}, "203.0.113.9", 1},
	{"forwarded, twice in one element", Forwarded, "10.0.0.1", []string{"for=1.1.1.1;for=203.0.113.9"}, "10.0.0.1", 0},
	{"forwarded without for", Forwarded, "10.0.0.1", []string{"for=203.0.113.9, proto=http"}, "10.0.0.1", 0},
	{"forwarded from a stranger", Forwarded, "203.0.113.1", []string{"for=1.1.1.1"}, "203.0.113.1", 0},

	{"one address", "X-Real-IP", "10.0.0.1", []string{"203.0.113.9"}, "203.0.113.9", 1},
	{"one address is not walked", "x-real-ip", "10.0.0.1", []string{"10.2.2.2"}, "10.2.2.2", 1},
	{"the last of two", "CF-Connecting-IP", "10.0.0.1", []string{"1.1.1.1", "203.0.113.9"}, "203.0.113.9", 1},
	{"a list where one belongs", "X-Real-IP", "10.0.0.1", []string{"1.1.1.1, 203.0.113.9"}, "10.0.0.1", 0},
	{"one address from a stranger", "X-Real-IP", "203.0.113.1", []string{"1.1.1.1"}, "203.0.113.1", 0},
}

func TestFind(t *testing.T) {
	for _, c := range findCases {
		t.Run(c.name, func(t *testing.T) {
			var peer, want netip.Addr
			if c.peer != "" {
				peer = netip.MustParseAddr(c.peer)
			}
			if c.want != "" {
				want = netip.MustParseAddr(c.want)
			}
			got := finder(t, c.header).Find(peer, c.lines)
			if got != (Client{want, c.hops}) || got.FromHeader() != (c.hops > 0) {
				t.Errorf("Find(%v, %.80q) = %v after %d hops, want %v after %d", peer, c.lines, got.Addr, got.Hops, want, c.hops)
			}
		})
	}
}

// TestForgedHeaders is fault 11: 200 random headers of 0 to 50 hops over
// several lines, with spellings and garbage, against what is known from how
// they were made.
func TestForgedHeaders(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rng := rand.New(rand.NewPCG(seed, 11))
	for i := range 200 {
		c := randomHeader(rng)
		name := []string{"", Forwarded}[i%2]
		lines := make([]string, len(c.lines))
		for l, hops := range c.lines {
			lines[l] = joinHops(rng, hops, name == Forwarded)
		}
		if got := finder(t, name).Find(c.peer, lines); got.Addr != c.client {
			t.Fatalf("case %d: Find(%v, %q) = %v, want %v", i, c.peer, lines, got.Addr, c.client)
		}
	}
}

type header struct {
	peer, client netip.Addr
	lines        [][]string // hops, not yet joined
}

// randomHeader makes the hops from the right to the left and notes on the way
// who the client is.
func randomHeader(rng *rand.Rand) header {
	trusted := rng.IntN(4) > 0
	h := header{peer: randomAddr(rng, trusted), lines: [][]string{nil}}
	h.client = h.peer
	for n := rng.IntN(MaxHops + 1); n > 0; n-- {
		isProxy, isGarbage := rng.IntN(3) > 0, rng.IntN(12) == 0
		addr := randomAddr(rng, isProxy)
		hop := spell(rng, addr)
		if isGarbage {
			hop = []string{"unknown", "_x", "01.2.3.4", "1.2.3", "a b", "::g", "1.2.3.4:x", "%"}[rng.IntN(8)]
		}
		if trusted && !isGarbage {
			h.client = addr
		}
		trusted = trusted && isProxy && !isGarbage
		if rng.IntN(5) == 0 {
			h.lines = append([][]string{nil}, h.lines...)
		}
		h.lines[0] = append([]string{hop}, h.lines[0]...)
	}
	return h
}

func randomAddr(rng *rand.Rand, trusted bool) netip.Addr {
	n := byte(1 + rng.IntN(254))
	switch {
	case trusted && rng.IntN(3) == 0:
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0xcd, 15: n})
	case trusted:
		return netip.AddrFrom4([4]byte{10, 1, 2, n})
	case rng.IntN(3) == 0:
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 9, 15: n})
	}
	return netip.AddrFrom4([4]byte{203, 0, 113, n})
}

// spell writes an address in one of its clear forms.
func spell(rng *rand.Rand, a netip.Addr) string {
	if a.Is4() {
		return []string{a.String(), a.String() + ":443", "::ffff:" + a.String(), "[::ffff:" + a.String() + "]:1"}[rng.IntN(4)]
	}
	return []string{a.String(), "[" + a.String() + "]", "[" + a.String() + "]:65535", strings.ToUpper(a.StringExpanded()), a.String() + "%eth0"}[rng.IntN(5)]
}

func joinHops(rng *rand.Rand, hops []string, forwarded bool) string {
	out := make([]string, len(hops))
	for i, hop := range hops {
		if forwarded {
			hop = []string{`for="%s"`, `proto=https;for="%s"`, `For="%s";by=10.0.0.1;host="a,b;c"`}[rng.IntN(3)]
			hop = fmt.Sprintf(hop, hops[i])
		}
		out[i] = strings.Repeat(" ", rng.IntN(2)) + hop
	}
	return strings.Join(out, ",")
}

func TestFindDoesNotAllocate(t *testing.T) {
	peer := netip.MustParseAddr("10.0.0.1")
	for header, lines := range map[string][]string{
		"":          {"1.1.1.1, 203.0.113.9, 10.2.2.2"},
		Forwarded:   {`for=203.0.113.9, for="[2001:db8:cd::1]:80";proto=https`},
		"X-Real-IP": {"203.0.113.9"},
	} {
		f := finder(t, header)
		if n := testing.AllocsPerRun(100, func() { f.Find(peer, lines) }); n != 0 {
			t.Errorf("%s: %v allocations", f.Header(), n)
		}
	}
}

func TestNewFinderRefuses(t *testing.T) {
	for _, name := range []string{"X Real", "a:b", "a,b", "a\n"} {
		if _, err := NewFinder(house(t), name); err == nil {
			t.Errorf("NewFinder(%q) took it", name)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	f, peer, lines := finder(b, ""), netip.MustParseAddr("10.0.0.1"), []string{"203.0.113.9"}
	b.ReportAllocs()
	for b.Loop() {
		f.Find(peer, lines)
	}
}
