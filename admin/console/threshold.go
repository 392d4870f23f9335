package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// thresholdHandlers answer with what another threshold of a rule would do to whom, and
// put it in force or count it beside.
type thresholdHandlers struct {
	frames   *frames
	reader   admin.Reader
	view     *admin.View
	changes  *admin.Changes // nil for clients without a login
	outcomes *outcomes
}

// applyPage asks before a threshold is put in force.
type applyPage struct {
	frame
	shape
	Link, Back  string
	Says        []clause
	Problem     *call.Problem
	Note        string
	Mean, Meant bool // a box has to be ticked, and is
	Nodes       int  // of a fleet that can be changed as a whole
	Whole       bool // that is chosen
	Once        string
	status      int
}

// Ready reports whether the form can be sent.
func (a *applyPage) Ready() bool { return a.Tried.Threshold != a.Threshold }

// namedLength is how many keys a sentence names.
const namedLength = 5

// newApply returns the page of a threshold that the request names; nil where there is no
// such rule or threshold.
func (p *thresholdHandlers) newApply(r *http.Request, asked string) (*applyPage, *notFound) {
	if p.changes == nil {
		return nil, readOnly()
	}
	rule, found := ruleNamed(p.reader, r.PathValue("name"))
	threshold, wrong := readThreshold(asked)
	if !found || wrong != "" {
		return nil, &notFound{Text: "There is no such rule or threshold.", Fix: "Go back to the page of the rule, and try a threshold there."}
	}
	d, outcomes, found := p.view.RuleDetail(r.Context(), rule.Name, looked, rule.Threshold, threshold)
	if !found {
		return nil, &notFound{Text: "There is no rule of this name.", Fix: "The page Rules lists them."}
	}
	a := &applyPage{shape: newShape(d, outcomes), Link: rulePath(rule.Name), status: http.StatusOK}
	a.Back = tryPath(rule.Name, threshold)
	a.frame = p.frames.of(r, "rules", "Threshold of rule "+rule.Name)
	if a.stats.Fleet != nil && p.changes.FleetOffered() == nil {
		a.Nodes = max(1, a.stats.Fleet.Alive)
	}
	a.say(p.reader)
	return a, nil
}

// ruleNamed returns a rule as it is now.
func ruleNamed(reader admin.Reader, name string) (admin.Rule, bool) {
	for _, rule := range reader.Rules() {
		if rule.Name == name {
			return rule, true
		}
	}
	return admin.Rule{}, false
}

// tryPath returns the page of a rule with a threshold tried.
func tryPath(rule string, threshold uint32) string {
	return rulePath(rule) + "?" + url.Values{"threshold": {strconv.FormatUint(uint64(threshold), 10)}}.Encode()
}

// say says what will happen.
func (a *applyPage) say(reader admin.Reader) {
	change := fmt.Sprintf("Limit of %s on %s: %s → %s.", a.Name, a.Node, a.Unit.Amount(a.Limit), a.Unit.Of(a.Tried.Limit))
	a.Says = []clause{{change, true}, {" " + a.consequence(reader), false},
		{fmt.Sprintf(" It refuses %s of what is counted instead of %s.", a.Share(a.Tried), a.Share(a.Live)), false}}
	if a.Monitor {
		a.Says = append(a.Says, clause{" This node is in monitor mode: until it enforces, nothing is refused.", true})
	}
	a.Says = append(a.Says, clause{" Written to overlay.yaml in the state folder; the config file stays as it is.", false})
}

// consequence names who is over the limit and not blocked yet.
func (a *applyPage) consequence(reader admin.Reader) string {
	does := map[string]string{edgeguard.ActionBlock.String(): "blocked", edgeguard.ActionDeny.String(): "refused"}[a.Action]
	if does == "" {
		does = "reported"
	}
	switch {
	case a.Tried.NewKeys == nil:
		return fmt.Sprintf("About %s are over it, and would be %s by their next request.", a.count(a.Tried.Keys), does)
	case *a.Tried.NewKeys == 0:
		return fmt.Sprintf("Nobody else would be %s now.", does)
	}
	var names []string
	for i := range a.Top {
		k := &a.Top[i]
		if k.Count <= a.Tried.Limit || len(names) == namedLength {
			break
		}
		if len(reader.Find(reader.Now(), k.Key.Prefix)) == 0 {
			names = append(names, k.Shown)
		}
	}
	more := ""
	if rest := *a.Tried.NewKeys - len(names); rest > 0 {
		more = fmt.Sprintf(" and %s more", words.Number(rest))
	}
	are, their := "are", "their"
	if *a.Tried.NewKeys == 1 {
		are, their = "is", "its"
	}
	return fmt.Sprintf("%s that %s not blocked now would be %s by %s next request: %s%s.", a.count(uint64(*a.Tried.NewKeys)), are, does, their, strings.Join(names, ", "), more)
}

func (p *thresholdHandlers) askThreshold(_ http.ResponseWriter, r *http.Request) (string, any) {
	a, missing := p.newApply(r, r.URL.Query().Get("threshold"))
	if missing != nil {
		return "", missing
	}
	a.Once = newID()
	return "apply.html", a
}

// setThreshold puts the threshold of a form in force, or answers with the form and
// what is wrong.
func (p *thresholdHandlers) setThreshold(w http.ResponseWriter, r *http.Request) (string, any) {
	a, missing := p.newApply(r, r.PostForm.Get("threshold"))
	if missing != nil {
		return "", missing
	}
	a.Once, a.Note, a.Meant = knownID(r.PostForm.Get("once")), strings.TrimSpace(r.PostForm.Get("note")), r.PostForm.Get("meant") != ""
	request := admin.ThresholdRequest{Threshold: a.Tried.Threshold, Note: a.Note, Force: a.Meant}
	if a.Whole = r.PostForm.Get("scope") == admin.ScopeFleet; a.Whole {
		request.Scope = admin.ScopeFleet
	}
	request.IfThreshold = number(r.PostForm.Get("seen"))
	o := p.outcomes.once(a.Once, func() *outcome {
		return p.apply(r, a, request)
	})
	if o == nil {
		return "apply.html", a
	}
	o.show(w, r)
	return "", nil
}

