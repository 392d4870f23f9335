package console

import (
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/crowdsec"
	"edgeguard/notify"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A node with nothing beside it has no page, and each part of the figures has its place on
// one.
func TestNeighboursView(t *testing.T) {
	if hasNeighbours(&admin.Stats{}) {
		t.Error("an empty node has neighbours")
	}
	s := &admin.Stats{
		Time: noon,
		Imports: admin.Imports{Blocks: 7, Most: 9, Feeds: []admin.ImportFeed{
			{Name: "drop", State: admin.ImportWaiting, InForce: 7, Refused: admin.ImportRefusals{TooWide: 1, NoRoom: 1234}, Good: noon.Add(-time.Hour), Next: noon.Add(time.Minute),
				Awaits: &admin.ImportPending{Why: "it is empty", Since: noon.Add(-90 * time.Second)}},
			{Name: "new", State: admin.ImportStarting},
		}},
		Enforcers: []admin.Enforcer{{Name: "awswaf", Success: noon.Add(-time.Second)}},
		Bouncers:  &admin.BouncerFigures{Decisions: 3, Bouncers: []admin.BouncerFigure{{Name: "fw", LastPull: noon.Add(-3 * time.Second), Every: 10.04}, {Name: "late"}}},
		Notified:  []notify.Figures{{Name: "chat", Kind: "webhook", Sent: 2, Success: noon.Add(-5 * time.Second)}},
		CrowdSec:  &crowdsec.Figures{Alerts: &crowdsec.Outgoing{URL: "http://127.0.0.1:8080/", Refused: 4}},
	}
	p := newNeighboursView(s)
	if !hasNeighbours(s) || awaiting(s) != 1 || p.Imported != 7 || p.Most != 9 || len(p.Lists) != 2 || len(p.Enforcers) != 1 || len(p.Pulls) != 2 || len(p.Receivers) != 2 {
		t.Fatalf("%+v", p)
	}
	drop, fresh := p.Lists[0], p.Lists[1]
	for got, want := range map[string]string{
		drop.Left: "1 too wide, 1,234 no room", drop.Fetched: "1 h ago", drop.Due: "in 1 min", drop.Path: "/blocked?rule=owner+drop",
		drop.Awaits: "Its newest list came 1 min 30 s ago and awaits confirmation: it is empty.", drop.Meanwhile: "Until it is confirmed, 7 entries are of the list before in force.",
		fresh.Fetched: "never", fresh.Due: "–", fresh.Awaits + fresh.Left + fresh.Seen: "",
		p.Pulls[0].Last: "3 s ago", p.Pulls[0].Usual: "10s", p.Pulls[1].Last + p.Pulls[1].Usual: "never",
		p.Enforcers[0].Changed: "1 s ago", p.Receivers[0].Success: "5 s ago", p.Receivers[1].Kind + p.Receivers[1].Success: "CrowdSecnever",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A list is confirmed only as it was looked at.
func TestConfirmAsSeen(t *testing.T) {
	s := admin.Imports{Feeds: []admin.ImportFeed{{Name: "ok"}, {Name: "drop", Awaits: &admin.ImportPending{Why: "it is empty", Since: noon}}}}
	was := awaitedID(&s.Feeds[1])
	if p := confirmProblem(&s, "drop", was); p != nil {
		t.Error(p)
	}
	if p := confirmProblem(&s, "ok", ""); p != nil {
		t.Errorf("what does not wait is for the node to refuse: %v", p)
	}
	s.Feeds[1].Awaits = &admin.ImportPending{Why: "it has 9 entries, more than the 5 of `most`", Entries: 9, Since: noon}
	if p := confirmProblem(&s, "drop", was); p == nil || p.Status != 409 {
		t.Errorf("another list: %v", p)
	}
}
