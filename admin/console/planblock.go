package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/internal/words"
)

// typedShare is the share of the requests above which the prefix of a block has to be
// typed again.
const typedShare = 0.2

func planBlock(p *actHandlers, r *http.Request, a *actPage) {
	if !a.read() {
		return
	}
	share, problem := p.changes.Weigh(access.CallerOf(r), a.prefix, false)
	if !a.require(problem) {
		return
	}
	w := p.weigh(r, a.prefix, share)
	a.stress(fmt.Sprintf("All that %s sends will be refused", a.Name))
	a.say(" " + reach(&a.stats) + ".")
	if a.stats.Monitor {
		a.stress(" This node is in monitor mode: until it enforces, nothing is refused.")
	}
	if signed, ask := asksOthers(&a.stats); ask {
		a.say(blockElsewhere(a.prefix, a.needs != nil, signed))
	}
	a.say(holds(a.prefix, &w))
	if text := exempt(&w, a.needs != nil); text != "" || a.needs == nil {
		a.say(cmp.Or(text, " None of it is allowed or protected."))
	}
	for _, b := range p.reader.Find(p.reader.Now(), a.prefix) {
		switch {
		case b.Prefix == a.prefix:
			a.before, a.Seen = b, seen(&b)
			a.say(fmt.Sprintf(" It is blocked already, by %s until %s: this replaces that block.", makerOf(b.Rule), p.clock(b.Until)))
		default:
			a.say(fmt.Sprintf(" It is inside %s, which is blocked until %s.", shortest(b.Prefix), p.clock(b.Until)))
		}
	}
	if own := browser(r); own.IsValid() && a.prefix.Contains(own) {
		a.Mean = true
		a.Warns = append(a.Warns, fmt.Sprintf("It holds %s, the address from which you look at this page.", own))
	}
	if a.Type = share > typedShare; a.Type {
		a.Mean = false
		if a.needs == nil {
			a.Warns = append(a.Warns, fmt.Sprintf("It would refuse %s of this node's requests.", words.PercentShare(share)))
		}
	}
}

// weight is what a block of a prefix would do on this node.
type weight struct {
	admin.Inside
	share   float64        // of the last five minutes' requests, newly refused
	allowed []netip.Prefix // some of the allowed prefixes in it
}

// weigh finds out what a node counts in a prefix. Of a network that takes a look at
// all keys.
func (p *actHandlers) weigh(r *http.Request, prefix netip.Prefix, share float64) weight {
	w := weight{share: share}
	if !prefix.IsSingleIP() {
		w.Inside = p.view.Inside(r.Context(), prefix)
	} else {
		for _, rule := range p.reader.Explain(p.reader.Now(), prefix.Addr()).Rules {
			if rule.Count > 0 && !rule.Forgeable {
				w.Keys, w.Window = 1, max(w.Window, rule.Window)
			}
		}
	}
	add := func(one netip.Prefix) {
		if prefix.Bits() <= one.Bits() && prefix.Contains(one.Addr()) && len(w.allowed) < admin.MostExempt {
			w.allowed = append(w.allowed, one)
		}
	}
	for _, one := range p.reader.Allowlist() {
		add(one)
	}
	for b := range p.reader.Allowances(p.reader.Now()) {
		add(b.Prefix)
	}
	return w
}

// holds says how many counted addresses a prefix holds, and their share.
func holds(prefix netip.Prefix, w *weight) string {
	share := ""
	if w.share > 0 {
		share = fmt.Sprintf(", about %s of all", words.PercentShare(w.share))
	}
	switch {
	case w.Keys == 0:
		return " Nothing of it is counted now."
	case prefix.IsSingleIP():
		return fmt.Sprintf(" It sent requests in the last %s%s.", words.Seconds(w.Window), share)
	case prefix.Addr().Is4():
		return fmt.Sprintf(" It holds %s that sent requests in the last %s%s.", words.Plural(w.Keys, "address", "addresses"), words.Seconds(w.Window), share)
	}
	return fmt.Sprintf(" It holds %s that sent requests in the last %s%s.", words.Plural(w.Keys, "counted network", "counted networks"), words.Seconds(w.Window), share)
}

// exempt says to which addresses of a block it does not apply; empty for none.
func exempt(w *weight, forced bool) string {
	text := ""
	if len(w.allowed) > 0 {
		text += fmt.Sprintf(" It does not apply to %s, which %s allowed.", listed(w.allowed), isAre(len(w.allowed)))
	}
	switch n := len(w.Protected); {
	case n > 0 && forced:
		text += fmt.Sprintf(" It applies to %s, too, which %s protected.", listed(w.Protected), isAre(n))
	case n > 0:
		text += fmt.Sprintf(" It does not apply to %s, which %s protected.", listed(w.Protected), isAre(n))
	}
	return text
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// listed writes prefixes; the list may be cut.
func listed(all []netip.Prefix) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = shortest(one)
	}
	if len(names) == admin.MostExempt {
		return strings.Join(names, ", ") + " and perhaps more"
	}
	return strings.Join(names, ", ")
}

// browser returns the address of who looks at the page, as far as it is known: that
// of the connection, or the one that the proxy which logs people in says. It only
// warns.
func browser(r *http.Request) netip.Addr {
	if access.CallerOf(r).Way != access.ByProxy {
		return access.PeerOf(r).Addr()
	}
	hops := strings.Split(r.Header.Get("X-Forwarded-For"), ",")
	addr, _ := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1]))
	return addr.Unmap()
}

func doBlock(p *actHandlers, by access.Caller, a *actPage) (deed, *call.Problem) {
	span, until := a.span()
	was, force := admin.NewBlock(a.before), a.needs != nil
	made, problem := p.changes.Block(by, admin.BlockRequest{Prefix: a.prefix.String(), For: span, Until: until, Reason: a.Note, Force: force})
	if problem != nil {
		if problem.Status == http.StatusConflict && was.Prefix.IsValid() {
			a.instead(problem, "Change its end", "extend")
		}
		return deed{}, problem
	}
	return deed{a.prefix, fmt.Sprintf("%s is blocked until %s %s.", a.Name, p.clock(made.Until), reach(&a.stats)), func(by access.Caller) (string, *call.Problem) {
		if was.Prefix.IsValid() {
			return p.restore(by, was, made, force)
		}
		if now, problem := p.view.Standing(made.Prefix.String()); problem != nil || now.Rule != made.Rule || now.Until.Sub(made.Until).Abs() > time.Second {
			return "", call.NewProblem(http.StatusConflict, "prefix", shortest(made.Prefix)+" was changed since", "look at it, and change it as it is now")
		}
		_, problem := p.changes.Unblock(by, made.Prefix.String(), "undone")
		return shortest(made.Prefix) + " is unblocked, and its counts are cleared.", problem
	}}, nil
}
