package checks

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/node/alarm"
)

// Of a heartbeat no more than 16 addresses are accepted, and only such as a client can
// have.
func TestPeersAreBounded(t *testing.T) {
	var own []netip.Addr
	for i := range MostOwn + 1 {
		own = append(own, netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}))
	}
	p := NewPeers()
	p.Add("edge-2", own, false)
	p.Add("edge-3", []netip.Addr{
		netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fe80::1%eth0"), {}, netip.MustParseAddr("0.0.0.0"),
		netip.MustParseAddr("::ffff:203.0.113.1"), netip.MustParseAddr("2001:db8::1"),
	}, true)
	signed, unsigned := p.Prefixes()
	if len(unsigned) != MostOwn || len(signed) != 2 || p.Why(netip.MustParseAddr("203.0.113.1")) == "" || p.Why(own[MostOwn]) != "" {
		t.Errorf("%v and %v", signed, unsigned)
	}
	again := NewPeers()
	again.Add("edge-2", own, false)
	if p.Equal(again) || (*Peers)(nil).Equal(p) || (*Peers)(nil).Why(own[0]) != "" {
		t.Error("other addresses are not equal")
	}
	for i := range mostPeers {
		p.Add(fmt.Sprint(i), []netip.Addr{netip.AddrFrom4([4]byte{100, 64, byte(i >> 8), byte(i)})}, false)
	}
	if _, unsigned = p.Prefixes(); len(unsigned) != mostPeers {
		t.Errorf("%d addresses of all nodes", len(unsigned))
	}
}

// A blocked address that a node claims is an alarm while both last.
func TestClaims(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var raised []string
	list := blocklist.New(blocklist.Config{})
	tracker := alarm.New(func(a edgeguard.Alarm) { raised = append(raised, a.Text) }, func(string, string) {})
	peers := NewPeers()
	peers.Add("edge-2", []netip.Addr{netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("198.51.100.8")}, false)
	list.SetPeers(peers.Prefixes())
	c := &Claims{List: list, Alarms: tracker, Peers: func() *Peers { return nil }}
	block := func(text string) {
		t.Helper()
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(text), Rule: "manual", Since: now, Until: now.Add(time.Hour)}
		if _, _, err := list.Add(b, false, now); err != nil {
			t.Fatal(err)
		}
	}
	active := func(want bool) {
		t.Helper()
		c.Check(now)
		if got := len(tracker.Lasting()) == 1; got != want {
			t.Errorf("active: %v, raised %q", got, raised)
		}
	}
	block("198.51.100.0/24")
	active(false)
	c.Peers = func() *Peers { return peers }
	active(false)
	block("198.51.100.8/32")
	block("198.51.100.7/32")
	active(true)
	if !strings.HasPrefix(raised[0], "198.51.100.7 and 1 more, which node edge-2 says is its own address, is blocked") {
		t.Errorf("%q", raised)
	}
	list.Lift(netip.MustParsePrefix("198.51.100.7/32"), now, "", "")
	list.Lift(netip.MustParsePrefix("198.51.100.8/32"), now, "", "")
	active(false)
}
