package main

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/loadtest/scenes"
	"edgeguard/logline"
	"edgeguard/rules"
)

// group are the visitors of a scene, or its attackers.
type group struct {
	addresses int
	by        [effects]int // addresses, each by the strongest that happened to it, but held
	requests  int
	letIn     int
	rules     map[string]effect // the strongest that each had
}

// count counts one address.
func (g *group) count(v *visitor) {
	g.addresses++
	g.requests += v.events
	g.letIn += v.events - v.refused
	for e := range held {
		if len(v.by[e]) > 0 {
			g.by[e]++
			break
		}
	}
	if len(v.by[held]) > 0 {
		g.by[held]++
	}
	for e := range effects {
		for name := range v.by[e] {
			if before, known := g.rules[name]; !known || e < before {
				g.rules[name] = e
			}
		}
	}
}

// add adds the addresses of another group.
func (g *group) add(o *group) {
	g.addresses += o.addresses
	for e, n := range o.by {
		g.by[e] += n
	}
}

// stopped is how many addresses were blocked or denied.
func (g *group) stopped() int { return g.by[blocked] + g.by[denied] }

// sceneFigures are what a set of rules did with one scene, of all seeds together.
type sceneFigures struct {
	scene               scenes.Scene
	visitors, attackers group
}

// half returns the half of the evidence that the scene belongs to.
func (s *sceneFigures) half() half { return halfOf(s.scene.Name) }

// fate returns what becomes of an attack: it is stopped if half of its addresses are
// blocked or denied, told if a rule in shadow names half, and else it passes.
func (s *sceneFigures) fate() string {
	a := &s.attackers
	switch {
	case 2*a.stopped() >= a.addresses:
		return "stopped"
	case 2*(a.stopped()+a.by[told]) >= a.addresses:
		return "told"
	}
	return "passes"
}

// ruleNames returns the rules that did something to one of the group.
func (g *group) ruleNames() []string { return slices.Sorted(maps.Keys(g.rules)) }

// does returns what rules did to a group, and for how long they block.
func (s *judged) does(g *group) string {
	var by []string
	for _, name := range g.ruleNames() {
		switch g.rules[name] {
		case blocked, lifted:
			by = append(by, name+" "+window(s.rule(name).BlockFor))
		case denied:
			by = append(by, name+" denies")
		case told:
			by = append(by, name+" tells")
		default:
			by = append(by, name)
		}
	}
	return strings.Join(by, ", ")
}

// rule returns one of the rules.
func (s *ruleset) rule(name string) *rules.Rule {
	i := slices.IndexFunc(s.set.Rules, func(r rules.Rule) bool { return r.Name == name })
	return &s.set.Rules[i]
}

// judgeScenes judges the generated traffic of scenes by each set of rules. It notes the
// greatest counts of scenes where nobody may be blocked and nothing fails in the
// figures of their halves.
func judgeScenes(ctx context.Context, sets []judged, played []scenes.Scene, seeds int) error {
	for _, scene := range played {
		figures := make([]sceneFigures, len(sets))
		for i := range figures {
			figures[i] = sceneFigures{scene, group{rules: map[string]effect{}}, group{rules: map[string]effect{}}}
		}
		for seed := range seedsOf(scene, seeds) {
			traffic := scene.Play(uint64(seed) + 1)
			events, err := parseScene(traffic.Log)
			if err != nil {
				return err
			}
			for i := range sets {
				o, err := judge(ctx, sets[i].ruleset, &memory{slices.Clone(events)})
				if err != nil {
					return err
				}
				figures[i].count(o, traffic.Attackers)
				if scene.Kind == scenes.Wanted {
					for rule, peak := range o.peaks {
						sets[i].all[figures[i].half()].rule(rule).noteScene(scene.Name, peak)
					}
				}
			}
		}
		if seeds > 0 {
			for i := range sets {
				sets[i].scenes = append(sets[i].scenes, figures[i])
			}
		}
	}
	return nil
}

// seedsOf returns how many logs are made of a scene. What attackers do hardly depends
// on the seed, and some of them do much.
func seedsOf(s scenes.Scene, seeds int) int {
	if s.Kind == scenes.Attack {
		return min(seeds, 1)
	}
	return seeds
}

func (s *sceneFigures) count(o *outcome, attackers map[netip.Addr]bool) {
	for addr, v := range o.visitors {
		if attackers[addr] {
			s.attackers.count(v)
		} else {
			s.visitors.count(v)
		}
	}
}

// parseScene returns the events of a scene's log.
func parseScene(log []byte) ([]edgeguard.Event, error) {
	format, err := logline.ParseFormat("combined")
	if err != nil {
		return nil, err
	}
	chunk := logline.Chunk{Text: log}
	format.Parser("scene", nil).Parse(&chunk)
	return chunk.Events, nil
}
