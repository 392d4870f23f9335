package admin

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard/internal/words"
)

// mostNamed is how many nodes a sentence names.
const mostNamed = 3

// Lost says that a node works without its fleet; empty for one that has joined it, or needs none.
func (f *Fleet) Lost() string {
	switch {
	case f == nil || f.Up:
		return ""
	case f.Trouble == "joining" || f.Trouble == "starting":
		return "joining the fleet"
	}
	return "cut off from the fleet"
}

// Modes says on how many nodes of the fleet blocks are enforced, and which nodes are not in step; empty
// where no other node is known.
func (f *Fleet) Modes() (text string, inStep bool) {
	if f == nil || f.Lost() != "" || f.Alive < 2 {
		return "", true
	}
	nodes, monitors := words.Plural(f.Alive, "node", "nodes"), len(f.Monitors)
	var apart []string
	if monitors >= f.Alive {
		text = nodes + " in mode monitor"
	} else if text = "enforcing on " + nodes; monitors > 0 {
		text = fmt.Sprintf("enforcing on %s of %s", words.Number(f.Alive-monitors), nodes)
		apart = append(apart, named(f.Monitors, "is in monitor", "are in monitor"))
	}
	if len(f.OtherRules) > 0 {
		apart = append(apart, named(f.OtherRules, "has other rules", "have other rules"))
	}
	if len(apart) > 0 {
		return text + "; " + strings.Join(apart, "; "), false
	}
	return text + ", in step", true
}

// named says something of nodes.
func named(nodes []string, one, many string) string {
	if len(nodes) == 1 {
		return nodes[0] + " " + one
	}
	names := slices.Clone(nodes[:min(len(nodes), mostNamed)])
	if rest := len(nodes) - len(names); rest > 0 {
		names = append(names, words.Number(rest)+" more")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " " + many
}

// modeText says whether the node enforces, and its fleet.
func (s *Stats) modeText() (text string, known bool) {
	modes, inStep := s.Fleet.Modes()
	switch {
	case !s.Ready:
		return "Starting: not everything is read or listens yet", false
	case s.Monitor:
		text = "Monitor mode: nothing is refused; " + words.Plural(s.V4+s.V6, "address or network", "addresses and networks") + " would be"
	case len(s.Ways()) == 0 && len(s.Askers()) == 0:
		text = "Blocking; no way is known that refuses"
	case modes == "":
		return "Enforcing", true
	default:
		return upper(modes), inStep
	}
	if !inStep {
		text += "; " + modes
	}
	return text, false
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
