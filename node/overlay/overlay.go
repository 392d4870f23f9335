// Package overlay changes rules of a running node: their thresholds, their candidates.
// What was changed lies in a file of its own in the state folder, and is put on top of
// the config at each start and reload. The config's file is never written.
package overlay

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/rules"
)

// Deps is what an overlay uses of its node.
type Deps struct {
	// State is the state folder; empty for none, and then nothing can be changed.
	State string
	// Now is the node's time, Epoch returns the wall clock's.
	Now   func() time.Time
	Epoch func(time.Time) time.Time
	// Replace calls f alone, while the node runs, and puts the config in force that f
	// returns. The error is f's, or that the node does not run.
	Replace func(f func() (*config.Config, error)) error
	// Detector returns the one that decides, List what it asks first.
	Detector func() *detector.Detector
	List     *blocklist.List
	// Learned returns the threshold that ordinary days of this site speak for; 0 for none yet.
	Learned func(*rules.Meter) uint32
	// Outcome returns what a threshold would do; false where it cannot be said.
	Outcome func(ctx context.Context, rule string, threshold uint32) (admin.Outcome, bool)
	// ConfirmShare returns the share of the requests above which a threshold that
	// would newly refuse them has to be confirmed.
	ConfirmShare func(*config.Config) float64
	// Audit is called with what changed a rule without an operator here.
	Audit  func(who, action, rule, detail string)
	Alarms *alarm.Tracker
	Log    *slog.Logger
}

// Control changes the rules of a running node: an admin.Tuner. Make one with New.
// Its exported methods are safe for concurrent use but for On, which the caller
// serializes with Replace.
type Control struct {
	from Deps
	path string
	base *config.Config // as its file has it; used by On, and in Replace
	kept *config.Overlay
	book fleet.ThresholdBook
	read bool
	now  atomic.Pointer[merged]
	news chan struct{} // the book has a record to publish
}

// New returns an overlay that reads its file when On is called.
func New(d Deps) *Control {
	o := &Control{from: d, path: FileIn(d.State), kept: &config.Overlay{}, news: make(chan struct{}, 1)}
	o.now.Store(&merged{inForce: &config.Overlay{}})
	return o
}

// On returns the config with what was changed on top. It is called with the config
// of the start and of each reload, before they are put in force.
func (o *Control) On(base *config.Config) *config.Config {
	o.readFiles()
	o.base = base
	m, over := o.withoutDue()
	if !base.Overlay && len(o.kept.Rules) > 0 {
		o.from.Log.Info("the overlay is not in force: the config has overlay: false", "file", o.path, "rules", len(o.kept.Rules))
	}
	o.report(&m)
	o.reportFleet(&m)
	return o.putEnded(&m, over)
}

// readFiles reads what was kept, once.
func (o *Control) readFiles() {
	if o.path == "" || o.read {
		return
	}
	o.read = true
	var err error
	if o.kept, err = readOrSetAside(o.path); err != nil {
		o.from.Alarms.Happened(o.from.Now(), alarm.Overlay, o.path, err.Error())
	}
	if o.book, err = readFleetOrSetAside(fleetFile(o.path)); err != nil {
		o.from.Alarms.Happened(o.from.Now(), alarm.Overlay, fleetFile(o.path), err.Error())
	}
	o.book = o.book.Without(o.from.Epoch(o.from.Now()))
}

// write writes the files of which m has others than are there.
func (o *Control) write(m *merged) error {
	book, err := m.book.FileText()
	if before, _ := o.book.FileText(); err != nil || o.path == "" {
		return err
	} else if !bytes.Equal(book, before) {
		if err := replace(fleetFile(o.path), book); err != nil {
			return err
		}
	}
	if m.kept.YAML() == o.kept.YAML() {
		return nil
	}
	return write(o.path, m.kept)
}

// keep has m be what is in force, and returns its config.
func (o *Control) keep(m merged) *config.Config {
	o.kept, o.book, m.config = m.kept, m.book, o.learned(m.config)
	o.show(m)
	return m.config
}

