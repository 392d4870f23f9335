package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// neighbourHandlers answer with the systems beside the node, the lists that it imports
// and who is told of its blocks; and confirm such a list.
type neighbourHandlers struct {
	frames   *frames
	reader   admin.Reader
	changes  *admin.Changes // nil for clients without a login
	outcomes *outcomes
}

// neighboursPage is the systems beside the node.
type neighboursPage struct {
	frame
	neighboursView
	Once string
}

func (p *neighbourHandlers) neighbours(_ http.ResponseWriter, r *http.Request) (string, any) {
	f := p.frames.of(r, "neighbours", "Neighbours")
	return "neighbours.html", &neighboursPage{f, newNeighboursView(&f.stats), newID()}
}

// confirmList puts the list in force that awaits confirmation, if it is the one that was
// shown.
func (p *neighbourHandlers) confirmList(w http.ResponseWriter, r *http.Request) (string, any) {
	if p.changes == nil {
		return "", readOnly()
	}
	name := r.PostForm.Get("name")
	o := p.outcomes.once(knownID(r.PostForm.Get("once"))+name, func() *outcome {
		o, before := &outcome{Text: "The newest list of " + name + " is in force.", back: "/neighbours"}, p.reader.Imports()
		problem := confirmProblem(&before, name, r.PostForm.Get("seen"))
		if problem == nil {
			problem = p.changes.ConfirmImport(access.CallerOf(r), name)
		}
		if problem != nil {
			o.Text, o.Failed = "Nothing was changed.", []failure{{Name: name, Path: "/neighbours", Problem: problem}}
		}
		return o
	})
	o.show(w, r)
	return "", nil
}

// neighboursView is all of them. A part that a node does not have is empty.
type neighboursView struct {
	Lists     []neighbourList
	Imported  int // prefixes of all lists together
	Most      int
	Enforcers []neighbourPlace
	Bouncers  *admin.BouncerFigures
	Pulls     []neighbourPull
	Receivers []neighbourReceiver
}

// neighbourList is an imported list. Awaits is empty where nothing awaits confirmation.
type neighbourList struct {
	admin.ImportFeed
	Path              string // of its blocks
	Left              string // the entries that are not in force, and why
	Fetched, Due      string
	Awaits, Meanwhile string
	// Seen identifies what awaits confirmation.
	Seen string
}

// neighbourPlace is a list of this node's blocks that somebody else reads.
type neighbourPlace struct {
	admin.Enforcer
	Changed string
}

// neighbourPull is the bouncers of one key.
type neighbourPull struct {
	admin.BouncerFigure
	Last, Usual string
}

// neighbourReceiver is where notifications, or alerts for CrowdSec, go.
type neighbourReceiver struct {
	Name, Kind, Error, Success string
	Sent, Failed, Dropped      uint64
	Waiting                    int
}

// hasNeighbours reports whether a node has a page to show.
func hasNeighbours(s *admin.Stats) bool {
	return len(s.Imports.Feeds)+len(s.Enforcers)+len(s.Notified) > 0 || s.Bouncers != nil || s.CrowdSec != nil
}

// awaiting returns how many lists await confirmation.
func awaiting(s *admin.Stats) (n int) {
	for i := range s.Imports.Feeds {
		if s.Imports.Feeds[i].Awaits != nil {
			n++
		}
	}
	return n
}

// newNeighboursView returns what a node's figures say.
func newNeighboursView(s *admin.Stats) neighboursView {
	p := neighboursView{Imported: s.Imports.Blocks, Most: s.Imports.Most, Bouncers: s.Bouncers}
	for i := range s.Imports.Feeds {
		p.Lists = append(p.Lists, newNeighbourList(&s.Imports.Feeds[i], s.Time))
	}
	for _, e := range s.Enforcers {
		p.Enforcers = append(p.Enforcers, neighbourPlace{e, ago(e.Success, s.Time)})
	}
	if s.Bouncers != nil {
		for _, b := range s.Bouncers.Bouncers {
			one := neighbourPull{b, ago(b.LastPull, s.Time), ""}
			if b.Every > 0 {
				one.Usual = words.Span(seconds(b.Every).Round(time.Second))
			}
			p.Pulls = append(p.Pulls, one)
		}
	}
	for _, r := range s.Notified {
		p.Receivers = append(p.Receivers, neighbourReceiver{r.Name, r.Kind, r.Error, ago(r.Success, s.Time), r.Sent, r.Failed, r.Dropped, r.Waiting})
	}
	if s.CrowdSec != nil && s.CrowdSec.Alerts != nil {
		a := s.CrowdSec.Alerts
		p.Receivers = append(p.Receivers, neighbourReceiver{a.URL, "CrowdSec", a.Error, ago(a.Last, s.Time), a.Sent, a.Refused, a.Dropped, a.Waiting})
	}
	return p
}

func newNeighbourList(f *admin.ImportFeed, now time.Time) neighbourList {
	l := neighbourList{ImportFeed: *f, Path: "/blocked?" + url.Values{"rule": {edgeguard.OwnerRule(f.Name)}}.Encode(), Left: refusalTexts(&f.Refused), Fetched: ago(f.Good, now), Due: "–", Seen: awaitedID(f)}
	if !f.Next.IsZero() {
		l.Due = "in " + words.Length(max(0, f.Next.Sub(now)))
	}
	if w := f.Awaits; w != nil {
		l.Awaits = fmt.Sprintf("Its newest list came %s and awaits confirmation: %s.", ago(w.Since, now), w.Why)
		l.Meanwhile = fmt.Sprintf("Until it is confirmed, %s of the list before in force.", words.Plural(f.InForce, "entry is", "entries are"))
	}
	return l
}

// awaitedID identifies what awaits confirmation, so that another list is not confirmed than the
// one that was looked at.
func awaitedID(f *admin.ImportFeed) string {
	if f.Awaits == nil {
		return ""
	}
	return fmt.Sprintf("%d %d %s", f.Awaits.Since.Unix(), f.Awaits.Entries, f.Awaits.Why)
}

// refusalTexts says which entries of a list are not in force; "" for none.
func refusalTexts(r *admin.ImportRefusals) string {
	var parts []string
	r.Each(func(why string, n int) {
		if n > 0 {
			parts = append(parts, words.Number(n)+" "+strings.ReplaceAll(why, "_", " "))
		}
	})
	return strings.Join(parts, ", ")
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return words.Length(max(0, now.Sub(t))) + " ago"
}

// confirmProblem says why a list cannot be confirmed as it was seen on a page; nil if it can.
func confirmProblem(s *admin.Imports, name, was string) *call.Problem {
	at := slices.IndexFunc(s.Feeds, func(f admin.ImportFeed) bool { return f.Name == name })
	if at >= 0 && s.Feeds[at].Awaits != nil && awaitedID(&s.Feeds[at]) != was {
		return call.NewProblem(http.StatusConflict, "name", "another list of "+call.Clip(name)+" awaits confirmation than the one that was shown", "look at it, and confirm it if it is right")
	}
	return nil // what does not await it, the node refuses
}
