package console

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// mostSampled is how many of many blocks a page names before they are lifted.
const mostSampled = 20

// manyPath returns the page that asks before the blocks that match a query of a list are unblocked.
func manyPath(query url.Values, back string) string {
	of := without(query, "cursor")
	for _, name := range []string{"order", "dir"} {
		of.Del(name)
	}
	if len(of) == 0 {
		of.Set("all", "true")
	}
	return "/unblock?" + url.Values{"of": {of.Encode()}, "back": {back}}.Encode()
}

// isMany reports whether the page is about unblocking many blocks by one change.
func (a *actPage) isMany() bool { return a.Action == "unblock" && (a.Of != "" || len(a.Asked) > 1) }

// selection returns which blocks the page is about.
func (a *actPage) selection() (s admin.Selection, problem *call.Problem) {
	if a.Of != "" {
		s, _, problem = admin.ReadSelection(&http.Request{URL: &url.URL{RawQuery: a.Of}})
		return s, problem
	}
	s.Prefixes = []netip.Prefix{}
	for _, text := range a.Asked {
		prefix, problem := call.ParsePrefix("prefix", text)
		if problem != nil {
			return s, problem
		}
		s.Prefixes = append(s.Prefixes, prefix)
	}
	return s, nil
}

// planMany finds out what unblocking many would do. What the form carries is when that was seen:
// blocks that are made from then on stay.
func (p *actHandlers) planMany(r *http.Request, a *actPage) {
	s, problem := a.selection()
	if problem != nil {
		problem.Field = "prefix" // which the form shows
		a.refuse(problem)
		return
	}
	now := p.reader.Now()
	if s.Seen = now; r.Method == http.MethodPost {
		if seen, err := time.Parse(time.RFC3339Nano, r.PostForm.Get("seen")); err == nil && seen.Before(now) {
			s.Seen = seen
		}
	}
	a.Seen = s.Seen.UTC().Format(time.RFC3339Nano)
	would, problem := p.changes.UnblockMany(r.Context(), access.CallerOf(r), &s, "", true)
	if problem != nil {
		problem.Field = "prefix"
		a.refuse(problem)
		return
	}
	if would.Lifted == 0 {
		a.refuseField(http.StatusNotFound, "prefix", "none of these is blocked any more", "look at who is")
		a.Instead = []link{{Name: "Who is blocked", Path: "/blocked"}}
		return
	}
	a.Ready, a.Name, a.chosen, a.Mean = true, words.Plural(would.Lifted, "block", "blocks"), s, s.IsAll()
	for _, prefix := range would.First(mostSampled) {
		a.Named = append(a.Named, shortest(prefix))
	}
	if more := would.Lifted - len(a.Named); more > 0 {
		a.Named = append(a.Named, "and "+words.Number(more)+" more")
	}
	a.sayMany(&would)
	a.say(fmt.Sprintf(" Blocks that are made after %s stay.", p.clock(s.Seen)))
	if text := a.stats.Lingers(); text != "" {
		a.say(" " + text)
	}
}

// sayMany says what unblocking many would do.
func (a *actPage) sayMany(would *admin.BulkLifted) {
	a.stress(upper(a.Name) + ", " + byRules(would.Rules))
	if would.More {
		a.say(", and more match: one form lifts " + words.Number(admin.MostLifted))
	}
	a.say(fmt.Sprintf(". Their requests will pass, and what was counted of those that a rule blocked is cleared, %s.", reach(&a.stats)))
	if would.Restored > 0 {
		a.say(fmt.Sprintf(" %s stand in the place of another block, which is in force again.", upper(words.Number(would.Restored))))
	}
}

// unblockMany unblocks what the page is about.
func (p *actHandlers) unblockMany(r *http.Request, a *actPage) *outcome {
	done, problem := p.changes.UnblockMany(r.Context(), access.CallerOf(r), &a.chosen, a.Note, false)
	if problem != nil {
		a.refuse(problem)
		return nil
	}
	text := fmt.Sprintf("%s unblocked %s.", words.Plural(done.Lifted, "block is", "blocks are"), reach(&a.stats))
	if done.Restored > 0 {
		text += fmt.Sprintf(" Of %s the block that was replaced is in force again.", words.Number(done.Restored))
	}
	if done.Changed > 0 {
		text += fmt.Sprintf(" %s changed meanwhile, and left.", words.Plural(done.Changed, "block was", "blocks were"))
	}
	if done.More {
		text += " More match: unblock again for the rest."
	}
	text = strings.TrimSpace(text + " " + a.stats.Lingers())
	made := deed{text: text}
	if name := done.Batch; name != 0 {
		made.undo = func(by access.Caller) (string, *call.Problem) {
			back, problem := p.changes.RestoreMany(by, name)
			return upper(back.String()) + ".", problem
		}
	}
	return &outcome{Text: text, deeds: []deed{made}, back: a.backOr()}
}
