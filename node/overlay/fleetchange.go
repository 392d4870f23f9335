package overlay

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/aggregator/fleet"
	"edgeguard/config"
	"edgeguard/internal/safetext"
	"edgeguard/rules"
)

// offered returns why nothing can be changed for the whole fleet; nil if it can.
func offered(c *config.Config) *call.Problem {
	switch {
	case c.Fleet == nil:
		return call.NewProblem(http.StatusConflict, "scope", "this node is in no fleet", "leave out scope, or use node")
	case !requires(c):
		return call.NewProblem(http.StatusConflict, "scope", "a threshold for the whole fleet needs signatures: whoever can write to Redis could change it", "set fleet.key_mode: require on all nodes (docs/fleet.md), or change it on each node")
	case c.Monitor:
		return call.NewProblem(http.StatusConflict, "scope", "this node is in monitor mode and shares nothing", "change it on a node that enforces")
	}
	return nil
}

// FleetOffered implements admin.Tuner.
func (o *Control) FleetOffered() *call.Problem {
	if p := o.forbidden(); p != nil {
		return p
	}
	return offered(o.now.Load().base)
}

// record puts a record that next makes of the fleet's last one in force here, and has it
// published.
func (o *Control) record(rule, by string, next func(now *merged, last fleet.ThresholdEntry, known bool) (fleet.ThresholdRecord, *call.Problem)) (after merged, p *call.Problem) {
	p = o.put(func() (m merged, p *call.Problem) {
		if p := offered(o.base); p != nil {
			return m, p
		}
		last, known := o.book.EntryOf(rule)
		r, p := next(o.now.Load(), last, known)
		if p != nil {
			return m, p
		}
		r.Node, r.By = o.base.Node, safetext.Strip(call.Clip(by))
		r.At = fleet.NextThreshold(o.from.Epoch(o.from.Now()), &last.ThresholdRecord)
		if _, err := r.Encode(); err != nil {
			return m, call.NewProblem(http.StatusUnprocessableEntity, "threshold", err.Error(), "")
		}
		m = merge(o.base, o.kept, o.book.WithRecord(r, false, 0))
		o.mark(&m)
		after = m
		return m, nil
	})
	if p == nil {
		select {
		case o.news <- struct{}{}:
		default:
		}
	}
	return after, p
}

// setFleet puts a threshold or an action in force on the whole fleet. What is not asked for
// stays as it is there. The threshold that waits here, again, confirms it with its end.
func (o *Control) setFleet(rule, by string, request admin.ThresholdRequest) (was uint32, p *call.Problem) {
	_, p = o.record(rule, by, func(now *merged, last fleet.ThresholdEntry, known bool) (r fleet.ThresholdRecord, p *call.Problem) {
		spec, base := specOf(now.config, rule), specOf(o.base, rule)
		if spec == nil {
			return r, noRule(rule)
		}
		was = spec.Threshold
		r = fleet.ThresholdRecord{Rule: rule, Meter: meterOf(o.base, rule), Base: base.Threshold, Threshold: request.Threshold, Shadow: request.Action != "", Forced: request.Force, Note: request.Note}
		refuse := func(field, text, fix string) (fleet.ThresholdRecord, *call.Problem) {
			return r, call.NewProblem(http.StatusConflict, field, text, fix)
		}
		switch own := now.inForce.Of(rule); {
		case request.Threshold == 0 && request.Action == "":
			return r, call.NewProblem(http.StatusBadRequest, "threshold", "is missing or 0", "use the cost that a window may reach: at least 1")
		case own.Threshold > 0:
			return refuse("scope", fmt.Sprintf("this node has a threshold of its own, %d, which would go before the fleet's", own.Threshold), "undo it first")
		case request.IfThreshold != was:
			return r, o.outdatedFleet(spec, last, request.IfThreshold)
		case request.Action != "" && base.Action == edgeguard.ActionShadow:
			return refuse("action", "rule "+rule+" only reports already, by the config", "")
		case request.Threshold == was && request.Action == "" && !last.Waits() && !(last.Decides() != nil && request.For != ""):
			return refuse("threshold", fmt.Sprintf("%d is in force already", was), "")
		case known && !last.IsUndo() && !last.Ended && (last.Meter != r.Meter || last.Base != r.Base):
			return refuse("scope", fmt.Sprintf("the fleet has a threshold of another rule of this name, or of another base: %d instead of %d, by %s on %s", last.Threshold, last.Base, last.By, last.Node), "undo that one first (scope fleet)")
		}
		if d := last.Decides(); d != nil && d.Meter == r.Meter && d.Base == r.Base {
			r.Threshold, r.Shadow = cmp.Or(r.Threshold, d.Threshold), r.Shadow || d.Shadow
		}
		if _, problems := rules.Compile([]rules.Spec{applied(*base, config.RuleOverlay{Threshold: r.Threshold, Shadow: r.Shadow})}); len(problems) > 0 {
			return r, call.NewProblem(http.StatusUnprocessableEntity, "threshold", problems[0].Text, problems[0].Fix)
		}
		if r.Threshold == r.Base {
			r.Threshold = 0
		}
		if lasts, _ := call.ParseSpan(request.For); lasts > 0 && !r.IsUndo() {
			r.Until = o.wall().Truncate(time.Second).Add(lasts).UnixMilli()
		} else if last.Waits() && request.For == "" && r.Threshold == last.Threshold {
			r.Until = last.Until
		}
		return r, nil
	})
	return was, p
}

// outdatedFleet says that the threshold in force is not the one that a client saw.
func (o *Control) outdatedFleet(spec *rules.Spec, last fleet.ThresholdEntry, seen uint32) *call.Problem {
	var r config.RuleOverlay
	if d := last.Decides(); d != nil && d.Threshold == spec.Threshold {
		r.Threshold, r.Since, r.By = d.Threshold, d.Since(), d.By
	}
	return outdated(spec, r, seen)
}

// meterOf returns the fingerprint of what a rule counts.
func meterOf(c *config.Config, rule string) string {
	for i := range c.Specs {
		if c.Specs[i].Name == rule {
			return fingerprint(c, i)
		}
	}
	return ""
}

// EndFleet implements admin.Tuner. An undo that waits here is confirmed by another.
func (o *Control) EndFleet(rule, by string, force bool) (was, now uint32, p *call.Problem) {
	after, p := o.record(rule, by, func(m *merged, last fleet.ThresholdEntry, known bool) (r fleet.ThresholdRecord, p *call.Problem) {
		if !known || last.Idle() {
			return r, call.NewProblem(http.StatusNotFound, "name", "the fleet has no threshold of rule "+call.Clip(rule)+": there is nothing to undo", "")
		}
		if spec := specOf(m.config, rule); spec != nil {
			was = spec.Threshold
		}
		r = last.ThresholdRecord
		r.Threshold, r.Shadow, r.Until, r.Note, r.Forced = 0, false, 0, "", force || last.IsUndo()
		return r, nil
	})
	if p == nil {
		if spec := specOf(after.config, rule); spec != nil {
			now = spec.Threshold
		}
	}
	return was, now, p
}
