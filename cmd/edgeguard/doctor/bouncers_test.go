package doctor

import (
	"strings"
	"testing"
	"time"

	"edgeguard/admin/bouncers"
)

// TestBouncers: a firewall bouncer that may cut masks off, one that stays away, and none.
func TestBouncers(t *testing.T) {
	one := func(agent string, silent bool) bouncers.Bouncer {
		return bouncers.Bouncer{UserAgent: agent, Packets: true, BouncerFigure: bouncers.BouncerFigure{Name: "edge1", LastPull: time.Unix(1, 0), Silent: silent}}
	}
	for _, c := range []struct {
		all    []bouncers.Bouncer
		ranges int
		level  Severity
		text   string
	}{
		{nil, 0, Doubt, "no key"},
		{[]bouncers.Bouncer{{BouncerFigure: bouncers.BouncerFigure{Name: "new"}}}, 1, Doubt, "new has not asked"},
		{[]bouncers.Bouncer{one("crowdsec-firewall-bouncer/v0.0.25", true)}, 1, Wrong, "not asked for long"},
		{[]bouncers.Bouncer{one("crowdsec-firewall-bouncer/v0.0.25", false)}, 3, Doubt, "3 of 7 blocks are prefixes"},
		{[]bouncers.Bouncer{one("crowdsec-firewall-bouncer/v0.0.25", false)}, 0, OK, "edge1 asks"},
		{[]bouncers.Bouncer{one("crowdsec-nginx-bouncer/v1.0.8", false)}, 3, OK, "edge1 asks"},
	} {
		x := new(examination)
		x.bouncers(&bouncers.BouncerList{Bouncers: c.all, Ranges: c.ranges, Decisions: 7})
		if len(x.findings) != 1 || x.findings[0].Severity != c.level || !strings.Contains(x.findings[0].Text, c.text) {
			t.Errorf("%+v, want %q", x.findings, c.text)
		}
	}
}
