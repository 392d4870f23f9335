package overlay

import (
	"cmp"
	"fmt"
	"slices"

	"edgeguard"
	"edgeguard/aggregator/fleet"
	"edgeguard/config"
	"edgeguard/rules"
)

// merged is a config with the fleet's thresholds and this node's overlay on top.
type merged struct {
	base   *config.Config      // as its file has it
	config *config.Config      // what decides
	kept   *config.Overlay     // what the file is to have
	book   fleet.ThresholdBook // what the file of the fleet's thresholds is to have
	fleet  []layer             // what became of it
	// inForce is the part of it that decides. A rule that the config does not have,
	// and what does not fit, is kept out.
	inForce *config.Overlay
	// ended are the rules whose overlay the config ends, out those kept out; both
	// with the reason.
	ended, out []note
}

// keptRules returns what the file has, also before the start.
func (m *merged) keptRules() *config.Overlay { return cmp.Or(m.kept, &config.Overlay{}) }

// note says something of a rule.
type note struct {
	rule, text string
	// alike: the config says now what the overlay said.
	alike bool
}

// merge puts the fleet's thresholds and then an overlay on top of a config, which it
// does not change. A rule's overlay ends where the config has another base than it
// started from: whoever changed the config knew more than the overlay.
func merge(base *config.Config, o *config.Overlay, book fleet.ThresholdBook) merged {
	m := merged{base: base, config: base, kept: o, book: book, inForce: &config.Overlay{}}
	specs := slices.Clone(base.Specs)
	m.fleet = lay(base, specs, book)
	if !base.Overlay {
		return m
	}
	m.kept = &config.Overlay{}
	for _, r := range o.Rules {
		i := slices.IndexFunc(specs, func(s rules.Spec) bool { return s.Name == r.Name })
		if i < 0 {
			m.kept.Rules = append(m.kept.Rules, r)
			m.out = append(m.out, note{rule: r.Name, text: "the config has no rule of this name"})
			continue
		}
		var why *note
		if r, why = rebase(base, i, r); why != nil {
			m.ended = append(m.ended, *why)
		}
		if r.Empty() {
			continue
		}
		m.kept.Rules = append(m.kept.Rules, r)
		next := specs[i]
		if r.Threshold > 0 { // it goes before the fleet's
			next = base.Specs[i]
		}
		next = applied(next, r)
		if _, problems := rules.Compile([]rules.Spec{next}); len(problems) > 0 {
			m.out = append(m.out, note{rule: r.Name, text: problems[0].String()})
			continue
		}
		specs[i] = next
		m.inForce.Rules = append(m.inForce.Rules, r)
	}
	if len(m.inForce.Rules) == 0 && !slices.ContainsFunc(m.fleet, func(l layer) bool { return l.inForce }) {
		return m
	}
	c, problems := base.WithRules(specs)
	if len(problems) > 0 { // each rule compiled alone, and no name is another one
		return merged{base: base, config: base, kept: o, book: book, inForce: &config.Overlay{}, out: []note{{text: problems[0].String()}}}
	}
	m.config = c
	return m
}

// rebase returns what stays of a rule's overlay on top of rule i, and why the rest
// ends.
func rebase(base *config.Config, i int, r config.RuleOverlay) (config.RuleOverlay, *note) {
	threshold := base.Specs[i].Threshold
	switch {
	case fingerprint(base, i) != r.Meter:
		return config.RuleOverlay{Name: r.Name}, &note{rule: r.Name, text: "the rule counts something else now"}
	case r.Shadow && base.Specs[i].Action == edgeguard.ActionShadow && r.Threshold == 0:
		return r.Undecided(), &note{rule: r.Name, alike: true, text: "the config has action: shadow now"}
	case r.Threshold == 0 || r.Base == threshold:
		return r, nil
	}
	ended := &note{rule: r.Name, alike: r.Threshold == threshold, text: fmt.Sprintf("the config has threshold %d now, and had %d when %d was set here", threshold, r.Base, r.Threshold)}
	return r.Undecided(), ended
}

// applied returns a rule with its overlay. A candidate that is the threshold in
// force, or one of the config's, is left out as long as it is.
func applied(spec rules.Spec, r config.RuleOverlay) rules.Spec {
	if r.Threshold > 0 {
		spec.Threshold, spec.Pending = r.Threshold, false
	}
	if r.Shadow {
		spec.Action = edgeguard.ActionShadow
		spec.Escalate, spec.ProvokedFor, spec.WhileOver, spec.Everybody = nil, 0, false, false // what only rules have that refuse
		if spec.OnFleetLoss == rules.LossClosed {
			spec.OnFleetLoss = rules.LossLocal
		}
	}
	candidates := slices.DeleteFunc(slices.Clone(spec.Candidates), func(t uint32) bool { return t == spec.Threshold })
	for _, c := range r.Candidates {
		if c.Threshold != spec.Threshold && !slices.Contains(candidates, c.Threshold) {
			candidates = append(candidates, c.Threshold)
		}
	}
	spec.Candidates = candidates
	return spec
}

// fingerprint returns that of what rule i counts.
func fingerprint(c *config.Config, i int) string {
	return c.Rules.Meters[c.Rules.Rules[i].Meter].Fingerprint
}
