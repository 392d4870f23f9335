package blocklist

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

// An address of a signed heartbeat is blocked by force only. One that is not signed is
// spared from wider blocks, and its own applies.
func TestPeers(t *testing.T) {
	const mine4, claims4, mine6, claims6 = "198.51.100.7", "198.51.100.8", "2001:db8::7", "2001:db8:0:1::8"
	l := New(Config{Allow: prefixes("203.0.113.1/32"), Protected: prefixes("203.0.113.2/32")})
	blocks := []edgeguard.Block{block("198.51.100.0/24", time.Hour), block("2001:db8::/56", time.Hour), block("203.0.113.0/24", time.Hour)}
	mustMerge(t, l, blocks...)
	overruled := l.SetPeers(prefixes(mine4+"/32", mine6+"/128", "203.0.113.1/32", "203.0.113.2/32"), prefixes(claims4+"/32", claims6+"/128"))
	if len(overruled) != 3 {
		t.Errorf("enforcers need %v", overruled)
	}
	standings := func(want map[string]Standing) {
		t.Helper()
		for addr, want := range want {
			if s, _ := l.Find(epoch, netip.MustParseAddr(addr)); s != want {
				t.Errorf("%s is %s, want %s", addr, s, want)
			}
		}
	}
	standings(map[string]Standing{
		mine4: Peer, claims4: None, mine6: Peer, claims6: None,
		"198.51.100.9": Blocked, "2001:db8::8": Blocked, "203.0.113.1": Allowed, "203.0.113.2": Protected, "192.0.2.1": None,
	})
	if _, err := l.Merge(block(mine4+"/32", time.Hour), epoch); !errors.Is(err, ErrProtected) {
		t.Errorf("a block of a node's address: %v", err)
	}
	if _, err := l.Agree(block(mine4+"/32", time.Hour), Trust{Forced: true, Signed: true}, epoch); !errors.Is(err, ErrProtected) {
		t.Errorf("forced elsewhere: %v", err)
	}
	mustMerge(t, l, block(claims4+"/32", time.Hour), block("2001:db8:0:1::/64", time.Hour), block("2001:db8::/64", time.Hour))
	standings(map[string]Standing{mine4: Peer, claims4: Blocked, mine6: Peer, claims6: Blocked})
	mustForce(t, l, block(mine4+"/32", time.Hour), block("2001:db8::/60", time.Hour))
	standings(map[string]Standing{mine4: Blocked, mine6: Blocked})
	for prefix, want := range map[string]bool{
		"198.51.100.0/24": true, "198.51.100.9/32": false, "203.0.113.2/32": true, "2001:db8::/64": true, "192.0.2.0/24": false,
	} {
		if got := l.HasExempt(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s has exempt addresses: %v", prefix, got)
		}
	}
	signed, unsigned := l.Peers()
	if !slices.Equal(unsigned, prefixes(claims4+"/32", claims6+"/128")) || len(signed) != 4 {
		t.Errorf("%v and %v", signed, unsigned)
	}
	l.SetPeers(nil, nil)
	l.Lift(netip.MustParsePrefix(claims4+"/32"), epoch, "", "")
	standings(map[string]Standing{claims4: Blocked, claims6: Blocked})
}

// What covers a key with a claimed address is only what applies to that: its crossing
// makes a block of its own.
func TestAroundPassesClaimed(t *testing.T) {
	l := New(Config{})
	mustMerge(t, l, block("198.51.100.0/24", time.Hour), block("2001:db8::/56", time.Hour))
	l.SetPeers(nil, prefixes("198.51.100.8/32", "2001:db8::8/128"))
	for prefix, want := range map[string]int{
		"198.51.100.8/32": 0, "198.51.100.9/32": 1, "198.51.100.8/31": 1, "2001:db8::/64": 0, "2001:db8:0:1::/64": 1, "2001:db8::/60": 1,
	} {
		if got := l.Around(epoch, netip.MustParsePrefix(prefix)); len(got) != want {
			t.Errorf("%s: %v", prefix, got)
		}
	}
	mustMerge(t, l, block("198.51.100.8/32", time.Hour))
	mustForce(t, l, block("198.51.0.0/16", time.Hour))
	if got := l.Around(epoch, netip.MustParsePrefix("198.51.100.8/32")); len(got) != 2 {
		t.Errorf("its own and what was forced here: %v", got)
	}
}
