package overlay

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator/fleet"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/rules"
	"edgeguard/snapshot"
)

// fleetName is the file of the fleet's thresholds, beside the overlay's.
const fleetName = "overlay-fleet.json"

func fleetFile(path string) string { return filepath.Join(filepath.Dir(path), fleetName) }

// Shared is a rule and its change for the whole fleet.
type Shared struct {
	Rule  string
	Fleet admin.FleetThreshold
}

// SharedIn returns what a state folder has of the fleet's thresholds.
func SharedIn(folder string) (all []Shared, err error) {
	book, err := readFleet(filepath.Join(folder, fleetName))
	for _, e := range book.Entries() {
		if l := (layer{ThresholdEntry: e, inForce: e.InForce}); !e.Idle() {
			all = append(all, Shared{e.Rule, l.shown()})
		}
	}
	return all, err
}

// shown returns a threshold of the fleet as the API has it.
func (l *layer) shown() admin.FleetThreshold {
	f := admin.FleetThreshold{
		Threshold: l.Threshold, Base: l.Base, Action: actionOf(l.Shadow), Until: l.End(), Since: l.Since(), By: l.By, Note: l.Note, Node: l.Node,
		InForce: l.inForce && !l.Held, Held: l.Held, Share: l.Share, Why: l.why,
	}
	if l.Shadow && f.Threshold == 0 {
		f.Threshold = f.Base
	}
	return f
}

// actionOf returns the action that is in force instead of the config's; "" for none.
func actionOf(shadow bool) string {
	if shadow {
		return edgeguard.ActionShadow.String()
	}
	return ""
}

func readFleet(path string) (fleet.ThresholdBook, error) {
	text, err := readAll(path)
	if err != nil || text == nil {
		return fleet.ThresholdBook{}, err
	}
	return fleet.ParseThresholdBook(text)
}

// readFleetOrSetAside reads the fleet's file, and renames one that cannot be used.
func readFleetOrSetAside(path string) (fleet.ThresholdBook, error) {
	b, err := readFleet(path)
	if err != nil {
		return fleet.ThresholdBook{}, fmt.Errorf("the fleet's thresholds in %s cannot be used, and are read from Redis again: %w; %s", path, err, snapshot.SetAside(path))
	}
	return b, nil
}

// layer is what became of a threshold of the fleet on top of a config.
type layer struct {
	fleet.ThresholdEntry
	inForce bool
	why     string // it is not in force
}

// lay puts the fleet's thresholds on top of the rules of a config. One is in force
// where the config has what it replaced, and else not: all nodes with one config do
// the same, also after a config went back.
func lay(base *config.Config, specs []rules.Spec, book fleet.ThresholdBook) (layers []layer) {
	for _, e := range book.Entries() {
		l := layer{ThresholdEntry: e}
		i := slices.IndexFunc(specs, func(s rules.Spec) bool { return s.Name == e.Rule })
		if r := e.Decides(); r != nil {
			if l.why = unfit(base, i, r); l.why == "" {
				specs[i], l.inForce = applied(specs[i], config.RuleOverlay{Threshold: r.Threshold, Shadow: r.Shadow}), true
			}
		}
		layers = append(layers, l)
	}
	return layers
}

// unfit says why a threshold of the fleet is not in force for rule i; "" if it is.
func unfit(base *config.Config, i int, r *fleet.ThresholdRecord) string {
	switch {
	case !base.Overlay:
		return "the config has overlay: false"
	case !requires(base):
		return "the config does not require signatures: set fleet.key_mode: require"
	case i < 0:
		return "the config has no rule of this name"
	case fingerprint(base, i) != r.Meter:
		return "the rule counts something else here"
	case r.Threshold == 0 && base.Specs[i].Action == edgeguard.ActionShadow:
		return "the rule only reports already, by the config"
	case r.Threshold > 0 && base.Specs[i].Threshold != r.Base:
		return fmt.Sprintf("the config has threshold %d here, and not %d, which it replaces", base.Specs[i].Threshold, r.Base)
	}
	if _, problems := rules.Compile([]rules.Spec{applied(base.Specs[i], config.RuleOverlay{Threshold: r.Threshold, Shadow: r.Shadow})}); len(problems) > 0 {
		return problems[0].String()
	}
	return ""
}

// requires reports whether a node takes part in the fleet's thresholds: else who can
// write to Redis could set them.
func requires(c *config.Config) bool { return c.Fleet != nil && c.Fleet.RequireKey }

