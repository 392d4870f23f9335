package config

import (
	"math"
	"time"

	"github.com/goccy/go-yaml/ast"

	"edgeguard"
	"edgeguard/rules"
)

// The shortest block. Shorter ones would be over before they are made real.
const leastBlock = time.Second

func (c *Config) readRules(n node) {
	c.Specs = nil
	n.list(func(n node) {
		var spec rules.Spec
		readRule(n, &spec)
		c.Specs = append(c.Specs, spec)
	})
}

// readRule reads one rule. What the file has replaces what spec has.
func readRule(n node, spec *rules.Spec) {
	n.mapping(ruleFields(spec))
	checkScope(n, spec)
}

// checkScope refuses a scope that the rule cannot have.
func checkScope(n node, spec *rules.Spec) {
	scope := join(n.path, "scope")
	if spec.Distinct != "" && spec.Scope == rules.ScopeFleet && n.r.known(scope) && !n.r.touched(scope) {
		n.r.wrong(n.r.placeOf(scope), scope, "different values are counted by each node alone: two nodes would count the same value twice", "set scope: node")
	}
}

// ruleFields are the fields of one rule. Each replaces what spec has. What they
// mean, package rules checks.
func ruleFields(spec *rules.Spec) fields {
	return fields{
		"name":      func(n node) { spec.Name, _ = n.text() },
		"match":     func(n node) { readMatch(n, &spec.Match) },
		"key":       func(n node) { readKey(n, &spec.Key) },
		"window":    func(n node) { spec.Window = n.duration(time.Minute) },
		"threshold": func(n node) { spec.Threshold = n.whole(1, math.MaxUint32) },
		"guard":     func(n node) { spec.Guard = n.decimal() },
		"candidates": func(n node) {
			spec.Candidates = nil
			n.list(func(n node) { spec.Candidates = append(spec.Candidates, n.whole(1, math.MaxUint32)) })
		},
		"cost":      func(n node) { readCost(n, spec) },
		"count":     func(n node) { readCount(n, spec) },
		"action":    func(n node) { spec.Action = actions[n.choice("block", "deny", "shadow")] },
		"block_for": func(n node) { spec.BlockFor = n.duration(leastBlock) },
		"escalate": func(n node) {
			spec.Escalate = []time.Duration{}
			n.list(func(n node) { spec.Escalate = append(spec.Escalate, n.duration(leastBlock)) })
		},
		"while_over":    func(n node) { spec.WhileOver = n.truth() },
		"when":          func(n node) { spec.When, _ = n.literal() },
		"wide":          func(n node) { spec.Wide = n.wide() },
		"scope":         func(n node) { spec.Scope = scopes[n.choice("fleet", "node")] },
		"on_fleet_loss": func(n node) { spec.OnFleetLoss = losses[n.choice("local", "open", "closed")] },
	}
}

// readCount reads what is counted in place of events.
func readCount(n node, spec *rules.Spec) {
	n.mapping(fields{
		"distinct": func(n node) { spec.Distinct = n.choice("path", "port", "host", "agent") },
	})
	if spec.Distinct == "" && !n.r.touched(n.path, "distinct") {
		n.wrong("does not say what to count", "set {distinct: path}, or remove it")
	}
}

var actions = map[string]edgeguard.Action{
	"block":  edgeguard.ActionBlock,
	"deny":   edgeguard.ActionDeny,
	"shadow": edgeguard.ActionShadow,
}

// wide reads what is done about IPv6 networks wider than a key.
func (n node) wide() rules.Wide { return wides[n.choice("default", "off", "report", "strict")] }

var (
	wides  = map[string]rules.Wide{"default": rules.WideDefault, "off": rules.WideOff, "report": rules.WideReport, "strict": rules.WideStrict}
	scopes = map[string]rules.Scope{"fleet": rules.ScopeFleet, "node": rules.ScopeNode}
	losses = map[string]rules.Loss{"local": rules.LossLocal, "open": rules.LossOpen, "closed": rules.LossClosed}
)

func readMatch(n node, match *rules.Match) {
	known := matchTerms(match)
	known["not"] = func(n node) {
		if match.Not == nil {
			match.Not = &rules.Match{}
		}
		n.mapping(matchTerms(match.Not))
	}
	n.mapping(known)
}

// matchTerms are the fields that match and its not have in common.
func matchTerms(match *rules.Match) fields {
	return fields{
		"kind":   func(n node) { match.Kind = n.words() },
		"host":   func(n node) { match.Host = n.words() },
		"method": func(n node) { match.Method = n.words() },
		"path":   func(n node) { match.Path = n.words() },
		"status": func(n node) { match.Status = n.words() },
		"port":   func(n node) { match.Port = n.words() },

		"referer":    func(n node) { match.Referer = n.words() },
		"fetch_site": func(n node) { match.FetchSite = n.words() },
		"crawler":    func(n node) { match.Crawler = n.words() },
	}
}

// readKey reads "address", or a mapping with prefix lengths and attributes.
func readKey(n node, key *rules.Group) {
	if _, isMapping := n.entries(); !isMapping {
		n.choice("address")
		return
	}
	n.mapping(fields{
		"address": func(n node) {
			if _, isMapping := n.entries(); !isMapping {
				n.wrongType("a mapping such as {v4: 24, v6: 48}")
				return
			}
			n.mapping(fields{
				"v4": func(n node) { key.V4 = int(n.whole(1, 32)) },
				"v6": func(n node) { key.V6 = int(n.whole(1, 128)) },
			})
		},
		"with": func(n node) { key.With = n.words() },
	})
}

// readCost reads a number, or a list of {match, cost}. The last may lack a match:
// that is the default.
func readCost(n node, spec *rules.Spec) {
	spec.Cost, spec.Costs = 0, nil
	if _, isList := n.ast.(*ast.SequenceNode); !isList {
		spec.Cost = n.whole(1, math.MaxUint16)
		return
	}
	n.list(func(n node) {
		if spec.Cost != 0 {
			n.wrong("is never reached: an entry without a match precedes it", "put that entry last")
			return
		}
		readCharge(n, spec)
	})
}

func readCharge(n node, spec *rules.Spec) {
	var charge rules.Charge
	hasMatch := false
	n.mapping(fields{
		"match": func(n node) { hasMatch = true; readMatch(n, &charge.Match) },
		"cost":  func(n node) { charge.Cost = n.whole(1, math.MaxUint16) },
	})
	if charge.Cost == 0 && !n.r.touched(n.path, "cost") {
		n.wrong("has no cost", "set cost from 1 to 65535")
	}
	if hasMatch {
		spec.Costs = append(spec.Costs, charge)
		return
	}
	spec.Cost = charge.Cost
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
		r.wrong(r.placeOf(path), path, p.Text, p.Fix)
	}
	return own
}
