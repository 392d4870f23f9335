package console

import (
	"crypto/rand"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

const (
	// remembered is how long the way back from a change is open.
	remembered = 10 * time.Minute
	// mostOutcomes bounds what is remembered: 3 MB, if each is of a hundred blocks
	// with long notes.
	mostOutcomes = 100
)

// deed is a change of one prefix that was made. undo is the way back, and returns
// what is so again; nil where there is none.
type deed struct {
	prefix netip.Prefix
	text   string
	undo   func(by access.Caller) (again string, p *call.Problem)
}

// failure is a change of one prefix that was not made.
type failure struct {
	Name, Path string
	Problem    *call.Problem
}

// ownOutcome is what came of a form: the next page shows it.
type ownOutcome struct {
	id     string
	at     time.Time
	back   string // the page that shows it
	Text   string
	Failed []failure
	deeds  []deed
}

// outcomes remembers what came of the last forms, in memory alone. It is safe for
// concurrent use.
type outcomes struct {
	changing sync.Mutex    // held while a form makes its change
	mu       sync.Mutex    // guards all
	all      []*ownOutcome // the oldest first
}

// once makes the change of a form, unless the same form has made it before: a double
// click sends it twice. nil is returned, and nothing kept, where change returns nil.
func (o *outcomes) once(id string, now time.Time, change func() *ownOutcome) *ownOutcome {
	o.changing.Lock()
	defer o.changing.Unlock()
	if made := o.find(id, now); made != nil {
		return made
	}
	made := change()
	if made == nil {
		return nil
	}
	made.id, made.at = id, now
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == mostOutcomes {
		o.all = slices.Delete(o.all, 0, 1)
	}
	o.all = append(o.all, made)
	return made
}

// find returns an outcome that is still remembered, or nil.
func (o *outcomes) find(id string, now time.Time) *ownOutcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(one *ownOutcome) bool { return now.Sub(one.at).Abs() >= remembered })
	for _, one := range o.all {
		if one.id == id && id != "" {
			return one
		}
	}
	return nil
}

// newID returns an ID of a form, which nobody can guess.
func newID() string { return rand.Text() }

// knownID returns the ID that a form came with, or a new one where it came with none
// of ours.
func knownID(text string) string {
	if len(text) == len(newID()) && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" {
		return text
	}
	return newID()
}

// show sends the browser to the page that shows an outcome, so that to reload it
// does not send the form again.
func (o *ownOutcome) show(w http.ResponseWriter, r *http.Request) {
	u, _ := url.Parse(o.back) // it is one of ours: see backTo
	q := u.Query()
	q.Set("done", o.id)
	u.RawQuery = q.Encode()
	http.Redirect(w, r, u.RequestURI(), http.StatusSeeOther)
}

// notice is an outcome as a page shows it.
type notice struct {
	*ownOutcome
	At     moment
	Undo   string // the ID to undo; empty where there is no way back
	Return string // the page on which it is shown
}

// notice returns the outcome that the request asks to be shown; nil for none.
func (p *Pages) notice(r *http.Request, f *frame) *notice {
	o := p.outcomes.find(r.URL.Query().Get("done"), p.reader.Now())
	if o == nil || !f.May {
		return nil
	}
	n := &notice{ownOutcome: o, At: at(o.at, p.reader.Now()), Return: f.Path}
	if slices.ContainsFunc(o.deeds, func(d deed) bool { return d.undo != nil }) && p.outcomes.find(undoOf(o.id), p.reader.Now()) == nil {
		n.Undo = o.id
	}
	return n
}

// undoOf returns the ID of the outcome of undoing one.
func undoOf(id string) string { return "undo-" + id }

// undo takes the way back from the change that a notice shows.
func (p *Pages) undo(w http.ResponseWriter, r *http.Request) (string, any) {
	now, id := p.reader.Now(), r.PostForm.Get("id")
	o := p.outcomes.once(undoOf(id), now, func() *ownOutcome {
		was := p.outcomes.find(id, now)
		if was == nil {
			return nil
		}
		done := &ownOutcome{back: backTo(r.PostForm.Get("back"))}
		for _, d := range was.deeds {
			if d.undo == nil {
				continue
			}
			text, problem := d.undo(access.CallerOf(r))
			if problem != nil {
				if problem.Forceable {
					problem.Fix = "block it by hand: that page asks whether it is meant"
				}
				name, path := shortest(d.prefix), pathOf(d.prefix)
				if !d.prefix.IsValid() { // it is about a rule, whose page this is
					name, path = "the change", done.back
				}
				done.Failed = append(done.Failed, failure{name, path, problem})
				continue
			}
			done.deeds = append(done.deeds, deed{prefix: d.prefix, text: text})
		}
		done.Text = sum(done, "changes are undone")
		return done
	})
	if o == nil {
		return "", &notFound{Text: "This can no longer be undone.", Fix: "The node knows the way back for ten minutes, until it ends. Change it by hand."}
	}
	o.show(w, r)
	return "", nil
}
