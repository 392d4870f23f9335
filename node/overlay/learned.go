package overlay

import (
	"fmt"
	"slices"
	"time"

	"edgeguard/config"
	"edgeguard/rules"
)

// learned returns a config whose rules have the thresholds that were learned, where nothing else
// was set.
func (o *Control) learned(c *config.Config) *config.Config {
	specs := slices.Clone(c.Specs)
	for i := range specs {
		specs[i] = o.learnedSpec(c, i)
	}
	if slices.EqualFunc(specs, c.Specs, func(a, b rules.Spec) bool { return a.Pending == b.Pending }) {
		return c
	}
	if next, problems := c.WithRules(specs); len(problems) == 0 { // none: the threshold is within what can be learned
		return next
	}
	return c
}

// learnedSpec returns a rule of a config with its threshold, if that was left to what the node sees and
// enough was seen.
func (o *Control) learnedSpec(c *config.Config, i int) rules.Spec {
	spec := c.Specs[i]
	if !spec.Pending || o.from.Learned == nil {
		return spec
	}
	if n := o.from.Learned(&c.Rules.Meters[c.Rules.Rules[i].Meter]); n > 0 {
		spec.Threshold, spec.Pending = n, false
		spec.Candidates = slices.DeleteFunc(slices.Clone(spec.Candidates), func(t uint32) bool { return t == n })
	}
	return spec
}

// Learn puts thresholds in force that were learned since the last time.
func (o *Control) Learn(time.Time) {
	before := o.now.Load()
	if before.config == nil || !o.unlearned(before) {
		return
	}
	var after *config.Config
	err := o.from.Replace(func() (*config.Config, error) {
		after = o.keep(merge(o.base, o.kept, o.book))
		return after, nil
	})
	if err != nil {
		return // the node does not run; it learns when it does
	}
	for i := range after.Specs {
		was, now := specOf(before.config, after.Specs[i].Name), &after.Specs[i]
		if was == nil || !now.Learned || was.Threshold == now.Threshold && was.Pending == now.Pending {
			continue
		}
		what := fmt.Sprintf("%s → %s, by what ordinary days count", thresholdText(was), thresholdText(now))
		o.from.Audit("edgeguard", "threshold", now.Name, what)
		o.from.Log.Info("the threshold of a rule was learned", "rule", now.Name, "threshold", what)
	}
}

func thresholdText(spec *rules.Spec) string {
	if spec.Pending {
		return "none"
	}
	return fmt.Sprint(spec.Threshold)
}

// unlearned reports whether a rule has another threshold than was learned, and nobody set it.
func (o *Control) unlearned(m *merged) bool {
	for i := range m.config.Specs {
		spec := &m.config.Specs[i]
		set := m.inForce.Of(spec.Name).Threshold > 0 || slices.ContainsFunc(m.fleet, func(l layer) bool { return l.Rule == spec.Name && l.inForce })
		if !spec.Learned || set {
			continue
		}
		if next := o.learnedSpec(m.base, i); next.Threshold != spec.Threshold || next.Pending != spec.Pending {
			return true
		}
	}
	return false
}
