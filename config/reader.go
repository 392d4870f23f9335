package config

import (
	"slices"
	"strings"

	"edgeguard/config/yaml"
	"edgeguard/rules"
)

// reader reads a config from one file and its pieces.
type reader struct {
	*yaml.File
	shipped []shippedRule // of presets
	own     int           // how many rules are the file's own; those of presets follow
}

// compile compiles the rules and adds a place to their problems. It leaves out
// what only follows from a problem that was found while reading.
func (r *reader) compile(specs []rules.Spec) *rules.Set {
	set, problems := rules.Compile(specs)
	for _, p := range problems {
		path := yaml.JoinPath(r.rulePath(p.Rule), p.Path)
		if alone, ok := strings.CutSuffix(path, "[0]"); ok && !r.Known(path) {
			path = alone // a value that was written without a list around it
		}
		if !r.Follows(path) {
			r.WrongInside(path, specs[p.Rule].When, p.Offset, p.Text+r.namesake(specs, p, path), p.Fix)
		}
	}
	return set
}

// namesake says where the rule is that has the name already, if that is in another file.
func (r *reader) namesake(specs []rules.Spec, p rules.Problem, path string) string {
	first := slices.IndexFunc(specs[:p.Rule], func(s rules.Spec) bool { return s.Name == specs[p.Rule].Name })
	if p.Path != "name" || first < 0 {
		return ""
	}
	return r.Elsewhere(yaml.JoinPath(r.rulePath(first), "name"), path)
}
