package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/rules"
)

// YAML writes the effective whole, defaults included, as a file that Parse
// reads back to the same settings. Beside each threshold stands its limit.
func (c *Config) YAML() string {
	p := &yaml.Printer{Variables: c.Variables}
	c.keys(nil).Write(p, "")
	return p.String()
}

// RulesDigest returns 16 hex digits that are the same for configs of one version with
// the same rules and limits, in the same order, which count the same: also what own_hosts
// makes of their terms. Candidates are left out: they change nothing, nor does what is known
// of people.
func (c *Config) RulesDigest() string {
	p := printer{new(yaml.Printer)}
	for i := range c.Specs {
		rule := c.Rules.Rules[i]
		rule.Candidates, rule.People = nil, rules.People{}
		meter := &c.Rules.Meters[rule.Meter]
		p.rule(&c.Specs[i], &rule, meter)
		p.Field(2, "meter", meter.Fingerprint)
	}
	sum := sha256.Sum256([]byte(p.String()))
	return hex.EncodeToString(sum[:8])
}

// printer writes rules.
type printer struct{ *yaml.Printer }

// limitText writes a limit as the threshold beside it, and in words where these differ.
func limitText(limit uint32, meter *rules.Meter) string {
	if unit := meter.MeasureOf(); unit.Each > 1 {
		return unit.Amount(limit) + " " + unit.Many
	}
	return fmt.Sprint(limit)
}

// thresholdText writes a threshold with the limit beside it. One that is learned is each node's own.
func thresholdText(rule *rules.Rule, meter *rules.Meter) string {
	if rule.Learned {
		return "learned # from seven days of this site; until then the rule tells nothing"
	}
	return fmt.Sprintf("%d # limit %s%s", rule.Threshold, limitText(rule.Limit, meter), rateText(rule, meter))
}

// rateText writes what a limit comes to that all clients share.
func rateText(rule *rules.Rule, meter *rules.Meter) string {
	if !meter.Everybody {
		return ""
	}
	return fmt.Sprintf(", of all clients together: %.3g a second", float64(rule.Limit)/meter.Window.Seconds())
}

func (c *Config) writeRules(to *yaml.Printer, _ string) {
	p := printer{to}
	if len(c.Specs) == 0 {
		p.Field(0, "rules", "[]")
		return
	}
	p.Field(0, "rules", "")
	for i := range c.Specs {
		p.rule(&c.Specs[i], &c.Rules.Rules[i], &c.Rules.Meters[c.Rules.Rules[i].Meter])
	}
}

func (p *printer) rule(spec *rules.Spec, rule *rules.Rule, meter *rules.Meter) {
	p.Field(1, "- name", yaml.Quote(rule.Name))
	match := spec.Match
	match.Kind = []string{meter.Kind.String()}
	p.Field(2, "match", yaml.MatchText(&match))
	if spec.When != "" {
		p.Field(2, "when", yaml.Quote(spec.When))
	}
	p.Field(2, "threshold", thresholdText(rule, meter))
	if rule.People.Count > 0 {
		p.Field(2, "people", fmt.Sprintf("{count: %d, scene: %s}", rule.People.Count, yaml.Quote(rule.People.Scene)))
	}
	p.Field(2, "guard", rule.Guard.String())
	p.Field(2, "window", yaml.Duration(meter.Window))
	p.Field(2, "key", keyText(meter))
	if spec.Distinct != "" {
		p.Field(2, "count", "{distinct: "+spec.Distinct+"}")
	}
	p.cost(spec)
	p.Field(2, "action", rule.Action.String())
	if spec.Everybody {
		p.Field(2, "everybody", "true # while the count is over, what matches is refused to everybody, and any client can bring that about")
	}
	if rule.Action == edgeguard.ActionBlock {
		p.Field(2, "block_for", yaml.Duration(rule.BlockFor))
		p.steps(rule)
	}
	p.Field(2, "wide", wideText(rule, meter))
	p.Field(2, "scope", rule.Scope.String())
	if rule.Scope == rules.ScopeFleet {
		p.Field(2, "on_fleet_loss", rule.OnFleetLoss.String())
	}
	if len(rule.Candidates) > 0 {
		var thresholds, limits []string
		for _, candidate := range rule.Candidates {
			thresholds = append(thresholds, fmt.Sprint(candidate.Threshold))
			limits = append(limits, fmt.Sprint(candidate.Limit))
		}
		p.Field(2, "candidates", fmt.Sprintf("[%s] # limits %s", strings.Join(thresholds, ", "), strings.Join(limits, ", ")))
	}
}

// steps writes how long later blocks last, how long those that a page provoked, and whether they last while the count is over.
func (p *printer) steps(rule *rules.Rule) {
	if len(rule.Escalate) > 0 {
		var steps []string
		for _, step := range rule.Escalate {
			steps = append(steps, yaml.Duration(step))
		}
		p.Field(2, "escalate", "["+strings.Join(steps, ", ")+"]")
	}
	if rule.ProvokedFor > 0 {
		p.Field(2, "provoked_for", yaml.Duration(rule.ProvokedFor))
	}
	if rule.WhileOver {
		p.Field(2, "while_over", "true")
	}
}

// wideText writes what is done about wide networks, with their limits beside it.
func wideText(rule *rules.Rule, meter *rules.Meter) string {
	text, before := rule.Wide.String(), " # "
	for _, w := range rule.Widths {
		text += fmt.Sprintf("%s/%d over %s: %s", before, w.Bits, limitText(w.Limit, meter), w.ActionName())
		before = ", "
	}
	return text
}

func (p *printer) cost(spec *rules.Spec) {
	usual := max(spec.Cost, 1)
	if len(spec.Costs) == 0 {
		p.Field(2, "cost", fmt.Sprint(usual))
		return
	}
	p.Field(2, "cost", "")
	for i := range spec.Costs {
		p.Field(3, "- {match", fmt.Sprintf("%s, cost: %d}", yaml.MatchText(&spec.Costs[i].Match), spec.Costs[i].Cost))
	}
	p.Field(3, "- {cost", fmt.Sprintf("%d}", usual))
}

func keyText(meter *rules.Meter) string {
	text := fmt.Sprintf("{address: {v4: %d, v6: %d}", meter.V4, meter.V6)
	if meter.Everybody {
		text = "{address: none"
	}
	if len(meter.Attributes) > 0 {
		var names []string
		for _, a := range meter.Attributes {
			names = append(names, a.String())
		}
		text += ", with: " + yaml.Flow(names)
	}
	return text + "}"
}
