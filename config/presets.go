package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/presets"
	"edgeguard/rules"
)

// shippedRule is a rule of a preset, as the file changes it.
type shippedRule struct {
	spec   rules.Spec
	preset string // its name, without the version
	use    string // the path of the preset in the file
	path   string // that of what the file changes of this rule; else as use
}

// readPresets reads a list of names, and of mappings that change rules of a preset.
func (r *reader) readPresets(n yaml.Node) {
	shelf := presets.Shipped()
	n.List(func(n yaml.Node) {
		var changes presetChanges
		name := n
		if n.IsMapping() {
			changes = readChanges(n)
			name = changes.name
		}
		preset, ok := readPreset(name, shelf)
		if !ok {
			return
		}
		if i := slices.IndexFunc(r.shipped, func(s shippedRule) bool { return s.preset == preset.Name }); i >= 0 {
			name.Wrong(fmt.Sprintf("the preset %s is used twice", preset.Name)+name.Elsewhere(r.shipped[i].use), "remove one of them")
			return
		}
		var all []shippedRule
		for _, spec := range presetRules(preset) {
			all = append(all, shippedRule{spec: spec, preset: preset.Name, use: n.Path(), path: n.Path()})
		}
		r.shipped = append(r.shipped, changes.apply(all)...)
	})
}

// readPreset reads the name of a preset, with or without a version.
func readPreset(n yaml.Node, shelf presets.Shelf) (p presets.Preset, ok bool) {
	if !n.Given() {
		return p, false // a problem already
	}
	ref, ok := n.Text()
	if !ok {
		return p, false
	}
	p, err := shelf.Find(ref)
	if err != nil {
		n.Wrong(err.Error(), "edgeguard presets lists them")
		return p, false
	}
	if newest, ok := shelf.Later(ref); ok {
		n.Warn(fmt.Sprintf("%s is %s, and %s is there", ref, p, newest), fmt.Sprintf("try edgeguard tune --preset %s, then write %s or %s", newest, newest, p))
	}
	return p, true
}

// presetRules returns the rules of a preset as they are shipped, with the preset's
// name before theirs.
func presetRules(p presets.Preset) []rules.Spec {
	var specs []rules.Spec
	f := yaml.OpenFile("preset " + p.String())
	if root, ok := f.Document([]byte(p.Text)); ok {
		root.Mapping(yaml.Fields{"rules": func(n yaml.Node) {
			n.List(func(n yaml.Node) {
				var spec rules.Spec
				readRule(n, &spec)
				spec.Name = p.Name + "/" + spec.Name
				specs = append(specs, spec)
			})
		}})
	}
	return specs
}

// presetChanges are what a file changes of a preset.
type presetChanges struct{ name, action, without, rules yaml.Node }

// readChanges reads a mapping that uses a preset.
func readChanges(n yaml.Node) (c presetChanges) {
	keep := func(into *yaml.Node) func(yaml.Node) { return func(n yaml.Node) { *into = n } }
	n.Mapping(yaml.Fields{"name": keep(&c.name), "action": keep(&c.action), "without": keep(&c.without), "rules": keep(&c.rules)})
	if !c.name.Given() && !n.Touched("name") {
		n.Wrong("has no name", "name a preset, such as web; edgeguard presets lists them")
	}
	return c
}

// apply changes the rules of the preset, and returns those that are left.
func (c *presetChanges) apply(all []shippedRule) []shippedRule {
	if c.action.Given() {
		action := actions[c.action.Choice("block", "deny", "shadow")]
		for i := range all {
			if all[i].spec.Key.Everybody {
				continue // another action would refuse everybody
			}
			all[i].spec.Action = action
			all[i].disarm()
		}
	}
	if c.rules.Given() {
		c.rules.Mapping(changesOf(all))
	}
	if c.without.Given() {
		c.without.List(func(n yaml.Node) {
			name := n.Choice(namesOf(all)...)
			all = slices.DeleteFunc(all, func(s shippedRule) bool { return s.own() == name })
		})
	}
	return all
}

