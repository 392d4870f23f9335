package overlay

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/internal/safetext"
	"edgeguard/node/alarm"
	"edgeguard/rules"
)

// mostCandidates is how many candidates of one rule may be added while the node
// runs: each is compared at each event over the lowest.
const mostCandidates = 8

// changed returns who changes something now.
func (o *Control) changed(by, note string) config.Changed {
	return config.Changed{Since: o.from.Epoch(o.from.Now()).UTC().Truncate(time.Second), By: safetext.Strip(call.Clip(by)), Note: note}
}

// SetThreshold implements admin.Tuner.
func (o *Control) SetThreshold(ctx context.Context, rule, by string, request admin.ThresholdRequest) (was uint32, p *call.Problem) {
	if p := o.tooMuch(ctx, rule, request); p != nil {
		return 0, p
	}
	if request.Scope == admin.ScopeFleet {
		return o.setFleet(rule, by, request)
	}
	p = o.change(rule, func(spec *rules.Spec, r config.RuleOverlay) (config.RuleOverlay, *call.Problem) {
		was = spec.Threshold
		switch {
		case request.Threshold == 0 && request.Action == "":
			return r, call.NewProblem(http.StatusBadRequest, "threshold", "is missing or 0", "use the cost that a window may reach: at least 1")
		case request.IfThreshold != was:
			return r, outdated(spec, r, request.IfThreshold)
		case request.Threshold == was && request.Action == "" && !(r.Decides() && request.For != ""):
			return r, call.NewProblem(http.StatusConflict, "threshold", fmt.Sprintf("%d is in force already", was), "")
		case request.Action != "" && spec.Action == edgeguard.ActionShadow && !r.Shadow:
			return r, call.NewProblem(http.StatusConflict, "action", "rule "+spec.Name+" only reports already, by the config", "")
		}
		next := r.Undecided()
		if next.Threshold, next.Base = r.Threshold, r.Base; request.Threshold > 0 {
			if next.Threshold, next.Base = 0, 0; request.Threshold != o.below(rule) {
				next.Threshold, next.Base = request.Threshold, specOf(o.base, rule).Threshold
			}
		}
		if next.Shadow = r.Shadow || request.Action != ""; next.Decides() {
			next.Changed = o.changed(by, request.Note)
		}
		if lasts, _ := call.ParseSpan(request.For); lasts > 0 && next.Decides() {
			next.Until = next.Since.Add(lasts)
		}
		return next, nil
	})
	return was, p
}

// outdated says that the threshold in force is not the one that a client saw.
func outdated(spec *rules.Spec, r config.RuleOverlay, seen uint32) *call.Problem {
	text := fmt.Sprintf("the threshold of rule %s is %d and not %d", spec.Name, spec.Threshold, seen)
	if r.Threshold > 0 {
		text += ": changed at " + r.Since.Format(time.RFC3339)
		if r.By != "" {
			text += " by " + r.By
		}
	} else {
		text += ", by the config"
	}
	return call.NewProblem(http.StatusConflict, "if_threshold", text, "look at the rule again, and decide by what it is now")
}

// tooMuch refuses a threshold that would newly refuse a large share of the requests,
// unless that was confirmed. What else is wrong with it change finds.
func (o *Control) tooMuch(ctx context.Context, rule string, request admin.ThresholdRequest) *call.Problem {
	c := o.now.Load().config
	if o.forbidden() != nil || request.Force || request.Threshold == 0 {
		return nil
	}
	i := slices.IndexFunc(c.Rules.Rules, func(r rules.Rule) bool { return r.Name == rule })
	if i < 0 || request.Threshold >= c.Rules.Rules[i].Threshold || request.IfThreshold != c.Rules.Rules[i].Threshold {
		return nil
	}
	share, most := o.refuses(ctx, c, &c.Rules.Rules[i], request.Threshold), o.from.ConfirmShare(c)
	if share <= most {
		return nil
	}
	problem := call.NewProblem(http.StatusConflict, "threshold", fmt.Sprintf("a threshold of %d would refuse %.0f %% of the last 5 minutes' requests here, more than the limit of %.0f %%",
		request.Threshold, 100*share, 100*most), "use force if this is intended")
	problem.Forceable = true
	return problem
}

// refuses returns the share of the requests that a lower threshold would newly
// refuse, by what this node counts. A rule that blocks refuses all requests of a key over
// the threshold, a rule that denies only those above it. With little traffic it is
// 0, as for blocks by hand.
func (o *Control) refuses(ctx context.Context, c *config.Config, r *rules.Rule, threshold uint32) float64 {
	now, d := o.from.Now(), o.from.Detector()
	sample := d.Sample(now)
	switch {
	case !sample.Enough(), r.Action == edgeguard.ActionShadow:
		return 0
	case r.Action == edgeguard.ActionDeny:
		outcome, _ := o.from.Outcome(ctx, r.Name, threshold)
		return outcome.RequestShare
	}
	limit, counts := r.Guard.Limit(threshold), counter(d, now, &c.Rules.Meters[r.Meter])
	return sample.ShareOf(func(addr netip.Addr) bool {
		standing, _ := o.from.List.Find(now, addr)
		return standing == blocklist.None && counts(addr) > limit
	})
}

// counter returns what counts an address for a meter that has no attributes: a rule
// that blocks has none.
func counter(d *detector.Detector, now time.Time, m *rules.Meter) func(netip.Addr) uint32 {
	for _, t := range d.Tables() {
		if t.Meter.Fingerprint == m.Fingerprint && !t.Forgeable && t.Wide == 0 {
			slot := clockguard.Slot(now, m.Width)
			return func(addr netip.Addr) uint32 { return t.Count(addr, "", slot) }
		}
	}
	return func(netip.Addr) uint32 { return 0 }
}

