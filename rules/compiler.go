package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// What a rule has that does not say otherwise.
const (
	DefaultWindow   = 5 * time.Minute
	DefaultBlockFor = 10 * time.Minute
	DefaultV4       = 32
	DefaultV6       = 64
)

// MaxCandidates is how many candidates a rule may have: each is compared at
// every event.
const MaxCandidates = 32

// maxSteps is how many steps a rule may escalate through.
const maxSteps = 16

// compiler turns one spec after the other into rules, meters and problems.
type compiler struct {
	set    Set
	names  map[string]int // name to rule
	meters map[string]int // fingerprint to meter
	// whens and charges are those of the rules before, by their text: equal ones are one. Charges
	// are equal only where also what else an event costs is.
	whens    map[string]*when
	charges  map[string][]charge
	rule     int // the one at work
	problems []Problem
}

// flaw is what is wrong with one value; the zero value is none.
type flaw struct{ text, fix string }

func (c *compiler) problem(path string, f flaw) {
	c.problems = append(c.problems, Problem{Rule: c.rule, Path: path, Text: f.text, Fix: f.fix})
}

func (c *compiler) addRule(spec *Spec) {
	rule := Rule{Name: spec.Name, Threshold: spec.Threshold, People: spec.People}
	c.checkName(spec.Name)
	meter, canonical := c.meter(spec)
	c.fillLimits(&rule, spec)
	c.fillAction(&rule, spec, &meter)
	c.checkLearned(&rule, &meter)
	c.fillFleet(&rule, spec)
	c.fillWide(&rule, spec, &meter)

	sum := sha256.Sum256([]byte(canonical))
	meter.Fingerprint = hex.EncodeToString(sum[:hashBytes])
	at, known := c.meters[meter.Fingerprint]
	if !known {
		at = len(c.set.Meters)
		c.meters[meter.Fingerprint] = at
		c.set.Meters = append(c.set.Meters, meter)
	}
	rule.Meter = at
	c.set.Meters[at].Rules = append(c.set.Meters[at].Rules, len(c.set.Rules))
	c.set.Rules = append(c.set.Rules, rule)
}

func (c *compiler) checkName(name string) {
	if name == "" {
		c.problem("name", flaw{"the rule has no name", "give it a unique one"})
		return
	}
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		c.problem("name", flaw{fmt.Sprintf("invalid name %.80q", name), "use at most 64 characters without spaces"})
	}
	if name == edgeguard.ManualRule {
		c.problem("name", flaw{fmt.Sprintf("the name %q is reserved for blocks by operators", name), "choose another name"})
	}
	if first, taken := c.names[name]; taken {
		c.problem("name", flaw{fmt.Sprintf("rule %[2]d already has the name %[1]q", name, first+1), "rename one of them"})
		return
	}
	c.names[name] = c.rule
}

// internByText returns the value that is known by a text, which is v if none is.
func internByText[T any](known *map[string]T, text string, v T) T {
	if *known == nil {
		*known = make(map[string]T)
	}
	if old, ok := (*known)[text]; ok {
		return old
	}
	(*known)[text] = v
	return v
}

