package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// happening is an event in words.
type happening struct {
	At         moment
	Kind       string
	Verb, Text string // Verb is of a change, before the name
	Name, Path string // of the address, network or rule that it is about
	Who, Undo  string // of a change: the person, and the page that takes it back
}

// happened returns an event in words.
func happened(e *admin.Event, now time.Time) happening {
	h := happening{At: at(e.Time, now), Kind: strings.ReplaceAll(e.Kind, "_", " "), Text: e.Text}
	switch {
	case e.Block != nil:
		h.Name, h.Path = shortest(e.Block.Prefix), pathOf(e.Block.Prefix)
		h.Text = fmt.Sprintf("blocked for %s by %s on %s%s", words.Length(e.Block.Until.Sub(e.Block.Since)), makerOf(e.Block.Rule), e.Block.Origin, quoted(e.Block.Reason))
		if e.Kind == admin.EventUnblock {
			h.Text = fmt.Sprintf("unblocked on %s%s", e.Block.Origin, quoted(e.Block.Reason))
		}
		if e.Kind == admin.EventEnd {
			h.Text = "the block by " + makerOf(e.Block.Rule) + " ended"
		}
		if e.Ended != nil {
			h.Text += ", " + words.Plural(e.Ended.Refused, "request was", "requests were") + " refused here"
		}
	case e.Allowance != nil:
		h.Name, h.Path = shortest(e.Allowance.Prefix), pathOf(e.Allowance.Prefix)
		verb := "allowed"
		if e.Kind == admin.EventDisallow {
			verb = "no longer allowed, removed"
		}
		h.Text = fmt.Sprintf("%s on %s%s", verb, e.Allowance.Origin, quoted(e.Allowance.Reason))
	case e.Change != nil:
		h.Who, h.Undo = person(cmp.Or(e.Change.User, e.Change.Who)), undoPath(e.Change)
		h.Verb, h.Name, h.Path, h.Text = changed(e.Change, now)
	case e.Crossing != nil:
		h.Text = fmt.Sprintf("over the limit of %s: %s", e.Crossing.Rule, e.Crossing.Action)
	}
	return h
}

// person names who made a change: the user of a proxy or of the host, and where only the role is known
// the address, without the port that a browser had.
func person(who string) string {
	if at := strings.LastIndex(who, ", by the proxy "); at > 0 {
		return who[:at]
	}
	if uid, of, ok := strings.Cut(strings.TrimSuffix(who, ", pid unknown"), ", pid "); ok && of != "" {
		who = uid
	}
	if at, err := netip.ParseAddrPort(who); err == nil {
		return "somebody at " + at.Addr().Unmap().String()
	}
	if who == "uid 0" {
		return "root"
	}
	return who
}

// verbs are what the changes of an audit are in words. What they are of follows.
var verbs = map[string]string{
	"block": "blocked", "import": "imported blocks", "extend": "changed the end of", "unblock": "unblocked", "unblock rule": "unblocked all of", "restore": "blocked again",
	"confirm": "confirmed", "allow": "allowed", "disallow": "took back the allowance of", "threshold": "threshold of", "end overlay": "undid the threshold of",
	"end fleet threshold": "undid the fleet's threshold of", "add candidate": "counts a candidate of", "remove candidate": "counts no more a candidate of",
	"reload": "read the config again", "sign": "signed all records", "login": "logged in", "logout": "logged out",
}

// instants are times as an audit has them.
var instants = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// changed returns a change in words: what was done, to what, where that has its page, and how.
func changed(a *admin.Audit, now time.Time) (verb, name, path, how string) {
	verb, name = cmp.Or(verbs[a.Action], a.Action), a.Target
	how = instants.ReplaceAllStringFunc(a.Detail, func(text string) string {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return text
		}
		return at(t, now).Clock
	})
	if prefix, err := netip.ParsePrefix(a.Target); err == nil {
		path = pathOf(prefix.Masked())
	} else if addr, err := netip.ParseAddr(a.Target); err == nil {
		path = pathOf(netip.PrefixFrom(addr, addr.BitLen()))
	} else if strings.Contains(a.Action, "threshold") || strings.Contains(a.Action, "candidate") || a.Action == "end overlay" {
		path = rulePath(a.Target)
	}
	if a.Result != "ok" {
		how = strings.TrimPrefix(how+"; failed: "+a.Result, "; ")
	}
	return verb, name, path, how
}

