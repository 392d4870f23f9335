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

// outcome is what came of a form: the next page shows it.
type outcome struct {
	id     string
	at     time.Time
	back   string // the page that shows it
	Text   string
	Failed []failure
	deeds  []deed
}

// outcomes remembers what came of the last forms, in memory alone, for the page after
// each and for the way back. It is safe for concurrent use.
type outcomes struct {
	now      func() time.Time
	changing sync.Mutex // held while a form makes its change
	mu       sync.Mutex // guards all
	all      []*outcome // the oldest first
}

// once makes the change of a form, unless the same form has made it before: a double
// click sends it twice. nil is returned, and nothing kept, where change returns nil.
func (o *outcomes) once(id string, change func() *outcome) *outcome {
	now := o.now()
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
	o.all = append(o.all, made)
	if len(o.all) > mostOutcomes {
		o.all = slices.Delete(o.all, 0, 1)
	}
	return made
}

// find returns an outcome that is still remembered, or nil.
func (o *outcomes) find(id string, now time.Time) *outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = slices.DeleteFunc(o.all, func(one *outcome) bool { return now.Sub(one.at).Abs() >= remembered })
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
func (o *outcome) show(w http.ResponseWriter, r *http.Request) {
	u, _ := url.Parse(o.back) // it is one of ours: see backTo
	q := u.Query()
	q.Set("done", o.id)
	u.RawQuery = q.Encode()
	http.Redirect(w, r, u.RequestURI(), http.StatusSeeOther)
}

// notice is an outcome as a page shows it.
type notice struct {
	*outcome
	At     moment
	Undo   string // the ID to undo; empty where there is no way back
	Return string // the page on which it is shown
}

// notice returns the outcome that the request asks to be shown; nil for none.
func (o *outcomes) notice(r *http.Request, f *frame) *notice {
	now := o.now()
	made := o.find(r.URL.Query().Get("done"), now)
	if made == nil || !f.May {
		return nil
	}
	n := &notice{outcome: made, At: at(made.at, now), Return: f.Path}
	if slices.ContainsFunc(made.deeds, func(d deed) bool { return d.undo != nil }) && o.find(undoOf(made.id), now) == nil {
		n.Undo = made.id
	}
	return n
}

// undoOf returns the ID of the outcome of undoing one.
func undoOf(id string) string { return "undo-" + id }

// undo takes the way back from the change that a notice shows.
func (o *outcomes) undo(w http.ResponseWriter, r *http.Request) (string, any) {
	now, id := o.now(), r.PostForm.Get("id")
	made := o.once(undoOf(id), func() *outcome {
		was := o.find(id, now)
		if was == nil {
			return nil
		}
		done := &outcome{back: backTo(r.PostForm.Get("back"))}
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
	if made == nil {
		return "", &notFound{Text: "This can no longer be undone.", Fix: "The node knows the way back for ten minutes, until it ends. Change it by hand."}
	}
	made.show(w, r)
	return "", nil
}
