package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
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

// mostTicked is how many prefixes one form changes.
const mostTicked = 100

// action is something that operators change: a page says what will happen, and a
// form does it.
type action struct {
	verb, done string      // "Unblock", and of many "are unblocked"
	many       string      // of many prefixes: what will happen to them; empty for one alone
	spans      [][2]string // how long, the first is chosen; nil for what has no end
	needsNote  bool
	noNote     bool // the API takes none
	plan       func(p *actHandlers, r *http.Request, a *actPage)
	do         func(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem)
}

var (
	spans      = [][2]string{{"1h", "1 hour"}, {"24h", "24 hours"}, {"7d", "7 days"}}
	allowSpans = append([][2]string{{"", "until it is removed"}}, spans...)
)

// actions are all of them by their routes.
var actions = map[string]action{
	"block":    {verb: "Block", spans: spans, needsNote: true, plan: planBlock, do: doBlock},
	"unblock":  {verb: "Unblock", plan: planUnblock, do: doUnblock},
	"extend":   {verb: "Change the end of", done: "end later or sooner", many: "Their blocks will end when you say, later or sooner", spans: spans, plan: planExtend, do: doExtend},
	"allow":    {verb: "Allow", done: "are allowed", many: "They will never be blocked, and their requests are not counted", spans: allowSpans, needsNote: true, plan: planAllow, do: doAllow},
	"disallow": {verb: "Take back the allowance of", plan: planDisallow, do: doDisallow},
	"confirm":  {verb: "Confirm the record of", noNote: true, plan: planHeld, do: doConfirm},
	"withdraw": {verb: "Withdraw the record of", plan: planHeld, do: doWithdraw},
}

// actHandlers answer with what a change of an address or network would do, and make it.
// Those who may change nothing have none of it.
type actHandlers struct {
	frames   *frames
	reader   admin.Reader
	view     *admin.View
	changes  *admin.Changes // nil for clients without a login
	outcomes *outcomes
}

// actPage asks before a change.
type actPage struct {
	frame
	Action, Verb string
	Asked        []string // the prefixes as asked for
	Of           string   // which blocks of a list, in its query, instead of prefixes
	Named        []string // the first of these
	Name, About  string   // the only one, and its page
	Ready        bool     // the form can be sent
	Says         []clause // what will happen
	Warns        []string // what speaks against it
	Mean, Type   bool     // a box has to be ticked, or the prefix typed
	Spans        []option // how long
	NeedsNote    bool
	NoNote       bool
	Problem      *call.Problem
	Instead      []link

	// What was typed.
	For, Until, Note, Typed string
	Meant                   bool
	// What the form carries.
	Back, Once, Seen string

	prefix netip.Prefix
	before edgeguard.Block // the record that is changed; zero for none
	held   *admin.HeldBlock
	crowd  []admin.Comer   // who came, of which one change blocks all
	chosen admin.Selection // of many blocks that one change unblocks
	needs  *call.Problem   // why the node requires force; nil if it does not
	status int
}

// actFromForm returns the page of an action with what a form carried.
func (p *actHandlers) actFromForm(r *http.Request, name string, given url.Values) *actPage {
	d := actions[name]
	a := &actPage{
		Action: name, Verb: d.verb, NeedsNote: d.needsNote, NoNote: d.noNote, status: http.StatusOK,
		For: given.Get("for"), Until: strings.TrimSpace(given.Get("until")), Note: strings.TrimSpace(given.Get("reason")),
		Typed: strings.TrimSpace(given.Get("typed")), Meant: given.Get("meant") != "",
		Back: given.Get("back"), Once: knownID(given.Get("once")), Of: given.Get("of"),
	}
	a.stats = p.reader.Stats()
	for _, text := range given["prefix"] {
		if text = strings.TrimSpace(text); text != "" && !slices.Contains(a.Asked, text) {
			a.Asked = append(a.Asked, text)
		}
	}
	for i, s := range d.spans {
		a.Spans = append(a.Spans, option{Value: s[0], Label: s[1], Chosen: a.For == s[0] || i == 0 && a.For == ""})
	}
	return a
}