// undoPath returns the page that asks before it takes a change back; "" for none.
func undoPath(a *admin.Audit) string {
	if a.Result != "ok" || a.Undo == "" {
		return ""
	}
	if opposite := map[string]string{"block": "unblock", "restore": "unblock", "unblock": "block", "allow": "disallow", "disallow": "allow"}[a.Action]; opposite != "" {
		return actPath(opposite, a.Target, "/changes")
	}
	if before, _, ok := strings.Cut(a.Detail, " → "); ok && a.Action == "threshold" {
		if n, err := strconv.ParseUint(before, 10, 32); err == nil {
			return rulePath(a.Target) + "/threshold?threshold=" + strconv.FormatUint(n, 10)
		}
	}
	return ""
}

// changesLength is how many events the page shows.
const changesLength = 100

// changesPage is what people changed on the node, or all that happened on it.
type changesPage struct {
	frame
	Kind        string // of what is shown: "change", "all" or a kind of events
	Kinds       []option
	Events      []happening
	From, Until string // as a browser's field has them
	Older       string
	Hidden      bool // changes are not for this caller
	Problem     *call.Problem
}

// kindOptions are the kinds of events that the page shows, in words.
var kindOptions = []option{
	{Value: admin.EventChange, Label: "by people"}, {Value: "all", Label: "all that happened"},
	{Value: admin.EventBlock, Label: "blocks"}, {Value: admin.EventUnblock, Label: "unblocked"}, {Value: admin.EventEnd, Label: "blocks that ended"},
	{Value: admin.EventAllow, Label: "allowances"}, {Value: admin.EventDisallow, Label: "allowances taken back"},
	{Value: admin.EventAlarm, Label: "alarms"}, {Value: admin.EventRecovered, Label: "alarms that ended"}, {Value: admin.EventState, Label: "starts, stops, reloads"},
	{Value: admin.EventHeld, Label: "awaiting confirmation"}, {Value: admin.EventWouldBlock, Label: "would be blocked"}, {Value: admin.EventCrossing, Label: "over a limit"},
}

// tooMany beside others are not shown among all.
var tooMany = []string{admin.EventCrossing, admin.EventLeftOut, admin.EventListed}

func (p *nodeHandlers) changes(_ http.ResponseWriter, r *http.Request) (string, any) {
	asked := r.URL.Query()
	shown := &changesPage{frame: p.frames.of(r, "changes", "Changes"), Kind: cmp.Or(asked.Get("kind"), admin.EventChange), Hidden: p.view.Discreet()}
	for _, o := range kindOptions {
		shown.Kinds = append(shown.Kinds, option{o.Value, o.Label, o.Value == shown.Kind})
	}
	kinds := []string{shown.Kind}
	if shown.Kind == "all" {
		kinds = slices.DeleteFunc(admin.EventKinds(), func(kind string) bool { return slices.Contains(tooMany, kind) })
	}
	from, until, problem := timeRange(asked, p.reader.Now())
	shown.From, shown.Until, shown.Problem = field(from), field(until), problem
	before, _ := strconv.ParseUint(asked.Get("before"), 10, 64)
	past := p.view.Past(r.Context(), admin.PastQuery{Kinds: kinds, Since: from, Until: until, Before: before, Newest: true}, changesLength)
	shown.Events = shown.happenings(past.Events)
	if past.Next != "" {
		asked.Set("before", past.Next)
		shown.Older = "/changes?" + asked.Encode()
	}
	return "changes.html", shown
}

// happenings returns events in words. Who may change nothing has no way back.
func (f *frame) happenings(events []admin.Event) (all []happening) {
	for i := range events {
		h := happened(&events[i], f.stats.Time)
		if !f.May {
			h.Undo = ""
		}
		all = append(all, h)
	}
	return all
}

const browserTime = "2006-01-02T15:04"

// timeRange returns the times that a page is asked for, as [readSpan] reads them or as a browser's field
// has them. Zero times where none is asked for.
func timeRange(asked url.Values, now time.Time) (from, until time.Time, problem *call.Problem) {
	q := url.Values{}
	for _, name := range []string{"from", "until"} {
		text := asked.Get(name)
		if at, err := time.Parse(browserTime, text); err == nil {
			text = at.Format(time.RFC3339)
		}
		q.Set(name, text)
	}
	switch {
	case q.Get("from") == "" && q.Get("until") == "":
		return from, until, nil
	case q.Get("until") == "":
		q.Set("until", now.Add(time.Second).UTC().Format(time.RFC3339)) // it has no parts of seconds
	}
	span, problem := readSpan(q, now)
	return span.From, span.Until, problem
}

// field writes a time for a browser's field.
func field(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(browserTime)
}
