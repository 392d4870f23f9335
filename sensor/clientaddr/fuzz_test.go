package clientaddr

import (
	"net/netip"
	"strings"
	"testing"
)

// FuzzFind holds what no header may break: a stranger's is not read, a client
// has one spelling, and what stands to the left of a stranger changes nothing.
func FuzzFind(f *testing.F) {
	for i, c := range findCases {
		if len(c.lines) > 0 && len(c.lines[0]) < 4096 {
			f.Add(uint8(i), c.lines[0], c.lines[len(c.lines)-1])
		}
	}
	proxy, stranger := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("203.0.113.1")
	f.Fuzz(func(t *testing.T, which uint8, first, last string) {
		header := []string{XForwardedFor, Forwarded, "X-Real-IP"}[which%3]
		find, lines := finder(t, header), []string{first, last}
		if got := find.Find(stranger, lines); got != (Client{stranger, 0}) {
			t.Fatalf("a stranger's header was read: %v", got)
		}
		got := find.Find(proxy, lines)
		if got.Addr != plain(got.Addr) || !got.Addr.IsValid() || got.Hops > MaxHops || got.Hops == 0 && got.Addr != proxy {
			t.Fatalf("Find(%q) = %v", lines, got)
		}
		if header == "X-Real-IP" {
			return
		}
		hop := ",203.0.113.7"
		if header == Forwarded {
			hop = ",for=203.0.113.7"
		}
		if got := find.Find(proxy, []string{first, last + hop}); got.Addr.String() != "203.0.113.7" || got.Hops != 1 {
			t.Fatalf("a client's %q hid the proxy's word: %v", lines, got)
		}
	})
}

func FuzzParseAddr(f *testing.F) {
	for _, s := range append(spellings(netip.MustParseAddr("203.0.113.9")), "01.2.3.4", "[::1]:x", "_x") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := ParseAddr(s)
		if !ok {
			return
		}
		if again, ok := ParseAddr(a.String()); !ok || again != a || a.Zone() != "" || a.Is4In6() {
			t.Fatalf("ParseAddr(%q) = %v, read again %v %v", s, a, again, ok)
		}
		if strings.ContainsAny(s, " \t,\"") {
			t.Fatalf("ParseAddr(%q) = %v", s, a)
		}
	})
}