// Wrong returns the problem of a field, or nil.
func (a *actPage) Wrong(field string) *call.Problem {
	if a.Problem == nil || a.Problem.Field != field {
		return nil
	}
	return a.Problem
}

// refuse keeps why the change is not made.
func (a *actPage) refuse(problem *call.Problem) {
	if problem.Field = strings.TrimSuffix(problem.Field, "es"); problem.Field == "" { // a confirmation is of prefixes
		problem.Field = "prefix"
	}
	a.Problem, a.status = problem, problem.Status
}

func (a *actPage) refuseField(status int, field, detail, fix string) {
	a.refuse(call.NewProblem(status, field, detail, fix))
}

// ask answers with the page of an action. Its form is not sent yet.
func (p *actHandlers) ask(name string) page {
	return func(_ http.ResponseWriter, r *http.Request) (string, any) {
		if p.changes == nil {
			return "", readOnly()
		}
		// A link fills in no field: a foreign page may lead here.
		asked := r.URL.Query()
		a := p.actFromForm(r, name, url.Values{"prefix": asked["prefix"], "of": asked["of"], "back": asked["back"]})
		p.plan(r, a)
		return a.fillPage(p, r)
	}
}

// fillPage fills in what the template shows beside the plan, and returns its name.
func (a *actPage) fillPage(p *actHandlers, r *http.Request) (string, any) {
	a.frame = p.frames.with(r, &a.stats, a.Action, strings.TrimSpace(a.Verb+" "+a.Name))
	a.Back = a.backOr()
	return "act.html", a
}

// plan finds out what a change would do.
func (p *actHandlers) plan(r *http.Request, a *actPage) {
	d := actions[a.Action]
	switch {
	case len(a.Asked) == 0 && !a.isMany() && !a.isCrowd():
		return
	case len(a.Asked) > mostTicked:
		a.refuseField(http.StatusUnprocessableEntity, "prefix", words.Number(len(a.Asked))+" are ticked, and a form changes "+words.Number(mostTicked), "tick fewer")
	case a.isCrowd():
		p.planCrowd(r, a)
	case a.isMany():
		p.planMany(r, a)
	case len(a.Asked) > 1 && d.many == "":
		a.refuseField(http.StatusBadRequest, "prefix", "more than one is given", "change one after the other")
	case len(a.Asked) > 1:
		a.Ready, a.Name = true, words.Number(len(a.Asked))+" addresses and networks"
		a.say(d.many + ", " + reach(&a.stats) + ". Each is a change of its own.")
	default:
		d.plan(p, r, a)
	}
}

// act makes the change of a form, or answers with the form and what is wrong.
func (p *actHandlers) act(name string) page {
	return func(w http.ResponseWriter, r *http.Request) (string, any) {
		if p.changes == nil {
			return "", readOnly()
		}
		a := p.actFromForm(r, name, r.PostForm)
		o := p.outcomes.once(a.Once, func() *outcome {
			p.plan(r, a)
			if seen := r.PostForm.Get("seen"); a.Problem == nil && a.Ready && seen != a.Seen {
				a.refuseField(http.StatusConflict, "prefix", a.Name+" was changed since this page was made", "this is how it is now: send the form again if it is still right")
			}
			a.check()
			if a.Problem != nil || !a.Ready {
				return nil
			}
			if a.isCrowd() {
				return p.blockCrowd(r, a)
			}
			if a.isMany() {
				return p.unblockMany(r, a)
			}
			if len(a.Asked) > 1 {
				return p.actOnAll(r, a)
			}
			d, problem := actions[name].do(p, access.CallerOf(r), a)
			if problem != nil {
				a.refuse(problem)
				return nil
			}
			return &outcome{Text: d.text, deeds: []deed{d}, back: a.backOr()}
		})
		if o == nil {
			return a.fillPage(p, r)
		}
		o.show(w, r)
		return "", nil
	}
}

