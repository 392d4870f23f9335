package console

import (
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

// about makes the page one about a prefix whose form can be sent.
func (a *actPage) about(prefix netip.Prefix) {
	a.prefix, a.Name, a.About, a.Ready = prefix, shortest(prefix), pathOf(prefix), true
}

func (a *actPage) say(text string)    { a.Says = append(a.Says, clause{text, false}) }
func (a *actPage) stress(text string) { a.Says = append(a.Says, clause{text, true}) }

// read reads the only prefix that was asked for.
func (a *actPage) read() bool {
	prefix, problem := call.ParsePrefix("prefix", a.Asked[0])
	if problem != nil {
		a.refuse(problem)
		return false
	}
	a.about(prefix)
	return true
}

// ofBlock makes the page one about the block of exactly the prefix. If there is none,
// the page leads to what there is.
func (a *actPage) ofBlock(p *actHandlers) bool {
	b, problem := p.view.Standing(a.Asked[0])
	if problem == nil {
		a.about(b.Prefix)
		a.before, a.Seen = b, seen(&b)
		return true
	}
	a.refuse(problem)
	if !b.Prefix.IsValid() {
		return false
	}
	a.prefix, a.Name, a.About = b.Prefix, shortest(b.Prefix), pathOf(b.Prefix)
	if around := p.reader.Find(p.reader.Now(), b.Prefix); len(around) > 0 {
		outer := shortest(around[0].Prefix)
		a.Instead = append(a.Instead, link{Name: a.Verb + " " + outer, Path: actPath(a.Action, outer, a.Back)})
		a.instead(a.Problem, "Allow "+a.Name+" alone", "allow")
	}
	if len(p.reader.ImportedAround(p.reader.Now(), b.Prefix)) > 0 && len(a.Instead) == 0 {
		a.instead(a.Problem, "Allow "+a.Name, "allow")
	}
	if heldRecord(p.reader, b.Prefix) != nil {
		a.instead(a.Problem, "Confirm it", "confirm")
		a.instead(a.Problem, "Withdraw it", "withdraw")
	}
	return false
}

// seen identifies a record, so that a form that was made for another one is noticed.
// The end of a rule's block moves on while its count stays over.
func seen(b *edgeguard.Block) string {
	if b.Rule != edgeguard.ManualRule {
		return fmt.Sprintf("%s %s", b.Rule, b.Origin)
	}
	return fmt.Sprintf("%s %s %d", b.Rule, b.Origin, b.Until.Round(time.Second).Unix())
}

// clock writes a time of today, or with its date.
func (p *actHandlers) clock(t time.Time) string { return at(t, p.reader.Now()).Clock }

// actPath returns the page of an action about a prefix.
func actPath(name, prefix, back string) string {
	q := url.Values{"prefix": {prefix}}
	if back != "" {
		q.Set("back", back)
	}
	return "/" + name + "?" + q.Encode()
}

// standsNow says which block it is.
func (a *actPage) standsNow(p *actHandlers) {
	b := &a.before
	a.stress("Blocked by " + makerOf(b.Rule))
	a.say(fmt.Sprintf(" on %s since %s, until %s%s.", b.Origin, p.clock(b.Since), p.clock(b.Until), quoted(b.Reason)))
	if a.stats.Monitor {
		a.stress(" This node is in monitor mode: nothing is refused.")
	}
}

func planUnblock(p *actHandlers, _ *http.Request, a *actPage) {
	if !a.ofBlock(p) {
		return
	}
	a.standsNow(p)
	a.say(fmt.Sprintf(" Its requests will pass, and what was counted of it is cleared, %s. A rule blocks it again only for what it does from then on.", reach(&a.stats)))
	if text := a.stats.Lingers(); text != "" {
		a.say(" " + text)
	}
	_, counts := p.reader.Glance(p.reader.Now(), a.prefix.Addr())
	if text := admin.Returns(a.prefix, counts, p.reader.Now()); text != "" {
		a.stress(" " + text)
	}
	if _, allowed := allowanceOf(p.reader, a.prefix); !allowed {
		a.Instead = append(a.Instead, link{Name: "Allow " + a.Name + " instead", Path: actPath("allow", a.Name, a.Back)})
	}
	for _, b := range p.reader.Find(p.reader.Now(), a.prefix) {
		if b.Prefix != a.prefix {
			a.Warns = append(a.Warns, fmt.Sprintf("It stays blocked by the block of %s, which contains it.", shortest(b.Prefix)))
		}
	}
}

func doUnblock(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	was := admin.NewBlock(a.before)
	if _, problem := p.changes.Unblock(by, a.prefix.String(), a.Note); problem != nil {
		return deed{}, problem
	}
	text := strings.TrimSpace(fmt.Sprintf("%s is unblocked %s. %s", a.Name, reach(&a.stats), a.stats.Lingers()))
	return deed{a.prefix, text, func(by access.Caller) (string, *call.Problem) {
		return p.restore(by, was, admin.Block{}, false)
	}}, nil
}

// restore puts a block back as it was.
func (p *actHandlers) restore(by access.Caller, was, left admin.Block, force bool) (string, *call.Problem) {
	b, problem := p.changes.Restore(by, was, left, force)
	if problem != nil {
		return "", problem
	}
	return fmt.Sprintf("%s is blocked again by %s until %s.", shortest(b.Prefix), makerOf(b.Rule), p.clock(b.Until)), nil
}

// require keeps why the node requires force: the form then has a box to tick.
func (a *actPage) require(problem *call.Problem) bool {
	switch {
	case problem == nil:
		return true
	case !problem.Forceable:
		a.Ready = false
		a.refuse(problem)
		return false
	}
	a.needs, a.Mean = problem, true
	a.Warns = append(a.Warns, upper(problem.Detail)+".")
	return true
}

// needs returns why the node requires force of a block, or of an allowance.
func (p *actHandlers) needs(by access.Caller, prefix netip.Prefix, allow bool) *call.Problem {
	_, problem := p.changes.Weigh(by, prefix, allow)
	return problem
}

func planExtend(p *actHandlers, r *http.Request, a *actPage) {
	if !a.ofBlock(p) || !a.require(p.needs(access.CallerOf(r), a.prefix, false)) {
		return
	}
	a.standsNow(p)
	a.say(fmt.Sprintf(" It will end when you say, later or sooner, %s.", reach(&a.stats)))
	if a.before.Rule != edgeguard.ManualRule {
		a.say(" From then on it is an operator's block: no rule replaces it.")
	}
}

func doExtend(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	span, until := a.span()
	was, force := admin.NewBlock(a.before), a.needs != nil
	made, problem := p.changes.Extend(by, a.prefix.String(), admin.ExtendRequest{For: span, Until: until, Reason: a.Note, Force: force})
	if problem != nil {
		return deed{}, problem
	}
	return deed{a.prefix, fmt.Sprintf("%s is blocked until %s.", a.Name, p.clock(made.Until)), func(by access.Caller) (string, *call.Problem) {
		return p.restore(by, was, made, force)
	}}, nil
}

func planAllow(p *actHandlers, r *http.Request, a *actPage) {
	if !a.read() || !a.require(p.needs(access.CallerOf(r), a.prefix, true)) {
		return
	}
	now := p.reader.Now()
	a.stress(a.Name + " will never be blocked")
	a.say(fmt.Sprintf(", and its requests are not counted, %s.", reach(&a.stats)))
	if signed, ask := asksOthers(&a.stats); ask {
		a.say(allowanceElsewhere(a.prefix, signed))
	}
	for _, b := range p.reader.Find(now, a.prefix) {
		if b.Prefix == a.prefix {
			a.before = b
			a.say(fmt.Sprintf(" Its block by %s ends.", makerOf(b.Rule)))
			continue
		}
		a.say(fmt.Sprintf(" The block of %s, which contains it, stays for the rest of that network.", shortest(b.Prefix)))
	}
	if old, ok := allowanceOf(p.reader, a.prefix); ok {
		a.say(fmt.Sprintf(" It is allowed already%s: this replaces that.", quoted(old.Reason)))
	}
}

func doAllow(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	span, until := a.span()
	blocked, force := admin.NewBlock(a.before), a.needs != nil
	old, replaced := allowanceOf(p.reader, a.prefix)
	made, problem := p.changes.Allow(by, admin.AllowRequest{Prefix: a.prefix.String(), For: span, Until: until, Reason: a.Note, Force: force})
	if problem != nil {
		if problem.Status == http.StatusConflict {
			a.instead(problem, "Take back the allowance", "disallow")
		}
		return deed{}, problem
	}
	text := fmt.Sprintf("%s is allowed %s.", a.Name, reach(&a.stats))
	if !made.Until.IsZero() {
		text = fmt.Sprintf("%s is allowed until %s %s.", a.Name, p.clock(made.Until), reach(&a.stats))
	}
	return deed{a.prefix, text, func(by access.Caller) (string, *call.Problem) {
		if _, problem := p.changes.Disallow(by, made.Prefix.String(), "undone"); problem != nil {
			return "", problem
		}
		switch {
		case replaced:
			return p.allowAgain(by, old, force)
		case blocked.Prefix.IsValid():
			return p.restore(by, blocked, admin.Block{}, false)
		}
		return shortest(made.Prefix) + " is no longer allowed.", nil
	}}, nil
}

// allowAgain makes an allowance as it was.
func (p *actHandlers) allowAgain(by access.Caller, was admin.Allowance, force bool) (string, *call.Problem) {
	_, problem := p.changes.Allow(by, admin.AllowRequest{Prefix: was.Prefix.String(), Until: was.Until, Reason: was.Reason, Force: force})
	return shortest(was.Prefix) + " is allowed again as before.", problem
}

func planDisallow(p *actHandlers, _ *http.Request, a *actPage) {
	if !a.read() {
		return
	}
	old, ok := allowanceOf(p.reader, a.prefix)
	if !ok {
		a.Ready = false
		fix := "look at the list of who is allowed"
		if slices.Contains(p.reader.Allowlist(), a.prefix) {
			fix = "it is in the allowlist of the config: edit that and reload"
		}
		a.refuseField(http.StatusNotFound, "prefix", a.Name+" is not allowed at run time", fix)
		a.Instead = []link{{Name: "Who is allowed", Path: "/allowed"}}
		return
	}
	a.Seen = fmt.Sprintf("%s %d", old.Origin, old.Until.Round(time.Second).Unix())
	a.stress("Allowed")
	a.say(fmt.Sprintf(" on %s since %s%s.", old.Origin, p.clock(old.Since), quoted(old.Reason)))
	a.say(fmt.Sprintf(" Its requests will be counted again, and can block it, %s.", reach(&a.stats)))
}

func doDisallow(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	old, _ := allowanceOf(p.reader, a.prefix)
	force := p.needs(by, a.prefix, true) != nil
	if _, problem := p.changes.Disallow(by, a.prefix.String(), a.Note); problem != nil {
		return deed{}, problem
	}
	return deed{a.prefix, fmt.Sprintf("%s is no longer allowed %s.", a.Name, reach(&a.stats)), func(by access.Caller) (string, *call.Problem) {
		return p.allowAgain(by, old, force)
	}}, nil
}

func planHeld(p *actHandlers, _ *http.Request, a *actPage) {
	if !a.read() {
		return
	}
	if a.held = heldRecord(p.reader, a.prefix); a.held == nil {
		a.Ready = false
		a.refuseField(http.StatusNotFound, "prefix", a.Name+" does not await confirmation", "another operator may have confirmed or withdrawn it")
		a.Instead = []link{{Name: "What waits", Path: "/blocked/held"}, {Name: "Look at " + a.Name, Path: a.About}}
		return
	}
	now, h := p.reader.Now(), a.held
	a.Seen = fmt.Sprintf("%s %s %s %d", h.Kind, h.Rule, h.Origin, h.Until.Round(time.Second).Unix())
	a.stress("Not in force here: the " + h.Kind + " of " + a.Name)
	a.say(fmt.Sprintf(" that %s sent %s%s.", h.Origin, at(h.Held, now).Ago, quoted(h.Reason)))
	if h.Kind == "block" {
		a.say(fmt.Sprintf(" It is by %s and ends at %s.", makerOf(h.Rule), p.clock(h.Until)))
	}
	switch {
	case a.Action == "withdraw":
		a.say(fmt.Sprintf(" It will be taken back %s. That cannot be undone: to block it after all, block it by hand.", reach(&a.stats)))
	case h.Share > typedShare:
		a.Type = true
		a.Warns = append(a.Warns, fmt.Sprintf("It would refuse %s of this node's requests.", words.PercentShare(h.Share)))
		fallthrough
	default:
		a.say(fmt.Sprintf(" It will be in force %s.", reach(&a.stats)))
	}
}

func doConfirm(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	_, problem := p.changes.Confirm(by, admin.ConfirmRequest{Prefixes: []string{a.prefix.String()}})
	return deed{prefix: a.prefix, text: fmt.Sprintf("The %s of %s is in force %s. To end it, change it by hand.", a.held.Kind, a.Name, reach(&a.stats))}, problem
}

func doWithdraw(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	_, problem := p.changes.Unblock(by, a.prefix.String(), a.Note)
	return deed{prefix: a.prefix, text: fmt.Sprintf("The %s of %s is withdrawn %s.", a.held.Kind, a.Name, reach(&a.stats))}, problem
}

// instead makes the fix of a problem another action.
func (a *actPage) instead(problem *call.Problem, label, action string) {
	problem.Fix = ""
	a.Instead = append(a.Instead, link{Name: label, Path: actPath(action, a.Name, a.Back)})
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
