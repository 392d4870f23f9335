package blocklist_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// Check says of a block what Add without force then does, and changes nothing.
func TestCheckIsAsAdd(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Protected: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}})
	office := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Rule: edgeguard.ManualRule, Allow: true, Since: now, Until: edgeguard.Forever}
	if _, _, err := l.Add(office, false, now); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{
		"203.0.113.7/32": nil, "203.0.113.0/24": nil, "10.0.0.0/24": nil, "10.0.0.1/32": blocklist.ErrProtected, "192.0.2.7/32": blocklist.ErrAllowed, "192.0.0.0/16": nil,
		"198.51.100.7/32": blocklist.ErrAllowed, "20.0.0.0/8": blocklist.ErrTooWide, "2001::/16": blocklist.ErrTooWide, "0.0.0.0/0": blocklist.ErrUnspecified, "203.0.113.7/24": blocklist.ErrInvalid,
	} {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(text), Rule: edgeguard.ManualRule, Since: now, Until: now.Add(time.Hour)}
		before := l.Len()
		if err := l.Check(b, now); !errors.Is(err, want) || l.Len() != before {
			t.Errorf("%s: %v, want %v; %d blocks", text, err, want, l.Len())
		}
		if _, _, err := l.Add(b, false, now); !errors.Is(err, want) {
			t.Errorf("%s is added: %v, want %v", text, err, want)
		}
	}
}

func TestProtectedIn(t *testing.T) {
	l := blocklist.New(blocklist.Config{Protected: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.8/30"), netip.MustParsePrefix("127.0.0.0/8")}})
	for text, want := range map[string]int{"10.0.0.0/24": 2, "10.0.0.1/32": 1, "10.0.0.2/32": 0, "127.0.0.1/32": 0, "0.0.0.0/0": 2, "::/0": 0} {
		if got := l.ProtectedIn(netip.MustParsePrefix(text), 2); len(got) != want {
			t.Errorf("%s holds %v, want %d", text, got, want)
		}
	}
}