// specOf returns a rule of a config; nil if there is none.
func specOf(c *config.Config, rule string) *rules.Spec {
	if i := slices.IndexFunc(c.Specs, func(s rules.Spec) bool { return s.Name == rule }); i >= 0 {
		return &c.Specs[i]
	}
	return nil
}

// below returns the threshold of a rule without this node's own overlay.
func (o *Control) below(rule string) uint32 {
	for _, l := range o.now.Load().fleet {
		if l.Rule == rule && l.inForce && l.Decides().Threshold > 0 {
			return l.Decides().Threshold
		}
	}
	i := slices.IndexFunc(o.base.Specs, func(s rules.Spec) bool { return s.Name == rule })
	return o.learnedSpec(o.base, i).Threshold
}

// Shown returns what decides of a rule instead of the config's threshold, and the
// fleet's threshold; nil for none.
func (o *Control) Shown(rule string) (decides *admin.Overlay, nodes *admin.FleetThreshold) {
	now := o.now.Load()
	if r := now.inForce.Of(rule); r.Decides() {
		decides = &admin.Overlay{Threshold: r.Threshold, Base: r.Base, Until: r.Until, Since: r.Since, By: r.By, Note: r.Note, Scope: admin.ScopeNode, Action: actionOf(r.Shadow)}
		if i := specOf(now.config, rule); r.Threshold == 0 && i != nil {
			decides.Threshold, decides.Base = i.Threshold, i.Threshold
		}
	}
	for i := range now.fleet {
		l := &now.fleet[i]
		if l.Rule != rule || l.Idle() {
			continue
		}
		shown := l.shown()
		nodes = &shown
		if l.inForce && decides != nil {
			nodes.InForce, nodes.Why = false, "this node has a threshold or an action of its own"
		} else if r := l.Decides(); l.inForce {
			decides = &admin.Overlay{Threshold: r.Threshold, Base: r.Base, Action: actionOf(r.Shadow), Until: r.End(), Since: r.Since(), By: r.By, Note: r.Note, Scope: admin.ScopeFleet, Node: r.Node}
			if r.Threshold == 0 {
				decides.Threshold = specOf(now.config, rule).Threshold
				decides.Base = decides.Threshold
			}
		}
	}
	return decides, nodes
}

// FleetPart is the node's part in the fleet's thresholds.
type FleetPart struct{ o *Control }

// Fleet returns the node's part in the fleet's thresholds.
func (o *Control) Fleet() FleetPart { return FleetPart{o} }

// Rules returns the names of the config's rules.
func (f FleetPart) Rules() (names []string) {
	if now := f.o.now.Load(); now.config != nil {
		for i := range now.config.Specs {
			names = append(names, now.config.Specs[i].Name)
		}
	}
	return names
}

// Book returns what the node knows of the fleet's thresholds.
func (f FleetPart) Book() fleet.ThresholdBook { return f.o.now.Load().book }

// Changed has a value when there is a record to publish.
func (f FleetPart) Changed() <-chan struct{} { return f.o.news }

// Take puts records of other nodes in force. One that would newly refuse a large share
// of the requests here waits for a confirmation. Where the file cannot be written
// nothing changes, and they come again.
func (f FleetPart) Take(ctx context.Context, news []fleet.ThresholdRecord) {
	o := f.o
	held, shares := make([]bool, len(news)), make([]float64, len(news))
	for i := range news {
		held[i], shares[i] = o.weigh(ctx, &news[i])
	}
	written := true
	err := o.from.Replace(func() (*config.Config, error) {
		book := o.book
		for i, r := range news {
			book = book.WithRecord(r, held[i], shares[i])
		}
		book, _, _ = book.WithEnds(o.wall())
		m := merge(o.base, o.kept, book)
		o.mark(&m)
		if err := o.write(&m); err != nil {
			written = false
			return nil, err
		}
		return o.keep(m), nil
	})
	if !written {
		o.from.Alarms.Begins(o.from.Now(), alarm.Overlay, "fleet", "a threshold of the fleet is not in force here, because it cannot be written: "+err.Error())
	} else if err == nil {
		o.from.Alarms.Ends(alarm.Overlay, "fleet")
		o.taken(news, held)
	}
}

