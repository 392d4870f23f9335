package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgeguard/config/yaml"
	"edgeguard/internal/safetext"
	"edgeguard/rules"
)

// maxNote is how long a note of an overlay may be, in bytes, and who wrote it.
const maxNote = 256

// Overlay is what operators changed of the rules while a node ran. It lies in a
// file of its own beside the state, and is in force on top of the config.
type Overlay struct{ Rules []RuleOverlay }

// RuleOverlay is what was changed of one rule.
type RuleOverlay struct {
	Name string
	// Meter is the fingerprint of what the rule counted: a threshold is of no use
	// for another count.
	Meter string
	// Threshold is in force instead of Base, the config's, unless it is 0.
	Threshold, Base uint32
	// Shadow says that it only reports.
	Shadow bool
	// Until is when both end, zero for never.
	Until time.Time
	Changed
	Candidates []CandidateOverlay
}

// CandidateOverlay is a candidate that was added.
type CandidateOverlay struct {
	Threshold uint32
	Changed
}

// Changed says when something was changed, by whom and why.
type Changed struct {
	Since    time.Time // wall clock, in whole seconds
	By, Note string
}

// Of returns what was changed of a rule; the zero value if nothing was.
func (o *Overlay) Of(rule string) RuleOverlay {
	for _, r := range o.Rules {
		if r.Name == rule {
			return r
		}
	}
	return RuleOverlay{}
}

// Empty reports whether nothing of the rule is changed.
func (r RuleOverlay) Empty() bool { return !r.Decides() && len(r.Candidates) == 0 }

// Decides reports whether the threshold or the action is another one.
func (r RuleOverlay) Decides() bool { return r.Threshold > 0 || r.Shadow }

// Undecided returns the overlay without another threshold or action.
func (r RuleOverlay) Undecided() RuleOverlay {
	return RuleOverlay{Name: r.Name, Meter: r.Meter, Candidates: r.Candidates}
}

// Due returns the rules of which the threshold or the action has ended at now.
func (o *Overlay) Due(now time.Time) (due []RuleOverlay) {
	for _, r := range o.Rules {
		if !r.Until.IsZero() && !now.Before(r.Until) {
			due = append(due, r)
		}
	}
	return due
}

// With returns an overlay that has r instead of what it has of that rule, and
// leaves out a rule of which nothing is changed.
func (o *Overlay) With(r RuleOverlay) *Overlay {
	next := &Overlay{Rules: slices.Clone(o.Rules)}
	i := slices.IndexFunc(next.Rules, func(old RuleOverlay) bool { return old.Name == r.Name })
	switch {
	case r.Empty() && i < 0:
	case r.Empty():
		next.Rules = slices.Delete(next.Rules, i, i+1)
	case i < 0:
		next.Rules = append(next.Rules, r)
	default:
		next.Rules[i] = r
	}
	return next
}

// ParseOverlay checks the content of an overlay's file; name is what problems
// call it. The error is always an [*Errors].
func ParseOverlay(name string, data []byte) (*Overlay, error) {
	f, o, whole := yaml.OpenFile(name), &Overlay{}, false
	if root, ok := f.Document(data); ok {
		root.Mapping(yaml.Fields{"rules": func(n yaml.Node) { whole = true; n.List(func(n yaml.Node) { o.read(n) }) }})
	}
	problems := f.Problems()
	if !whole && len(problems) == 0 { // no file that YAML made
		problems = []yaml.Fault{{File: name, Text: "has no rules: it is empty or cut short", Fix: "remove it"}}
	}
	if len(problems) > 0 {
		return nil, &Errors{Problems: problems}
	}
	return o, nil
}

func (o *Overlay) read(n yaml.Node) {
	var rule RuleOverlay
	known := rule.Changed.fields()
	known["rule"] = func(n yaml.Node) { rule.Name, _ = n.Literal() }
	known["meter"] = func(n yaml.Node) { rule.Meter, _ = n.Literal() }
	known["base"] = func(n yaml.Node) { rule.Base = n.Whole(1, math.MaxUint32) }
	known["threshold"] = func(n yaml.Node) { rule.Threshold = n.Whole(1, math.MaxUint32) }
	known["action"] = func(n yaml.Node) {
		text, ok := n.Text()
		if rule.Shadow = text == "shadow"; ok && !rule.Shadow {
			n.Wrong(fmt.Sprintf("%q is not an action that can be set", yaml.Clip(text)), "use shadow")
		}
	}
	known["until"] = instant(&rule.Until)
	known["candidates"] = func(n yaml.Node) {
		n.List(func(n yaml.Node) {
			var c CandidateOverlay
			known := c.Changed.fields()
			known["threshold"] = func(n yaml.Node) { c.Threshold = n.Whole(1, math.MaxUint32) }
			n.Mapping(known)
			if c.Threshold == 0 {
				n.Wrong("has no threshold", "remove it")
			}
			rule.Candidates = append(rule.Candidates, c)
		})
	}
	n.Mapping(known)
	switch {
	case rule.Name == "" || rule.Meter == "":
		n.Wrong("has no rule or no meter", "remove it")
	case (rule.Threshold == 0) != (rule.Base == 0):
		n.Wrong("requires both threshold and base, or neither", "remove it")
	case rule.Empty():
		n.Wrong("changes nothing", "remove it")
	case !rule.Decides() && (len(rule.Changed.texts()) > 0 || !rule.Until.IsZero()):
		n.Wrong("has since, until, by or note without a threshold or an action", "remove them")
	case len(rule.Candidates) > rules.MaxCandidates:
		n.Wrong(fmt.Sprintf("has %d candidates", len(rule.Candidates)), fmt.Sprintf("keep at most %d", rules.MaxCandidates))
	}
	if !o.Of(rule.Name).Empty() {
		n.Wrong(fmt.Sprintf("rule %q is given twice", yaml.Clip(rule.Name)), "remove one of them")
	}
	o.Rules = append(o.Rules, rule)
}

