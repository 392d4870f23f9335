package config

import (
	"math"
	"time"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/rules"
)

// The shortest block. Shorter ones would be over before they are made real.
const leastBlock = time.Second

func (c *Config) readRules(n yaml.Node) {
	c.Specs = nil
	n.List(func(n yaml.Node) {
		var spec rules.Spec
		readRule(n, &spec)
		c.Specs = append(c.Specs, spec)
	})
}

// readRule reads one rule. What the file has replaces what spec has.
func readRule(n yaml.Node, spec *rules.Spec) {
	n.Mapping(ruleFields(spec))
	checkScope(n, spec)
}

// checkScope refuses a scope that the rule cannot have.
func checkScope(n yaml.Node, spec *rules.Spec) {
	if spec.Distinct != "" && spec.Scope == rules.ScopeFleet && n.Has("scope") && !n.Touched("scope") {
		n.WrongField("scope", "different values are counted by each node alone: two nodes would count the same value twice", "set scope: node")
	}
}

// ruleFields are the fields of one rule. Each replaces what spec has. What they
// mean, package rules checks.
func ruleFields(spec *rules.Spec) yaml.Fields {
	return yaml.Fields{
		"name":      func(n yaml.Node) { spec.Name, _ = n.Text() },
		"match":     func(n yaml.Node) { readMatch(n, &spec.Match) },
		"key":       func(n yaml.Node) { readKey(n, &spec.Key) },
		"window":    func(n yaml.Node) { spec.Window = n.Duration(time.Minute) },
		"threshold": func(n yaml.Node) { readThreshold(n, spec) },
		"guard":     func(n yaml.Node) { spec.Guard = n.Decimal() },
		"candidates": func(n yaml.Node) {
			spec.Candidates = nil
			n.List(func(n yaml.Node) { spec.Candidates = append(spec.Candidates, n.Whole(1, math.MaxUint32)) })
		},
		"cost":      func(n yaml.Node) { readCost(n, spec) },
		"count":     func(n yaml.Node) { readCount(n, spec) },
		"action":    func(n yaml.Node) { spec.Action = actions[n.Choice("block", "deny", "shadow")] },
		"everybody": func(n yaml.Node) { spec.Everybody = n.Truth() },
		"block_for": func(n yaml.Node) { spec.BlockFor = n.Duration(leastBlock) },
		"escalate": func(n yaml.Node) {
			spec.Escalate = []time.Duration{}
			n.List(func(n yaml.Node) { spec.Escalate = append(spec.Escalate, n.Duration(leastBlock)) })
		},
		"provoked_for":  func(n yaml.Node) { spec.ProvokedFor = n.Duration(leastBlock) },
		"while_over":    func(n yaml.Node) { spec.WhileOver = n.Truth() },
		"when":          func(n yaml.Node) { spec.When, _ = n.Literal() },
		"wide":          func(n yaml.Node) { spec.Wide = readWide(n) },
		"scope":         func(n yaml.Node) { spec.Scope = scopes[n.Choice("fleet", "node")] },
		"people":        func(n yaml.Node) { readPeople(n, &spec.People) },
		"on_fleet_loss": func(n yaml.Node) { spec.OnFleetLoss = losses[n.Choice("local", "open", "closed")] },
	}
}

// readThreshold reads a number, or that the node learns it. Until then the rule has the greatest that
// can be learned.
func readThreshold(n yaml.Node, spec *rules.Spec) {
	if spec.Learned = n.Says("learned"); spec.Learned {
		spec.Threshold, spec.Pending = rules.MaxDistinct, true
		return
	}
	spec.Threshold, spec.Pending = n.Whole(1, math.MaxUint32), false
}

// readPeople reads what is known of people.
func readPeople(n yaml.Node, people *rules.People) {
	*people = rules.People{}
	n.Mapping(yaml.Fields{
		"count": func(n yaml.Node) { people.Count = n.Whole(1, math.MaxUint32) },
		"scene": func(n yaml.Node) { people.Scene, _ = n.Text() },
	})
	for _, field := range []string{"count", "scene"} {
		if !n.Has(field) && !n.Touched(field) {
			n.Wrong("has no "+field, "write {count: 56, scene: office}: how high people count, and in which traffic; or remove it")
			return
		}
	}
}