// apply makes the change, or keeps why it is not made and returns nil.
func (p *thresholdHandlers) apply(r *http.Request, a *applyPage, request admin.ThresholdRequest) *outcome {
	name, before := a.Name, a.Overlay
	if _, problem := p.changes.SetThreshold(r.Context(), access.CallerOf(r), name, request); problem != nil {
		a.Problem, a.status, a.Mean = problem, problem.Status, problem.Forceable
		return nil
	}
	ctx := context.WithoutCancel(r.Context()) // it is undone later
	back := admin.ThresholdRequest{Threshold: request.IfThreshold, IfThreshold: request.Threshold, Force: true, Scope: request.Scope}
	if before != nil {
		back.Note = before.Note
	}
	undo := func(by access.Caller) (string, *call.Problem) {
		back := back
		if before != nil && !before.Until.IsZero() { // it ends when it would have, or is over
			if left := before.Until.Sub(p.reader.Now()).Round(time.Second); left > 0 {
				back.For = left.String()
			} else {
				back.Threshold = before.Base
			}
		}
		_, problem := p.changes.SetThreshold(ctx, by, name, back)
		return fmt.Sprintf("The threshold of %s is %s again.", name, words.Number(back.Threshold)), problem
	}
	text := fmt.Sprintf("The threshold of %s is %s, its limit %s.", name, words.Number(request.Threshold), a.Unit.Of(a.Tried.Limit))
	if a.Whole {
		text += " The other nodes take it within about a second, or hold it."
	}
	return &outcome{Text: text, back: a.Link, deeds: []deed{{text: text, undo: undo}}}
}

// changeCandidate counts a threshold beside the one in force, or ends that.
func (p *thresholdHandlers) changeCandidate(w http.ResponseWriter, r *http.Request) (string, any) {
	return p.changeRule(w, r, func(rule *admin.Rule, threshold uint32) (text, back string, _ *call.Problem) {
		if r.PostForm.Has("remove") {
			_, problem := p.changes.RemoveCandidate(access.CallerOf(r), rule.Name, threshold)
			return fmt.Sprintf("%s is no longer counted.", words.Number(threshold)), rulePath(rule.Name), problem
		}
		_, problem := p.changes.AddCandidate(access.CallerOf(r), rule.Name, threshold, admin.CandidateRequest{})
		return fmt.Sprintf("%s is counted beside the live limit from now on. It refuses nobody.", words.Number(threshold)), tryPath(rule.Name, threshold), problem
	})
}

// endOverlay puts the config's threshold in force again, if the one in force is still
// that of the page.
func (p *thresholdHandlers) endOverlay(w http.ResponseWriter, r *http.Request) (string, any) {
	return p.changeRule(w, r, func(rule *admin.Rule, seen uint32) (text, back string, _ *call.Problem) {
		if shared := rule.Overlay != nil && rule.Overlay.Scope == admin.ScopeFleet || rule.Fleet != nil && rule.Fleet.Held; shared && seen == rule.Threshold {
			after, problem := p.changes.EndFleet(access.CallerOf(r), rule.Name, false)
			return fmt.Sprintf("The fleet's threshold of %s is undone. Here it is %s.", rule.Name, words.Number(after.Threshold)), rulePath(rule.Name), problem
		}
		if rule.Overlay != nil && rule.Overlay.Action != "" && seen == rule.Threshold {
			after, problem := p.changes.EndOverlay(access.CallerOf(r), rule.Name)
			return fmt.Sprintf("The rule %s is again as the config has it: %s over %s.", rule.Name, after.Action, words.Number(after.Threshold)), rulePath(rule.Name), problem
		}
		request := admin.ThresholdRequest{Threshold: rule.Threshold, IfThreshold: seen, Force: true}
		if rule.Overlay != nil {
			request.Threshold = rule.Overlay.Base
		}
		_, problem := p.changes.SetThreshold(r.Context(), access.CallerOf(r), rule.Name, request)
		return fmt.Sprintf("The threshold of %s is %s again, as the config has it.", rule.Name, words.Number(request.Threshold)), rulePath(rule.Name), problem
	})
}

// changeRule makes a change that needs no confirmation, and shows what came of it on
// the page of the rule, back.
func (p *thresholdHandlers) changeRule(w http.ResponseWriter, r *http.Request, change func(rule *admin.Rule, threshold uint32) (text, back string, _ *call.Problem)) (string, any) {
	rule, found := ruleNamed(p.reader, r.PathValue("name"))
	threshold := number(r.PostForm.Get("threshold"))
	if !found || p.changes == nil || threshold == 0 {
		return "", &notFound{Text: "There is no such rule or threshold.", Fix: "The page Rules lists the rules."}
	}
	o := p.outcomes.once(knownID(r.PostForm.Get("once")), func() *outcome {
		text, back, problem := change(&rule, threshold)
		o := &outcome{Text: text, back: back}
		if problem != nil {
			o.Text, o.Failed = "Nothing was changed.", []failure{{Name: "Rule " + rule.Name, Path: rulePath(rule.Name), Problem: problem}}
		}
		return o
	})
	o.show(w, r)
	return "", nil
}

// number reads a threshold that a page wrote into its form; 0 for none. That of a
// config can be greater than one that a person may try.
func number(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n)
}
