package config

import (
	"strings"

	"edgeguard/config/yaml"
	"edgeguard/rules"
)

// reader reads a config from one file.
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
			r.WrongInside(path, specs[p.Rule].When, p.Offset, p.Text, p.Fix)
		}
	}
	return set
}