// report logs what became of the overlay on top of another config.
func (o *Control) report(m *merged) {
	for _, e := range m.ended {
		o.from.Audit("config", "end overlay", e.rule, e.text)
		if e.alike {
			o.from.Log.Info("the overlay of a rule has ended: the config has the same threshold", "rule", e.rule)
			continue
		}
		o.from.Alarms.Happened(o.from.Now(), alarm.Overlay, e.rule, fmt.Sprintf("the overlay of rule %s has ended, and the config's threshold is in force: %s", e.rule, e.text))
	}
	for _, r := range m.inForce.Rules {
		if r.Threshold > 0 {
			o.from.Log.Info("a threshold is not the config's", "rule", r.Name, "threshold", r.Threshold, "config", r.Base, "since", r.Since, "by", r.By)
		}
	}
}

// show has the parts of m shown, and keeps the alarm about what is kept out.
func (o *Control) show(m merged) {
	o.now.Store(&m)
	o.showHeld(&m)
	if len(m.out) == 0 {
		o.from.Alarms.Ends(alarm.Overlay, "")
		return
	}
	text := fmt.Sprintf("the overlay of rule %s is kept and not in force: %s", m.out[0].rule, m.out[0].text)
	if more := len(m.out) - 1; more > 0 {
		text += fmt.Sprintf("; and so are %d more", more)
	}
	o.from.Alarms.Begins(o.from.Now(), alarm.Overlay, "", text+"; see `edgeguard rules changed`, and remove it with `edgeguard rules reset`")
}

// Of returns what is in force of a rule's overlay; the zero value for nothing.
func (o *Control) Of(rule string) config.RuleOverlay { return o.now.Load().inForce.Of(rule) }

// Unused returns what is kept and not in force.
func (o *Control) Unused() (out []admin.Unused) {
	for _, n := range o.now.Load().out {
		out = append(out, admin.Unused{Rule: n.rule, Why: n.text})
	}
	return out
}

// change makes next of a rule's overlay, writes it and puts it in force. next is
// given the rule as it is in force.
func (o *Control) change(rule string, next func(*rules.Spec, config.RuleOverlay) (config.RuleOverlay, *call.Problem)) *call.Problem {
	return o.put(func() (m merged, p *call.Problem) {
		now := o.now.Load()
		i := slices.IndexFunc(now.config.Specs, func(s rules.Spec) bool { return s.Name == rule })
		if i < 0 {
			return m, noRule(rule)
		}
		r := o.kept.Of(rule)
		r.Name, r.Meter = rule, fingerprint(now.config, i)
		if r, p = next(&now.config.Specs[i], r); p != nil {
			return m, p
		}
		if _, problems := rules.Compile([]rules.Spec{applied(o.base.Specs[i], r)}); len(problems) > 0 {
			return m, call.NewProblem(http.StatusUnprocessableEntity, "threshold", problems[0].Text, problems[0].Fix)
		}
		return merge(o.base, o.kept.With(r), o.book), nil
	})
}

// put writes what next makes and puts it in force. Where it cannot be written
// nothing changes: a restart would undo it.
func (o *Control) put(next func() (merged, *call.Problem)) *call.Problem {
	if p := o.forbidden(); p != nil {
		return p
	}
	var p *call.Problem
	err := o.from.Replace(func() (*config.Config, error) {
		if p = o.forbidden(); p != nil { // a reload may have come between
			return nil, p
		}
		var m merged
		if m, p = next(); p != nil {
			return nil, p
		}
		if err := o.write(&m); err != nil {
			p = call.NewProblem(http.StatusInternalServerError, "", "nothing was changed, because the overlay cannot be written: "+err.Error(), "make room in "+o.from.State+" and see that edgeguard may write there")
			return nil, p
		}
		return o.keep(m), nil
	})
	if err != nil && p == nil {
		p = call.NewProblem(http.StatusServiceUnavailable, "", err.Error(), "try again when it runs")
	}
	return p
}

// forbidden returns why nothing can be changed; nil if it can.
func (o *Control) forbidden() *call.Problem {
	c := o.now.Load().config
	switch {
	case o.path == "":
		return call.NewProblem(http.StatusConflict, "", "this node has no state folder, so that a restart would undo the change", "set state in the config, or change the threshold in the config and reload")
	case c == nil:
		return call.NewProblem(http.StatusServiceUnavailable, "", "the node is starting", "try again in a moment")
	case !c.Overlay:
		return call.NewProblem(http.StatusForbidden, "", "the config has overlay: false: thresholds are changed in the config only", "change the config and reload")
	}
	return nil
}

// noRule is the answer to a rule that is not there.
func noRule(name string) *call.Problem {
	return call.NewProblem(http.StatusNotFound, "name", "unknown rule "+call.Clip(name), "GET /api/v1/rules lists them")
}
