package doctor

import (
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
)

// TestBouncers: a firewall bouncer that may cut masks off, one that stays away, and none.
func TestBouncers(t *testing.T) {
	one := func(agent string, silent bool) admin.Bouncer {
		return admin.Bouncer{UserAgent: agent, Packets: true, BouncerFigure: admin.BouncerFigure{Name: "edge1", LastPull: time.Unix(1, 0), Silent: silent}}
	}
	for _, c := range []struct {
		all    []admin.Bouncer
		ranges int
		level  severity
		text   string
	}{
		{nil, 0, doubt, "no key"},
		{[]admin.Bouncer{{BouncerFigure: admin.BouncerFigure{Name: "new"}}}, 1, doubt, "new has not asked"},
		{[]admin.Bouncer{one("crowdsec-firewall-bouncer/v0.0.25", true)}, 1, wrong, "not asked for long"},
		{[]admin.Bouncer{one("crowdsec-firewall-bouncer/v0.0.25", false)}, 3, doubt, "3 of 7 blocks are prefixes"},
		{[]admin.Bouncer{one("crowdsec-firewall-bouncer/v0.0.25", false)}, 0, fine, "edge1 asks"},
		{[]admin.Bouncer{one("crowdsec-nginx-bouncer/v1.0.8", false)}, 3, fine, "edge1 asks"},
	} {
		x := new(examination)
		x.bouncers(&admin.BouncerList{Bouncers: c.all, Ranges: c.ranges, Decisions: 7})
		if len(x.findings) != 1 || x.findings[0].Severity != c.level || !strings.Contains(x.findings[0].Text, c.text) {
			t.Errorf("%+v, want %q", x.findings, c.text)
		}
	}
}