// readCount reads what is counted in place of events.
func readCount(n yaml.Node, spec *rules.Spec) {
	n.Mapping(yaml.Fields{
		"distinct": func(n yaml.Node) { spec.Distinct = n.Choice(rules.Distincts()...) },
	})
	if spec.Distinct == "" && !n.Touched("distinct") {
		n.Wrong("does not say what to count", "set {distinct: path}, or remove it")
	}
}

var actions = map[string]edgeguard.Action{
	"block":  edgeguard.ActionBlock,
	"deny":   edgeguard.ActionDeny,
	"shadow": edgeguard.ActionShadow,
}

// readWide reads what is done about IPv6 networks wider than a key.
func readWide(n yaml.Node) rules.Wide { return wides[n.Choice("default", "off", "report", "strict")] }

var (
	wides  = map[string]rules.Wide{"default": rules.WideDefault, "off": rules.WideOff, "report": rules.WideReport, "strict": rules.WideStrict}
	scopes = map[string]rules.Scope{"fleet": rules.ScopeFleet, "node": rules.ScopeNode}
	losses = map[string]rules.Loss{"local": rules.LossLocal, "open": rules.LossOpen, "closed": rules.LossClosed}
)

func readMatch(n yaml.Node, match *rules.Match) {
	known := matchTerms(match)
	known["fold"] = func(n yaml.Node) { match.Fold = n.Truth() }
	known["not"] = func(n yaml.Node) {
		if match.Not == nil {
			match.Not = &rules.Match{}
		}
		n.Mapping(matchTerms(match.Not))
	}
	n.Mapping(known)
}

// matchTerms are the fields that match and its not have in common.
func matchTerms(match *rules.Match) yaml.Fields {
	known := yaml.Fields{}
	for _, term := range rules.MatchTerms {
		known[term.Name] = func(n yaml.Node) { *term.Values(match) = n.Words() }
	}
	return known
}

// readKey reads "address", or a mapping with prefix lengths and attributes.
func readKey(n yaml.Node, key *rules.Group) {
	if !n.IsMapping() {
		n.Choice("address")
		return
	}
	n.Mapping(yaml.Fields{
		"address": func(n yaml.Node) {
			if !n.IsMapping() {
				key.Everybody = n.Choice("none") == "none"
				return
			}
			n.Mapping(yaml.Fields{
				"v4": func(n yaml.Node) { key.V4 = int(n.Whole(1, 32)) },
				"v6": func(n yaml.Node) { key.V6 = int(n.Whole(1, 128)) },
			})
		},
		"with": func(n yaml.Node) { key.With = n.Words() },
	})
}

// readCost reads a number, or a list of {match, cost}. The last may lack a match:
// that is the default.
func readCost(n yaml.Node, spec *rules.Spec) {
	spec.Cost, spec.Costs = 0, nil
	if !n.IsList() {
		spec.Cost = n.Whole(1, math.MaxUint16)
		return
	}
	n.List(func(n yaml.Node) {
		if spec.Cost != 0 {
			n.Wrong("is never reached: an entry without a match precedes it", "put that entry last")
			return
		}
		readCharge(n, spec)
	})
}

func readCharge(n yaml.Node, spec *rules.Spec) {
	var charge rules.Charge
	hasMatch := false
	n.Mapping(yaml.Fields{
		"match": func(n yaml.Node) { hasMatch = true; readMatch(n, &charge.Match) },
		"cost":  func(n yaml.Node) { charge.Cost = n.Whole(1, math.MaxUint16) },
	})
	if charge.Cost == 0 && !n.Touched("cost") {
		n.Wrong("has no cost", "set cost from 1 to 65535")
	}
	if hasMatch {
		spec.Costs = append(spec.Costs, charge)
		return
	}
	spec.Cost = charge.Cost
}

// Own returns the names of the site; nil if they are not known.
func (c *Config) Own() *rules.Hosts {
	own, _ := ownHosts(c.OwnHosts) // they were checked
	return own
}

// ownHosts compiles the names of the site; nil if there are none.
func ownHosts(names []string) (*rules.Hosts, []rules.Problem) {
	if len(names) == 0 {
		return nil, nil
	}
	return rules.ParseHosts(names)
}

// ownHosts is the same, and reports what is wrong with them.
func (r *reader) ownHosts(c *Config) *rules.Hosts {
	own, problems := ownHosts(c.OwnHosts)
	for _, p := range problems {
		path := "own_hosts" + p.Path
		r.Wrong(path, p.Text, p.Fix)
	}
	return own
}