// meter compiles what is counted, and writes it down in one canonical form.
func (c *compiler) meter(spec *Spec) (Meter, string) {
	m := Meter{fold: spec.Match.Fold}
	m.Window, m.Width = c.window(spec.Window)
	expression, whenText := c.expression(spec.When)
	m.Kind = c.kindOf(spec, expression)
	match, text := c.predicate("match", &spec.Match, m.fold, spec.Own)
	c.notByPage("match", &spec.Match)
	c.notByPage("match.not", spec.Match.Not)
	m.match = match
	m.Sends = sends(spec.Match.Method)
	m.when = expression
	m.paths = match.need&edgeguard.FieldPath != 0
	canonical := []string{"kind=" + m.Kind.String(), "window=" + fmt.Sprint(m.Width*edgeguard.Slots), text}
	if m.fold {
		canonical = append(canonical, "fold")
	}
	if whenText != "" {
		canonical = append(canonical, whenText)
	}
	canonical = append(canonical, c.compileKey(&m, &spec.Key))

	var costs []string
	for i := range spec.Costs {
		at := fmt.Sprintf("cost[%d]", i)
		if len(spec.Costs[i].Match.Kind) > 0 {
			c.problem(at+".match.kind", flaw{"a cost cannot choose a kind", "remove it: the kind is match.kind of the rule"})
		}
		match, text := c.predicate(at+".match", &spec.Costs[i].Match, m.fold, spec.Own)
		c.notByPage(at+".match.not", spec.Costs[i].Match.Not)
		page, pageText := c.compilePageTerms(at+".match", &spec.Costs[i].Match, spec.Own)
		cost := c.cost(at+".cost", spec.Costs[i].Cost)
		m.charges = append(m.charges, charge{match, page, cost})
		m.chargesPaths = m.chargesPaths || match.need&edgeguard.FieldPath != 0
		costs = append(costs, fmt.Sprintf("cost=%d if %s", cost, text+pageText))
	}
	m.paths = m.paths || m.chargesPaths
	canonical = append(canonical, costs...)
	m.cost = c.cost("cost", max(spec.Cost, 1))
	m.charges = internByText(&c.charges, fmt.Sprint(costs, m.cost, m.fold), m.charges)
	c.checkLenient(&m)
	c.checkFold(&m, spec)
	canonical = append(canonical, fmt.Sprintf("cost=%d", m.cost))
	if text := c.distinct(&m, spec); text != "" {
		canonical = append(canonical, text)
	}
	return m, strings.Join(canonical, "; ")
}

func (c *compiler) window(window time.Duration) (time.Duration, uint32) {
	if window == 0 {
		window = DefaultWindow
	}
	if window < 0 || window%(edgeguard.Slots*time.Second) != 0 {
		c.problem("window", flaw{
			fmt.Sprintf("invalid window %v: it must divide into %d slots of whole seconds", window, edgeguard.Slots),
			"use whole minutes, such as 1m, 5m or 1h",
		})
	}
	return window, uint32(window / (edgeguard.Slots * time.Second))
}

func (c *compiler) cost(path string, cost uint32) uint16 {
	if cost < 1 || cost > 65_535 {
		c.problem(path, flaw{fmt.Sprintf("invalid cost %d", cost), "use a whole number from 1 to 65535"})
	}
	return uint16(cost)
}

// fillLimits computes the limits of the threshold and of the candidates.
func (c *compiler) fillLimits(rule *Rule, spec *Spec) {
	rule.Guard = defaultGuard
	if spec.Guard != "" {
		guard, err := ParseGuard(spec.Guard)
		if err != nil {
			c.problem("guard", flaw{fmt.Sprintf("invalid guard %.40q", spec.Guard), err.Error()})
			guard = guardOne
		}
		rule.Guard = guard
	}
	most := spec.mostLimit()
	rule.Limit = c.limit("threshold", rule.Guard, spec.Threshold, most)
	if rule.Learned, rule.Pending = spec.Learned, spec.Learned && spec.Pending; rule.Pending {
		rule.Limit = edgeguard.MaxLimit + 1 // a key has room for far fewer different addresses
	}
	if len(spec.Candidates) > MaxCandidates {
		c.problem("candidates", flaw{fmt.Sprintf("too many candidates: %d", len(spec.Candidates)), fmt.Sprintf("use at most %d", MaxCandidates)})
		return
	}
	for i, threshold := range spec.Candidates {
		path := fmt.Sprintf("candidates[%d]", i)
		limit := c.limit(path, rule.Guard, threshold, most)
		if threshold == spec.Threshold || slices.Contains(spec.Candidates[:i], threshold) {
			c.problem(path, flaw{fmt.Sprintf("threshold %d is given twice", threshold), "remove it: a candidate is another threshold"})
		}
		rule.Candidates = append(rule.Candidates, Candidate{threshold, limit})
	}
	slices.SortFunc(rule.Candidates, func(a, b Candidate) int { return int(a.Limit) - int(b.Limit) })
}

