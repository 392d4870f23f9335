package node

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
)

const guardedNode = `
node: edge-a
state: $DIR/state
own_hosts: [example.org]
rules:
  - {name: missing, threshold: 4, window: 5m, match: {status: [404]}, block_for: 1h, escalate: [2h]}
  - {name: site, threshold: 60000}
`

// answers has 40 visitors ask each 15 s for a while. fails is whether the site fails.
func (u *underTest) answers(from, until time.Time, fails bool) {
	read := u.pipeline.Batches("log a")
	for at := from; at.Before(until); at = at.Add(15 * time.Second) {
		var events []edgeguard.Event
		for i := range 40 {
			const both = edgeguard.KindRequest | edgeguard.KindResponse
			ev := edgeguard.Event{Time: at, Addr: netip.AddrFrom4([4]byte{100, 64, byte(i), 7}), Kind: both, Verified: both, Status: 200,
				Known: edgeguard.FieldStatus | edgeguard.FieldHost | edgeguard.FieldPath, Host: "example.org", Path: fmt.Sprint("/", i)}
			if fails {
				ev.Status = 404
			}
			events = append(events, ev)
		}
		read(at, events)
	}
}

// While the site fails, its visitors are not blocked, and the alarm, the status and the
// rule's figures say so; when it works again, the alarm ends. A reload meanwhile changes
// nothing.
func TestSiteFails(t *testing.T) {
	u := newNode(t, shortDir(t), guardedNode)
	site := &checks.SiteFails{Fails: u.pipeline.Fails, Site: u.pipeline.Site, Alarms: u.alarms}
	begins := u.clock.Now().Add(-10 * time.Minute)
	failing := func() (text string) {
		site.Check(u.clock.Now())
		for _, a := range u.alarms.Lasting() {
			if a.Kind == alarm.Failing {
				text = a.Text
			}
		}
		return text
	}
	u.answers(begins.Add(-30*time.Minute), begins, false)
	if text := failing(); text != "" {
		t.Fatalf("the site works: %s", text)
	}
	u.answers(begins, begins.Add(75*time.Second), true)
	u.pipeline.Replace(begins.Add(75*time.Second), u.pipeline.Current().Config)
	u.answers(begins.Add(75*time.Second), begins.Add(3*time.Minute), true)
	if n := u.list.Len(); n != 0 {
		t.Errorf("%d blocks", n)
	}
	if text := failing(); !strings.Contains(text, "example.org fails: of its visitors") {
		t.Errorf("alarm %q", text)
	}
	var s admin.Stats
	u.report(&s)
	if s.Site == nil || s.Site.Fails() != 1 || s.Site.FailedSeconds == 0 || s.Site.Parts[0].Name != "example.org" || s.Site.Parts[0].Since.IsZero() {
		t.Errorf("status %+v", s.Site)
	}
	rules := u.admin.status.Rules()
	if r := rules[0]; !r.SparesOutages || r.Excused == 0 || len(r.Crossings) == 0 || r.Crossings[len(r.Crossings)-1].Action != "held" {
		t.Errorf("rule %+v", r)
	}
	if r := rules[1]; r.SparesOutages || r.Excused != 0 {
		t.Errorf("rule %+v", r)
	}
	u.answers(begins.Add(3*time.Minute), begins.Add(6*time.Minute), false)
	if text := failing(); text != "" {
		t.Errorf("the site works again: %s", text)
	}
}
