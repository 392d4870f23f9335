package tune

import (
	"fmt"
	"strings"

	"edgeguard/internal/words"
	"edgeguard/tuning"
)

// Preset is a preset that is not in force, and what the addresses look like that it would refuse and
// neither a rule in force nor a preset named before it does.
type Preset struct {
	Name                     string
	Hostile, Benign, Unknown int
}

// Add counts an address.
func (p *Preset) Add(looks tuning.Looks) {
	switch looks {
	case tuning.Hostile:
		p.Hostile++
	case tuning.Benign:
		p.Benign++
	default:
		p.Unknown++
	}
}

// Presets names the presets that would refuse more.
func (t Text) Presets(all []Preset) {
	if len(all) == 0 {
		return
	}
	var names []string
	fmt.Fprint(t.Out, "\npresets that are not in force would refuse more than the rules above, each beside those before it:\n")
	for _, p := range all {
		names = append(names, p.Name)
		fmt.Fprintf(t.Out, "  %-10s %s: %d look hostile, %d like customers, of %d nothing is known\n", p.Name,
			words.Plural(uint64(p.Hostile+p.Benign+p.Unknown), "address", "addresses"), p.Hostile, p.Benign, p.Unknown)
	}
	fmt.Fprintf(t.Out, "try them with `edgeguard replay --preset %s`; in the config: presets: [%s]\n", strings.Join(names, ","), strings.Join(names, ", "))
}

// presetJSON is a preset that would refuse more.
type presetJSON struct {
	Type    string `json:"type"`
	Preset  string `json:"preset"`
	Hostile int    `json:"hostile"`
	Benign  int    `json:"benign"`
	Unknown int    `json:"unknown"`
}