func (c *compiler) limit(path string, guard Guard, threshold, most uint32) uint32 {
	if threshold == 0 {
		c.problem(path, flaw{"is missing or 0", "use the cost that a window may reach: at least 1"})
		return 0
	}
	if threshold > guard.greatestThreshold(most) {
		c.problem(path, flaw{
			fmt.Sprintf("%d makes a limit over %d, and greater counts are not exact", threshold, most),
			fmt.Sprintf("use at most %d, and a shorter window to stay as strict", guard.greatestThreshold(most)),
		})
		return most
	}
	return guard.Limit(threshold)
}

func (c *compiler) fillAction(rule *Rule, spec *Spec, meter *Meter) {
	rule.Action, rule.BlockFor = spec.Action, spec.BlockFor
	switch rule.Action {
	case edgeguard.ActionPass:
		rule.Action = edgeguard.ActionBlock
	case edgeguard.ActionAlarm:
		c.problem("action", flaw{"alarm is not an action of rules", "use shadow to only report"})
	}
	if rule.BlockFor == 0 {
		rule.BlockFor = DefaultBlockFor
	}
	if rule.BlockFor < time.Second {
		c.problem("block_for", flaw{fmt.Sprintf("invalid duration %v", rule.BlockFor), "use at least 1s, such as 10m"})
	}
	c.checkEverybody(rule, spec, meter)
	c.fillEscalate(rule, spec)
	if rule.Action != edgeguard.ActionBlock || meter.Everybody {
		return
	}
	if len(meter.Attributes) > 0 {
		c.problem("action", flaw{
			"a rule with attributes in its key cannot block: a block denies the whole address",
			"set action: deny, which refuses matching events while the count is over the limit",
		})
	}
	if meter.V4 < edgeguard.WidestV4 || meter.V6 < edgeguard.WidestV6 {
		c.problem("key.address", flaw{
			"prefixes this wide cannot be blocked",
			fmt.Sprintf("use v4 from %d and v6 from %d, or set action: deny", edgeguard.WidestV4, edgeguard.WidestV6),
		})
	}
}

// fillEscalate checks what only blocks can have.
func (c *compiler) fillEscalate(rule *Rule, spec *Spec) {
	rule.Escalate, rule.ProvokedFor, rule.WhileOver = slices.Clone(spec.Escalate), spec.ProvokedFor, spec.WhileOver
	if rule.Action != edgeguard.ActionBlock {
		const fix = "remove it, or set action: block"
		if spec.Escalate != nil {
			c.problem("escalate", flaw{"only rules that block can escalate", fix})
		}
		if spec.ProvokedFor != 0 {
			c.problem("provoked_for", flaw{"only rules that block can use it", fix})
		}
		if spec.WhileOver {
			c.problem("while_over", flaw{"only rules that block can use it", fix})
		}
		return
	}
	if spec.ProvokedFor != 0 && spec.WhileOver {
		c.problem("provoked_for", flaw{"a block of while_over lasts for as long as the count is over", "remove one of the two"})
	}
	if spec.Escalate != nil && len(spec.Escalate) == 0 || len(spec.Escalate) > maxSteps {
		c.problem("escalate", flaw{fmt.Sprintf("has %d steps", len(spec.Escalate)), fmt.Sprintf("use 1 to %d, such as [1h, 24h]", maxSteps)})
	}
	before := rule.BlockFor
	for i, step := range spec.Escalate {
		if step < before {
			c.problem(itemPath("escalate", i), flaw{
				fmt.Sprintf("%s is shorter than the %s before it", words.Span(step), words.Span(before)),
				"use ascending steps, none shorter than block_for",
			})
		}
		before = step
	}
}