// check refuses a form that lacks what a page requires and the API does not.
func (a *actPage) check() {
	switch {
	case a.Problem != nil || !a.Ready:
	case a.NeedsNote && a.Note == "":
		a.refuseField(http.StatusUnprocessableEntity, "reason", "a note is required", "say why: whoever looks at it next has only this")
	case a.For == "until" && a.Until == "":
		a.refuseField(http.StatusUnprocessableEntity, "until", "no time is set", "set the date and the time, in UTC")
	case a.Type && a.Typed != a.Name && a.Typed != a.prefix.String():
		a.refuseField(http.StatusConflict, "typed", "this is not "+a.Name, "type it as it is in the heading, if it is meant")
	case a.Mean && !a.Meant:
		a.refuseField(http.StatusConflict, "meant", "the box is not ticked", "tick it if this is meant")
	default:
		if _, problem := a.until(); problem != nil {
			a.refuse(problem)
		}
	}
}

// until returns the time that was typed; zero for none.
func (a *actPage) until() (time.Time, *call.Problem) {
	if a.Until == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.RFC3339} {
		if t, err := time.Parse(layout, a.Until); err == nil {
			return t, nil
		}
	}
	return time.Time{}, call.NewProblem(http.StatusBadRequest, "until", fmt.Sprintf("%q is not a time", call.Clip(a.Until)), "use 2026-03-01 12:00, in UTC")
}

// span returns how long, as the API is asked.
func (a *actPage) span() (span string, until time.Time) {
	until, _ = a.until() // checked before
	if a.For != "until" {
		span = a.For
	}
	return span, until
}

// actOnAll changes each of the ticked prefixes by itself. None of them is forced.
func (p *actHandlers) actOnAll(r *http.Request, a *actPage) *outcome {
	d := actions[a.Action]
	o := &outcome{back: a.backOr()}
	for _, text := range a.Asked {
		one := *a
		one.Asked, one.Ready, one.Name = []string{text}, false, ""
		d.plan(p, r, &one)
		problem := cmp.Or(one.Problem, one.needs)
		if problem == nil {
			var made deed
			if made, problem = d.do(p, access.CallerOf(r), &one); problem == nil {
				o.deeds = append(o.deeds, made)
				continue
			}
		}
		if problem.Forceable {
			problem.Fix = "change it by itself: its page asks whether it is meant"
		}
		o.Failed = append(o.Failed, failure{Name: text, Path: one.About, Problem: problem})
	}
	o.Text = sum(o, d.done)
	return o
}

// sum says how many changes were made.
func sum(o *outcome, done string) string {
	switch {
	case len(o.deeds) == 1 && len(o.Failed) == 0:
		return o.deeds[0].text
	case len(o.Failed) == 0:
		return fmt.Sprintf("All %s %s.", words.Number(len(o.deeds)), done)
	}
	return fmt.Sprintf("%s of %s %s.", words.Number(len(o.deeds)), words.Number(len(o.deeds)+len(o.Failed)), done)
}

// backOr returns the page to go back to: where none is named, that of the prefix.
func (a *actPage) backOr() string {
	if a.Back == "" && a.prefix.IsValid() {
		return pathOf(a.prefix)
	}
	return backTo(a.Back)
}

// backTo returns a path of a form if it is a page of the console, else that of the
// blocks: a form that another page filled in leads nowhere else.
func backTo(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsAny(text, "\\\r\n") {
		return "/blocked"
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !slices.Contains([]string{"blocked", "near", "address", "network", "rules", "allowed", "held", "neighbours", "activity", "attacks"}, top) || !strings.HasPrefix(u.Path, "/"+top) {
		return "/blocked"
	}
	return u.RequestURI()
}

// asksOthers reports whether a change goes to other nodes, and signed with their key.
func asksOthers(stats *admin.Stats) (signed, yes bool) {
	f := stats.Fleet
	if f == nil || f.Alive < 2 {
		return false, false
	}
	return f.KeyMode != "", true
}

// reach says on which nodes a change is in force.
func reach(stats *admin.Stats) string {
	switch f := stats.Fleet; {
	case f == nil:
		return "on this node"
	case f.Lost() != "":
		return "on this node now, and on the others of the fleet when Redis can be reached again"
	case f.Alive > 1:
		return fmt.Sprintf("on all %s nodes of the fleet", words.Number(f.Alive))
	}
	return "on this node, the only one of its fleet"
}