// taken records what the node took from others.
func (o *Control) taken(news []fleet.ThresholdRecord, held []bool) {
	for i := range news {
		r := &news[i]
		what := fmt.Sprintf("%d → %d", r.Base, r.Threshold)
		switch {
		case r.IsUndo():
			what = fmt.Sprintf("undone: %d again", r.Base)
		case r.Threshold == 0:
			what = "action shadow"
		case r.Shadow:
			what += ", action shadow"
		}
		if r.Until != 0 {
			what += ", until " + r.End().Format(time.RFC3339)
		}
		what += ", on " + r.Node
		if r.By != "" {
			what += " by " + r.By
		}
		if held[i] {
			what += ", awaits confirmation here"
		}
		o.from.Audit("fleet", "threshold", r.Rule, what)
		o.from.Log.Info("a threshold of the fleet was changed", "rule", r.Rule, "threshold", r.Threshold, "config", r.Base, "action", actionOf(r.Shadow), "until", r.End(), "node", r.Node, "by", r.By, "held", held[i])
	}
}

// weigh reports whether a record of another node would newly refuse too much here, and
// which share of the requests. Its threshold and action are those of the config where it
// undoes, or does not fit here. One that is over does not wait: that the config's are in
// force after its end is what was set.
func (o *Control) weigh(ctx context.Context, r *fleet.ThresholdRecord) (held bool, share float64) {
	now := o.now.Load()
	i := slices.IndexFunc(now.config.Rules.Rules, func(one rules.Rule) bool { return one.Name == r.Rule })
	if i < 0 || r.Forced || r.IsOver(o.wall()) || !now.base.Overlay || now.inForce.Of(r.Rule).Decides() {
		return false, 0
	}
	base, live := specOf(now.base, r.Rule), now.config.Rules.Rules[i]
	was, next := live, base.Threshold
	live.Action = base.Action
	at := slices.IndexFunc(now.base.Specs, func(s rules.Spec) bool { return s.Name == r.Rule })
	if !r.IsUndo() && unfit(now.base, at, r) == "" {
		next = cmp.Or(r.Threshold, next)
		if r.Shadow {
			live.Action = edgeguard.ActionShadow
		}
	}
	if next >= was.Threshold && live.Action == was.Action {
		return false, 0
	}
	share = o.refuses(ctx, now.config, &live, next)
	return share > o.from.ConfirmShare(now.config), share
}

// mark notes in the book which thresholds of the fleet are in force here.
func (o *Control) mark(m *merged) {
	m.book, _ = m.book.Marked(func(rule string) bool {
		return slices.ContainsFunc(m.fleet, func(l layer) bool { return l.Rule == rule && l.inForce })
	})
}

// reportFleet logs what became of the fleet's thresholds on top of another config, and
// has it recorded where one was in force and is not any more.
func (o *Control) reportFleet(m *merged) {
	o.mark(m)
	for i := range m.fleet {
		l := &m.fleet[i]
		switch {
		case l.inForce:
			r := l.Decides()
			o.from.Log.Info("a threshold is the fleet's", "rule", r.Rule, "threshold", r.Threshold, "config", r.Base, "action", actionOf(r.Shadow), "until", r.End(), "since", r.Since(), "by", r.By)
		case l.InForce && !l.Ended:
			o.from.Audit("config", "end overlay", l.Rule, "the fleet's threshold is not in force here: "+l.why)
			o.from.Alarms.Happened(o.from.Now(), alarm.Overlay, l.Rule, fmt.Sprintf("the fleet's threshold of rule %s is not in force here any more: %s", l.Rule, l.why))
		}
	}
}

// showHeld keeps the alarm about thresholds that await confirmation.
func (o *Control) showHeld(m *merged) {
	var held []*layer
	for i := range m.fleet {
		if m.fleet[i].Waits() {
			held = append(held, &m.fleet[i])
		}
	}
	if len(held) == 0 {
		o.from.Alarms.Ends(alarm.Held, "thresholds")
		return
	}
	l := held[0]
	text := fmt.Sprintf("the fleet's change of the threshold of rule %s would newly refuse %.0f %% of the last 5 minutes' requests here", l.Rule, 100*l.Share)
	if more := len(held) - 1; more > 0 {
		text += fmt.Sprintf("; %d more wait", more)
	}
	o.from.Alarms.Begins(o.from.Now(), alarm.Held, "thresholds", text+": see `edgeguard rules changed`, then `edgeguard rules confirm` or `edgeguard rules reset --fleet`")
}
