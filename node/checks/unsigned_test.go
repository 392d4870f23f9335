package checks

import (
	"iter"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// TestUnsigned: records without a signature alarm where these are required, until
// they are signed or have ended.
func TestUnsigned(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	c := &config.Config{Fleet: &config.Fleet{RequireKey: true}}
	list := map[netip.Prefix]blocklist.Trust{}
	u := &Unsigned{
		Current: func() *pipeline.Generation { return &pipeline.Generation{Config: c} },
		Records: func() iter.Seq2[edgeguard.Block, blocklist.Trust] {
			return func(yield func(edgeguard.Block, blocklist.Trust) bool) {
				for p, trust := range list {
					if !yield(edgeguard.Block{Prefix: p, Until: begin.Add(time.Hour)}, trust) {
						return
					}
				}
			}
		},
		Alarms: alarm.New(func(edgeguard.Alarm) {}, nil),
	}
	look := func(what, want string, now time.Time) {
		t.Helper()
		u.Check(now)
		var got string
		for _, a := range u.Alarms.Lasting() {
			got += a.Kind + ": " + a.Text
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	look("empty", "", begin)
	list[a], list[b] = blocklist.Trust{Signed: true}, blocklist.Trust{}
	look("one of two", "fleet_unsigned: 1 records of this node's list", begin)
	look("the fix", "edgeguard fleet sign", begin)
	look("ended", "", begin.Add(time.Hour))
	look("again", "fleet_unsigned: 1", begin)
	c.Fleet.RequireKey = false
	look("accept", "", begin)
	c.Fleet.RequireKey = true
	look("again", "fleet_unsigned: 1", begin)
	list[b] = blocklist.Trust{Signed: true}
	look("signed", "", begin)
	list[b] = blocklist.Trust{}
	look("again", "fleet_unsigned: 1", begin)
	c.Fleet = nil
	look("alone", "", begin)
}