// changesOf are the names of a preset's rules as fields, each with what changes it.
func changesOf(all []shippedRule) yaml.Fields {
	known := make(yaml.Fields)
	for i := range all {
		rule := &all[i]
		known[rule.own()] = func(n yaml.Node) {
			rule.path = n.Path()
			change := ruleFields(&rule.spec)
			delete(change, "name")
			n.Mapping(change)
			checkScope(n, &rule.spec)
			if !n.Has("people") && (n.Has("cost") || n.Has("count") || n.Has("key")) {
				rule.spec.People = rules.People{} // it counted something else
			}
			if !n.Has("escalate") && !n.Has("while_over") {
				rule.disarm()
			}
		}
	}
	return known
}

// disarm removes what only blocks have from a rule that does not block any more.
func (s *shippedRule) disarm() {
	if s.spec.Action == edgeguard.ActionShadow || s.spec.Action == edgeguard.ActionDeny {
		s.spec.Escalate, s.spec.ProvokedFor, s.spec.WhileOver = nil, 0, false
	}
}

// own returns the rule's name within its preset.
func (s *shippedRule) own() string { return strings.TrimPrefix(s.spec.Name, s.preset+"/") }

func namesOf(all []shippedRule) (names []string) {
	for i := range all {
		names = append(names, all[i].own())
	}
	return names
}

// place puts the rules of presets behind those of the file, or instead of the default
// rule, and refuses names that are taken.
func (r *reader) place(c *Config) {
	if len(r.shipped) > 0 && !r.Known("rules") {
		c.Specs = nil
	}
	r.own = len(c.Specs)
	for _, s := range r.shipped {
		for i := range c.Specs[:r.own] {
			if c.Specs[i].Name == s.spec.Name {
				path := fmt.Sprintf("rules[%d].name", i)
				r.Wrong(path, fmt.Sprintf("%q is a rule of the preset %s", s.spec.Name, s.preset), "rename this one, or change that one under presets")
				r.Settle(s.path + ".name") // the second of that name
			}
		}
		c.Specs = append(c.Specs, s.spec)
	}
}

// rulePath returns the path of a rule in the file: a preset's is that of its change, or
// of its preset's name.
func (r *reader) rulePath(rule int) string {
	if rule < r.own {
		return fmt.Sprintf("rules[%d]", rule)
	}
	return r.shipped[rule-r.own].path
}

// idle is rules that do nothing, or less than they say, for one reason: one of the file's
// own, or some of one preset.
type idle struct {
	path, reason, preset string
	names                []string
}

// addIdle adds a rule to those.
func (r *reader) addIdle(all []idle, rule int, reason string) []idle {
	if rule < r.own {
		return append(all, idle{path: r.rulePath(rule), reason: reason})
	}
	s := &r.shipped[rule-r.own]
	for i := range all {
		if all[i].path == s.use && all[i].reason == reason {
			all[i].names = append(all[i].names, s.spec.Name)
			return all
		}
	}
	return append(all, idle{s.use, reason, s.preset, []string{s.spec.Name}})
}

// idleText returns which rules do so, what one does and what more do, and why.
func (r *reader) idleText(a *idle, one, more string) string {
	inPreset := 0
	for i := range r.shipped {
		if r.shipped[i].use == a.path {
			inPreset++
		}
	}
	switch len(a.names) {
	case 0:
		return one + ": " + a.reason
	case inPreset:
		return fmt.Sprintf("the preset %s %s: %s", a.preset, one, a.reason)
	case 1:
		return a.names[0] + " " + one + ": " + a.reason
	}
	return strings.Join(a.names, ", ") + " " + more + ": " + a.reason
}

// WithPresets returns the config with the rules of presets beside its own, or alone.
func (c *Config) WithPresets(refs []string, alone bool) (*Config, error) {
	var specs []rules.Spec
	if !alone {
		specs = slices.Clone(c.Specs)
	}
	for _, ref := range refs {
		preset, err := presets.Shipped().Find(ref)
		if err != nil {
			return nil, err
		}
		for _, spec := range presetRules(preset) {
			spec.Own, _ = ownHosts(c.OwnHosts) // it was checked
			if spec.Wide == rules.WideDefault {
				spec.Wide = c.Wide
			}
			specs = append(specs, spec)
		}
	}
	next, problems := c.WithRules(specs)
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("%s: %s", specs[p.Rule].Name, p))
	}
	return next, errors.Join(errs...)
}
