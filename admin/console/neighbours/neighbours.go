// Package neighbours is what a page shows of the systems beside a node: the lists that it
// imports, and who is told of its blocks.
package neighbours

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/bouncers"
	"edgeguard/admin/call"
	"edgeguard/admin/imports"
	"edgeguard/internal/words"
)

// Page is all of them. A part that a node does not have is empty.
type Page struct {
	Lists     []List
	Imported  int // prefixes of all lists together
	Most      int
	Enforcers []Place
	Bouncers  *bouncers.BouncerFigures
	Pulls     []Pull
	Receivers []Receiver
}

// List is an imported list. Awaits is empty where nothing awaits confirmation.
type List struct {
	imports.Feed
	Path              string // of its blocks
	Left              string // the entries that are not in force, and why
	Fetched, Due      string
	Awaits, Meanwhile string
	// Seen identifies what awaits confirmation.
	Seen string
}

// Place is a list of this node's blocks that somebody else reads.
type Place struct {
	admin.Enforcer
	Changed string
}

// Pull is the bouncers of one key.
type Pull struct {
	bouncers.BouncerFigure
	Last, Usual string
}

// Receiver is where notifications, or alerts for CrowdSec, go.
type Receiver struct {
	Name, Kind, Error, Success string
	Sent, Failed, Dropped      uint64
	Waiting                    int
}

// Any reports whether a node has a page to show.
func Any(s *admin.Stats) bool {
	return len(s.Imports.Feeds)+len(s.Enforcers)+len(s.Notified) > 0 || s.Bouncers != nil || s.CrowdSec != nil
}

// Awaiting returns how many lists await confirmation.
func Awaiting(s *admin.Stats) (n int) {
	for i := range s.Imports.Feeds {
		if s.Imports.Feeds[i].Awaits != nil {
			n++
		}
	}
	return n
}

// New returns what a node's figures say.
func New(s *admin.Stats) Page {
	p := Page{Imported: s.Imports.Blocks, Most: s.Imports.Most, Bouncers: s.Bouncers}
	for i := range s.Imports.Feeds {
		p.Lists = append(p.Lists, newList(&s.Imports.Feeds[i], s.Time))
	}
	for _, e := range s.Enforcers {
		p.Enforcers = append(p.Enforcers, Place{e, ago(e.Success, s.Time)})
	}
	if s.Bouncers != nil {
		for _, b := range s.Bouncers.Bouncers {
			one := Pull{b, ago(b.LastPull, s.Time), ""}
			if b.Every > 0 {
				one.Usual = words.Span(time.Duration(b.Every * float64(time.Second)).Round(time.Second))
			}
			p.Pulls = append(p.Pulls, one)
		}
	}
	for _, r := range s.Notified {
		p.Receivers = append(p.Receivers, Receiver{r.Name, r.Kind, r.Error, ago(r.Success, s.Time), r.Sent, r.Failed, r.Dropped, r.Waiting})
	}
	if s.CrowdSec != nil && s.CrowdSec.Alerts != nil {
		a := s.CrowdSec.Alerts
		p.Receivers = append(p.Receivers, Receiver{a.URL, "CrowdSec", a.Error, ago(a.Last, s.Time), a.Sent, a.Refused, a.Dropped, a.Waiting})
	}
	return p
}

func newList(f *imports.Feed, now time.Time) List {
	l := List{Feed: *f, Path: "/blocked?" + url.Values{"rule": {edgeguard.OwnerRule(f.Name)}}.Encode(), Left: refusals(&f.Refused), Fetched: ago(f.Good, now), Due: "–", Seen: seen(f)}
	if !f.Next.IsZero() {
		l.Due = "in " + words.Length(max(0, f.Next.Sub(now)))
	}
	if w := f.Awaits; w != nil {
		l.Awaits = fmt.Sprintf("Its newest list came %s and awaits confirmation: %s.", ago(w.Since, now), w.Why)
		l.Meanwhile = fmt.Sprintf("Until it is confirmed, %s of the list before in force.", words.Plural(f.Held, "entry is", "entries are"))
	}
	return l
}

// seen identifies what awaits confirmation, so that another list is not confirmed than the
// one that was looked at.
func seen(f *imports.Feed) string {
	if f.Awaits == nil {
		return ""
	}
	return fmt.Sprintf("%d %d %s", f.Awaits.Since.Unix(), f.Awaits.Entries, f.Awaits.Why)
}

// refusals says which entries of a list are not in force; "" for none.
func refusals(r *imports.Refusals) string {
	var parts []string
	r.Each(func(why string, n int) {
		if n > 0 {
			parts = append(parts, words.Number(n)+" "+strings.ReplaceAll(why, "_", " "))
		}
	})
	return strings.Join(parts, ", ")
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return words.Length(max(0, now.Sub(t))) + " ago"
}

// Changed says why a list cannot be confirmed as it was seen on a page; nil if it can.
func Changed(s *imports.Summary, name, was string) *call.Problem {
	at := slices.IndexFunc(s.Feeds, func(f imports.Feed) bool { return f.Name == name })
	if at >= 0 && s.Feeds[at].Awaits != nil && seen(&s.Feeds[at]) != was {
		return call.NewProblem(http.StatusConflict, "name", "another list of "+call.Clip(name)+" awaits confirmation than the one that was shown", "look at it, and confirm it if it is right")
	}
	return nil // what does not await it, the node refuses
}

// About says where a kind of alarm leads; "" for one that these pages do not show.
func About(kind string) string {
	if slices.Contains([]string{"blocklist", "blocklist_waits", "blocklist_stale", "imported_full", "bouncer_silent", "crowdsec", "notify", "enforcer"}, kind) {
		return "/neighbours"
	}
	return ""
}

// Maker says in a sentence who made a block of a rule.
func Maker(rule string) string {
	switch owner := edgeguard.Owner(rule); {
	case rule == edgeguard.ManualRule:
		return "hand"
	case owner != "":
		return "the program " + owner
	}
	return "rule " + rule
}

// By says who makes the blocks of a rule, as it stands in a row.
func By(rule string, imported bool) string {
	owner := edgeguard.Owner(rule)
	if imported {
		return "list " + owner
	}
	return cmp.Or(owner, rule)
}

// Why says why an address is blocked by an owner's block: what the eye has to find, and the
// rest. verb is "Blocked by ".
func Why(b *admin.ActiveBlock, address, verb, since string) (strong, rest string) {
	if !b.Imported {
		return fmt.Sprintf("%sthe program %s", verb, b.Owner), fmt.Sprintf(" on %s at %s%s. No rule is involved.", b.Origin, since, quoted(b.Reason))
	}
	if b.Owner == "crowdsec" {
		return verb + "a decision of CrowdSec", fmt.Sprintf(", on this node alone, since %s%s. It cannot be unblocked here. To let %s in, allow it, or delete the decision there: cscli decisions delete.", since, quoted(b.Reason), address)
	}
	inside := ""
	if !b.Prefix.IsSingleIP() {
		inside = fmt.Sprintf(" It is inside %s.", b.Prefix)
	}
	return fmt.Sprintf("%sthe imported list %s", verb, b.Owner), fmt.Sprintf(", on this node alone, since %s%s.%s It cannot be unblocked here: the next fetch of the list would bring it back. "+
		"To let %s in, allow it, or have the entry removed from the list.", since, quoted(b.Reason), inside, address)
}

func quoted(reason string) string {
	if reason == "" {
		return ""
	}
	return ": “" + reason + "”"
}