// EndOverlay implements admin.Tuner. The candidates stay.
func (o *Control) EndOverlay(rule string) (was, now uint32, p *call.Problem) {
	if slices.ContainsFunc(o.now.Load().out, func(n note) bool { return n.rule == rule }) {
		return 0, 0, o.put(func() (merged, *call.Problem) {
			return merge(o.base, o.kept.With(config.RuleOverlay{Name: rule}), o.book), nil
		})
	}
	p = o.change(rule, func(spec *rules.Spec, r config.RuleOverlay) (config.RuleOverlay, *call.Problem) {
		if !r.Decides() {
			return r, nothingToUndo(o.now.Load(), rule)
		}
		was, now = spec.Threshold, o.below(rule)
		return r.Undecided(), nil
	})
	return was, now, p
}

// EndDue ends what was set for a time that is over, here or for the fleet. It ends also where the
// file cannot be written: the next start ends it again.
func (o *Control) EndDue(time.Time) {
	now := o.now.Load()
	_, _, changed := now.book.WithEnds(o.wall())
	if !changed && len(now.keptRules().Due(o.wall())) == 0 || o.forbidden() != nil {
		return
	}
	_ = o.from.Replace(func() (*config.Config, error) { // a node that ends says so at its next start
		m, over := o.withoutDue()
		o.mark(&m)
		return o.putEnded(&m, over), nil
	})
}

// putEnded writes and keeps what is in force without what has ended by itself, says that, and
// returns the config.
func (o *Control) putEnded(m *merged, over []note) *config.Config {
	if err := o.write(m); err != nil {
		o.from.Alarms.Happened(o.from.Now(), alarm.Overlay, o.path, "the ended overlay is still in its file, because it cannot be written: "+err.Error())
	}
	c := o.keep(*m)
	for _, n := range over {
		o.from.Audit("edgeguard", "end overlay", n.rule, n.text)
		o.from.Log.Info("the overlay of a rule has ended: its time is over", "rule", n.rule)
	}
	return c
}

// withoutDue returns what is in force without what was set for a time that is over, and that.
func (o *Control) withoutDue() (m merged, over []note) {
	text := func(threshold, base uint32, whose string) string {
		if threshold > 0 {
			return fmt.Sprintf("%stime is over: %d → %d", whose, threshold, base)
		}
		return whose + "time is over"
	}
	kept := o.kept
	for _, r := range kept.Due(o.wall()) {
		kept = kept.With(r.Undecided())
		over = append(over, note{rule: r.Name, text: text(r.Threshold, r.Base, "its ")})
	}
	book, ended, _ := o.book.WithEnds(o.wall())
	for _, e := range ended {
		r := e.Decides()
		over = append(over, note{rule: e.Rule, text: text(r.Threshold, r.Base, "the fleet's: its ")})
	}
	return merge(o.base, kept, book), over
}

// wall returns the wall clock's time.
func (o *Control) wall() time.Time { return o.from.Epoch(o.from.Now()) }

// nothingToUndo is the answer where a node has no threshold of its own.
func nothingToUndo(now *merged, rule string) *call.Problem {
	if slices.ContainsFunc(now.fleet, func(l layer) bool { return l.Rule == rule && l.inForce }) {
		return call.NewProblem(http.StatusNotFound, "name", "the threshold of rule "+call.Clip(rule)+" was set for the whole fleet, and not on this node", "undo it with scope fleet")
	}
	return call.NewProblem(http.StatusNotFound, "name", "the threshold of rule "+call.Clip(rule)+" is the config's: there is nothing to undo", "")
}

// AddCandidate implements admin.Tuner.
func (o *Control) AddCandidate(rule, by string, threshold uint32, note string) *call.Problem {
	return o.change(rule, func(spec *rules.Spec, r config.RuleOverlay) (config.RuleOverlay, *call.Problem) {
		refuse := func(text, fix string) (config.RuleOverlay, *call.Problem) {
			return r, call.NewProblem(http.StatusConflict, "threshold", text, fix)
		}
		switch {
		case threshold == spec.Threshold:
			return refuse(fmt.Sprintf("%d is the threshold in force", threshold), "use another")
		case slices.Contains(spec.Candidates, threshold):
			return r, nil // it goes on counting
		case len(r.Candidates) >= mostCandidates:
			return refuse(fmt.Sprintf("rule %s has %d candidates that were added already", rule, mostCandidates), "remove one of them")
		}
		r.Candidates = append(slices.Clone(r.Candidates), config.CandidateOverlay{Threshold: threshold, Changed: o.changed(by, note)})
		return r, nil
	})
}

// RemoveCandidate implements admin.Tuner.
func (o *Control) RemoveCandidate(rule string, threshold uint32) *call.Problem {
	return o.change(rule, func(spec *rules.Spec, r config.RuleOverlay) (config.RuleOverlay, *call.Problem) {
		left := slices.DeleteFunc(slices.Clone(r.Candidates), func(c config.CandidateOverlay) bool { return c.Threshold == threshold })
		if len(left) < len(r.Candidates) {
			r.Candidates = left
			return r, nil
		}
		if slices.Contains(spec.Candidates, threshold) {
			return r, call.NewProblem(http.StatusConflict, "threshold", fmt.Sprintf("candidate %d is the config's", threshold), "remove it there, and reload")
		}
		return r, call.NewProblem(http.StatusNotFound, "threshold", fmt.Sprintf("rule %s has no candidate %d", call.Clip(rule), threshold), "")
	})
}