func (c *Changed) fields() yaml.Fields {
	line := func(into *string) func(yaml.Node) {
		return func(n yaml.Node) {
			text, ok := n.Literal()
			if ok && (len(text) > maxNote || !safetext.Clean(text)) {
				n.Wrong(fmt.Sprintf("is longer than %d bytes or has control characters", maxNote), "use one short line")
			}
			*into = text
		}
	}
	return yaml.Fields{
		"since": instant(&c.Since),
		"by":    line(&c.By),
		"note":  line(&c.Note),
	}
}

// instant reads a time in whole seconds.
func instant(into *time.Time) func(yaml.Node) {
	return func(n yaml.Node) {
		text, ok := n.Text()
		at, err := time.Parse(time.RFC3339, text)
		at = at.UTC().Truncate(time.Second)
		if ok && (err != nil || at.Year() < 1 || at.Year() > 9999) {
			n.Wrong(fmt.Sprintf("%q is not a time", yaml.Clip(text)), `use one such as "2026-01-02T15:04:05Z"`)
			return
		}
		*into = at
	}
}

// overlayHead begins the file.
const overlayHead = `# What operators changed of the rules while the node ran. It is in force on top of
# the config, and edgeguard writes it. Print it for the config with
# "edgeguard rules changed --export", undo it with "edgeguard rules reset".
`

// YAML writes the overlay as a file that ParseOverlay reads back to the same.
func (o *Overlay) YAML() string {
	p := printer{new(yaml.Printer)}
	p.WriteString(overlayHead)
	if len(o.Rules) == 0 {
		p.Field(0, "rules", "[]")
		return p.String()
	}
	p.Field(0, "rules", "")
	for _, r := range o.Rules {
		p.Field(1, "- rule", yaml.Quote(r.Name))
		p.Field(2, "meter", yaml.Quote(r.Meter))
		if r.Threshold > 0 {
			p.Field(2, "threshold", fmt.Sprint(r.Threshold))
			p.Field(2, "base", fmt.Sprint(r.Base))
		}
		if r.Shadow {
			p.Field(2, "action", "shadow")
		}
		if !r.Until.IsZero() {
			p.Field(2, "until", yaml.Quote(r.Until.Format(time.RFC3339)))
		}
		if r.Decides() {
			for _, f := range r.Changed.texts() {
				p.Field(2, f[0], f[1])
			}
		}
		if len(r.Candidates) > 0 {
			p.Field(2, "candidates", "")
		}
		for _, c := range r.Candidates {
			fields := []string{fmt.Sprintf("threshold: %d", c.Threshold)}
			for _, f := range c.Changed.texts() {
				fields = append(fields, f[0]+": "+f[1])
			}
			p.WriteString("      - {" + strings.Join(fields, ", ") + "}\n")
		}
	}
	return p.String()
}

// texts returns the fields that are set and their values.
func (c *Changed) texts() (out [][2]string) {
	if !c.Since.IsZero() {
		out = append(out, [2]string{"since", yaml.Quote(c.Since.Format(time.RFC3339))})
	}
	if c.By != "" {
		out = append(out, [2]string{"by", yaml.Quote(c.By)})
	}
	if c.Note != "" {
		out = append(out, [2]string{"note", yaml.Quote(c.Note)})
	}
	return out
}

// WithRules returns the config with other rules. The problems are those of
// [rules.Compile], and then there is no config.
func (c *Config) WithRules(specs []rules.Spec) (*Config, []rules.Problem) {
	set, problems := rules.Compile(specs)
	if len(problems) > 0 {
		return nil, problems
	}
	next := *c
	next.Specs, next.Rules = specs, set
	return &next, nil
}
