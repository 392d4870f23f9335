package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

func TestCompileDefaults(t *testing.T) {
	set := compile(t, rules.Spec{Name: "default", Threshold: 2000})
	rule, meter := set.Rules[0], set.Meters[0]
	if rule.Limit != 1900 || rule.Guard.String() != "0.95" || rule.Action != edgeguard.ActionBlock || rule.BlockFor != 10*time.Minute {
		t.Errorf("rule: %+v", rule)
	}
	if meter.Kind != edgeguard.KindRequest || meter.Window != 5*time.Minute || meter.Width != 5 || meter.V4 != 32 || meter.V6 != 64 {
		t.Errorf("meter: %+v", meter)
	}
	if set.Kinds() != edgeguard.KindRequest || meter.Fields() != 0 {
		t.Errorf("kinds %v, fields %v", set.Kinds(), meter.Fields())
	}
}

func TestCompileCandidates(t *testing.T) {
	rule := compile(t, rules.Spec{Name: "a", Threshold: 2000, Candidates: []uint32{3000, 1000, 5}}).Rules[0]
	want := []rules.Candidate{{5, 5}, {1000, 950}, {3000, 2850}}
	if fmt.Sprint(rule.Candidates) != fmt.Sprint(want) {
		t.Errorf("candidates %v, want %v", rule.Candidates, want)
	}
}

// TestCompileProblems returns one spec for each thing that can be wrong, and
// holds that it is the only thing found.
func TestCompileProblems(t *testing.T) {
	deny := edgeguard.ActionDeny
	for _, c := range []struct {
		name string
		spec rules.Spec
		path string
		text string // part of the problem
	}{
		{"no name", rules.Spec{Name: "-"}, "name", "no name"},
		{"name with a space", rules.Spec{Name: "a b"}, "name", "invalid name"},
		{"name too long", rules.Spec{Name: strings.Repeat("a", 65)}, "name", "at most 64"},
		{"prefix length without an address", rules.Spec{Action: edgeguard.ActionShadow, Key: rules.Group{Everybody: true, V4: 24}}, "key.address", "no prefix lengths"},
		{"block without an address", rules.Spec{Key: rules.Group{Everybody: true}}, "action", "deny with everybody: true"},
		{"deny everybody unsaid", rules.Spec{Action: deny, Key: rules.Group{Everybody: true}}, "action", "set everybody: true"},
		{"deny everybody by answers", rules.Spec{Action: deny, Everybody: true, Match: rules.Match{Status: []string{"401"}}, Key: rules.Group{Everybody: true}}, "action", "counts answers"},
		{"everybody in shadow", rules.Spec{Action: edgeguard.ActionShadow, Everybody: true, Key: rules.Group{Everybody: true}}, "everybody", "only rules that deny"},
		{"everybody with an address", rules.Spec{Action: deny, Everybody: true}, "everybody", "has an address"},
		{"different addresses of an address", rules.Spec{Distinct: "address"}, "count.distinct", "address: none"},
		{"different addresses of forged packets", rules.Spec{Action: edgeguard.ActionShadow, Distinct: "address", Match: rules.Match{Kind: []string{"syn"}}, Key: rules.Group{Everybody: true}}, "count.distinct", "SYN packets"},
		{"a dear address", rules.Spec{Action: edgeguard.ActionShadow, Distinct: "address", Cost: 2, Key: rules.Group{Everybody: true}}, "cost", "counts as one"},
		{"more addresses than are exact", rules.Spec{Action: edgeguard.ActionShadow, Distinct: "address", Guard: "1", Threshold: 401, Key: rules.Group{Everybody: true}}, "threshold", "use at most 400"},
		{"parameter's name", rules.Spec{Action: deny, Key: rules.Group{With: []string{"query:a&b"}}}, "key.with[0]", "invalid attribute"},
		{"cookie's name", rules.Spec{Action: deny, Key: rules.Group{With: []string{"cookie:a b"}}}, "key.with[0]", "invalid attribute"},
		{"limit too high", rules.Spec{Threshold: 68_984}, "threshold", "use at most 68983"},
		{"limit too high at guard 1", rules.Spec{Guard: "1", Threshold: 65_535}, "threshold", "use at most 65534"},
		{"guard", rules.Spec{Guard: "1.5"}, "guard", "invalid guard"},
		{"candidate 0", rules.Spec{Candidates: []uint32{10, 0}}, "candidates[1]", "missing or 0"},
		{"candidate twice", rules.Spec{Candidates: []uint32{10, 10}}, "candidates[1]", "given twice"},
		{"candidate is the threshold", rules.Spec{Candidates: []uint32{100}}, "candidates[0]", "given twice"},
		{"too many candidates", rules.Spec{Candidates: make([]uint32, 33)}, "candidates", "at most 32"},
		{"window", rules.Spec{Window: 90 * time.Second}, "window", "whole minutes"},
		{"negative window", rules.Spec{Window: -time.Minute}, "window", "whole minutes"},
		{"cost", rules.Spec{Cost: 65_536}, "cost", "1 to 65535"},
		{"charge of 0", rules.Spec{Costs: []rules.Charge{{}}}, "cost[0].cost", "1 to 65535"},
		{"referer decides what counts", rules.Spec{Match: rules.Match{Referer: []string{"none"}}}, "match.referer", "a client writes it"},
		{"referer exempts", rules.Spec{Match: rules.Match{Not: &rules.Match{Referer: []string{"foreign"}}}}, "match.not.referer", "a client writes it"},
		{"fetch_site exempts", rules.Spec{Match: rules.Match{Not: &rules.Match{FetchSite: []string{"cross-site"}}}}, "match.not.fetch_site", "a client writes it"},
		{"charge without a referer", rules.Spec{Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Not: &rules.Match{Referer: []string{"own"}}}}}}, "cost[0].match.not.referer", "a client writes it"},
		{"unknown referer", rules.Spec{Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Referer: []string{"none", "mine"}}}}}, "cost[0].match.referer[1]", "use none, own, foreign"},
		{"no referer", rules.Spec{Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Referer: []string{}}}}}, "cost[0].match.referer", "empty list"},
		{"unknown fetch_site", rules.Spec{Costs: []rules.Charge{{Cost: 1, Match: rules.Match{FetchSite: []string{"other"}}}}}, "cost[0].match.fetch_site[0]", "cross-site"},
		{"a fifth for a referer", rules.Spec{Cost: 5, Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Referer: []string{"foreign"}}}}}, "cost[0].cost", "at most 4 times"},
		{"five times without a referer", rules.Spec{Cost: 1, Costs: []rules.Charge{{Cost: 5, Match: rules.Match{Referer: []string{"none"}}}}}, "cost[0].cost", "at most 4 times"},
		{"a sixteenth by two headers", rules.Spec{Cost: 16, Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Referer: []string{"foreign"}}},
			{Cost: 4, Match: rules.Match{FetchSite: []string{"cross-site"}}}}}, "cost[0].cost", "1 by a header that clients write, and 16 without"},
		{"charge of a kind", rules.Spec{Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Kind: []string{"syn"}}}}}, "cost[0].match.kind", "cannot choose a kind"},
		{"charge of a bad path", rules.Spec{Costs: []rules.Charge{{Cost: 1, Match: rules.Match{Path: []string{"x"}}}}}, "cost[0].match.path[0]", "slash"},
		{"distinct nothing", rules.Spec{Distinct: "status"}, "count.distinct", "use path, port, host, agent, parameter"},
		{"distinct with a great cost", rules.Spec{Distinct: "path", Cost: 5}, "cost", "cannot cost 5; use 1 to 4"},
		{"distinct with great costs", rules.Spec{Distinct: "path", Costs: []rules.Charge{{Cost: 4}, {Cost: 9}}}, "cost[1].cost", "use 1 to 4"},
		{"distinct parameters of none", rules.Spec{Distinct: "parameter", When: `query contains "a"`}, "count.distinct", "name parameter in when"},
		{"distinct of the key", rules.Spec{Distinct: "path", Key: rules.Group{With: []string{"host", "path"}}, Action: deny}, "count.distinct", "remove it from key.with"},
		{"distinct limit too high", rules.Spec{Distinct: "path", Threshold: 422}, "threshold", "use at most 421"},
		{"distinct candidate too high", rules.Spec{Distinct: "path", Guard: "1", Candidates: []uint32{400, 401}}, "candidates[1]", "use at most 400"},
		{"distinct ports of icmp", rules.Spec{Distinct: "port", Match: rules.Match{Kind: []string{"icmp"}}}, "count.distinct", "have no port"},
		{"distinct and the fleet's loss", rules.Spec{Distinct: "path", OnFleetLoss: rules.LossOpen}, "on_fleet_loss", "scope node does not depend on the fleet; remove it"},
		{"alarm", rules.Spec{Action: edgeguard.ActionAlarm}, "action", "use shadow"},
		{"scope", rules.Spec{Scope: 2}, "scope", "use fleet or node"},
		{"on_fleet_loss", rules.Spec{OnFleetLoss: 3}, "on_fleet_loss", "use local, open or closed"},
		{"on_fleet_loss of a node's rule", rules.Spec{Scope: rules.ScopeNode, OnFleetLoss: rules.LossOpen}, "on_fleet_loss", "set scope: fleet"},
		{"closed shadow", rules.Spec{Action: edgeguard.ActionShadow, OnFleetLoss: rules.LossClosed}, "on_fleet_loss", "set action: deny"},
		{"block_for", rules.Spec{BlockFor: time.Millisecond}, "block_for", "at least 1s"},
		{"key with attributes blocks", rules.Spec{Key: rules.Group{With: []string{"host"}}}, "action", "set action: deny"},
		{"wide key blocks", rules.Spec{Key: rules.Group{V4: 8}}, "key.address", "v4 from 16"},
		{"wide v6 key blocks", rules.Spec{Key: rules.Group{V6: 20}}, "key.address", "v6 from 32"},
		{"v4 bits", rules.Spec{Key: rules.Group{V4: 33}}, "key.address.v4", "use 1 to 32"},
		{"v6 bits", rules.Spec{Key: rules.Group{V6: -1}}, "key.address.v6", "use 1 to 128"},
		{"long v6 with attributes", rules.Spec{Key: rules.Group{V6: 128, With: []string{"host"}}, Action: deny}, "key.address.v6", "use v6: 64 or less"},
		{"attribute", rules.Spec{Key: rules.Group{With: []string{"host", "cookie"}}, Action: deny}, "key.with[1]", "invalid attribute"},
		{"status attribute", rules.Spec{Key: rules.Group{With: []string{"status"}}, Action: deny}, "key.with[0]", "invalid attribute"},
		{"header without a name", rules.Spec{Key: rules.Group{With: []string{"header:"}}, Action: deny}, "key.with[0]", "invalid attribute"},
		{"attribute twice", rules.Spec{Key: rules.Group{With: []string{"header:A", "header:a"}}, Action: deny}, "key.with[1]", "given twice"},
		{"kind", rules.Spec{Match: rules.Match{Kind: []string{"http"}}}, "match.kind[0]", "unknown kind"},
		{"two kinds", rules.Spec{Match: rules.Match{Kind: []string{"syn", "udp"}}}, "match.kind", "one kind"},
		{"kind excluded", rules.Spec{Match: rules.Match{Kind: []string{"syn"}, Not: &rules.Match{Kind: []string{"syn"}}}}, "match.not.kind", "excludes"},
		{"cannot be nested", rules.Spec{Match: rules.Match{Not: &rules.Match{Not: &rules.Match{}}}}, "match.not.not", "cannot be nested"},
		{"empty list", rules.Spec{Match: rules.Match{Path: []string{}}}, "match.path", "empty list"},
		{"empty list of statuses", rules.Spec{Match: rules.Match{Not: &rules.Match{Status: []string{}}}}, "match.not.status", "empty list"},
		{"method", rules.Spec{Match: rules.Match{Method: []string{"GET", "P T"}}}, "match.method[1]", "invalid method"},
		{"host with port", rules.Spec{Match: rules.Match{Host: []string{"a.org:80"}}}, "match.host[0]", "write a.org"},
		{"host with its last dot", rules.Spec{Match: rules.Match{Host: []string{"a.org."}}}, "match.host[0]", "write a.org"},
		{"host with path", rules.Spec{Match: rules.Match{Host: []string{"a.org/x"}}}, "match.host[0]", "invalid host"},
		{"path without slash", rules.Spec{Match: rules.Match{Path: []string{"a.php"}}}, "match.path[0]", "write /a.php"},
		{"path with query", rules.Spec{Match: rules.Match{Path: []string{"/a?b=1"}}}, "match.path[0]", "write /a"},
		{"path with two slashes", rules.Spec{Match: rules.Match{Path: []string{"/a", "//a"}}}, "match.path[1]", "never matches"},
		{"path with dots", rules.Spec{Match: rules.Match{Path: []string{"/a/../b"}}}, "match.path[0]", "never matches"},
		{"path ends in a dot", rules.Spec{Match: rules.Match{Path: []string{"*/."}}}, "match.path[0]", "never matches"},
		{"path with escaped slashes", rules.Spec{Match: rules.Match{Path: []string{"/a%2f/b"}}}, "match.path[0]", "never matches"},
		{"status", rules.Spec{Match: rules.Match{Status: []string{"4xy"}}}, "match.status[0]", "invalid status"},
		{"status too low", rules.Spec{Match: rules.Match{Status: []string{"99"}}}, "match.status[0]", "invalid status"},
		{"status backwards", rules.Spec{Match: rules.Match{Status: []string{"499-400"}}}, "match.status[0]", "invalid status"},
		{"status in octal", rules.Spec{Match: rules.Match{Status: []string{"0404"}}}, "match.status[0]", "invalid status"},
		{"port", rules.Spec{Match: rules.Match{Port: []string{"65536"}}}, "match.port[0]", "invalid port"},
		{"statuses taken back", rules.Spec{Match: rules.Match{Status: []string{"404"}, Not: &rules.Match{Status: []string{"4xx"}}}}, "match.not.status", "excludes everything"},
		{"methods taken back", rules.Spec{Match: rules.Match{Method: []string{"A", "B"}, Not: &rules.Match{Method: []string{"B", "A"}}}}, "match.not.method", "excludes everything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.spec.Name == "" {
				c.spec.Name = "rule"
			}
			if c.spec.Name == "-" {
				c.spec.Name = ""
			}
			if c.spec.Threshold == 0 {
				c.spec.Threshold = 100
			}
			set, problems := rules.Compile([]rules.Spec{{Name: "first", Threshold: 1}, c.spec})
			if set != nil || len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			p := problems[0]
			if p.Rule != 1 || p.Path != c.path || !strings.Contains(p.String(), c.text) || p.Fix == "" {
				t.Errorf("got %d, %v, want %s: …%s…", p.Rule, p, c.path, c.text)
			}
		})
	}
}

func TestCompileAllProblemsAtOnce(t *testing.T) {
	_, problems := rules.Compile([]rules.Spec{
		{Match: rules.Match{Path: []string{"x", "/ok", "y"}}},
		{Name: "a", Threshold: 1},
		{Name: "a", Threshold: 1, Guard: "x"},
	})
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d %s", p.Rule, p.Path))
	}
	want := "0 name, 0 match.path[0], 0 match.path[2], 0 threshold, 2 name, 2 guard"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestMeters holds which rules share a meter: those that count the same.
func TestMeters(t *testing.T) {
	base := rules.Spec{
		Name: "base", Threshold: 100, Action: edgeguard.ActionDeny,
		Match: rules.Match{Host: []string{"a.org", "B.org"}, Path: []string{"/x", "/y*"}, Status: []string{"404", "403"}},
		Key:   rules.Group{With: []string{"path", "host"}},
		Costs: []rules.Charge{{Match: rules.Match{Path: []string{"/y*"}}, Cost: 5}, {Match: rules.Match{Method: []string{"POST"}}, Cost: 2}},
	}
	for _, c := range []struct {
		name   string
		change func(*rules.Spec)
		same   bool
	}{
		{"nothing", func(*rules.Spec) {}, true},
		{"threshold, guard, candidates", func(s *rules.Spec) { s.Threshold, s.Guard, s.Candidates = 5, "1", []uint32{7} }, true},
		{"action", func(s *rules.Spec) { s.Action, s.BlockFor = edgeguard.ActionShadow, time.Hour }, true},
		{"order of a list", func(s *rules.Spec) { s.Match.Path = []string{"/y*", "/x"} }, true},
		{"a value twice", func(s *rules.Spec) { s.Match.Path = []string{"/x", "/x", "/y**"} }, true},
		{"case of a host", func(s *rules.Spec) { s.Match.Host = []string{"b.ORG", "A.org"} }, true},
		{"an escape", func(s *rules.Spec) { s.Match.Path = []string{"/%78", "/y*"} }, true},
		{"a range of statuses", func(s *rules.Spec) { s.Match.Status = []string{"403-404"} }, true},
		{"a status given and taken", func(s *rules.Spec) {
			s.Match.Status, s.Match.Not = []string{"403-405"}, &rules.Match{Status: []string{"405"}}
		}, true},
		{"defaults written out", func(s *rules.Spec) {
			s.Window, s.Cost, s.Key.V4, s.Match.Kind = 5*time.Minute, 1, 32, []string{"response"}
		}, true},
		{"order of attributes", func(s *rules.Spec) { s.Key.With = []string{"host", "path"} }, true},
		{"window", func(s *rules.Spec) { s.Window = time.Minute }, false},
		{"prefix length", func(s *rules.Spec) { s.Key.V4 = 24 }, false},
		{"attribute", func(s *rules.Spec) { s.Key.With = []string{"host"} }, false},
		{"kind", func(s *rules.Spec) { s.Match.Kind = []string{"request"} }, false},
		{"another term", func(s *rules.Spec) { s.Match.Method = []string{"GET"} }, false},
		{"a star that is none", func(s *rules.Spec) { s.Match.Path = []string{"/x", "/y%2A"} }, false},
		{"a term negated", func(s *rules.Spec) { s.Match.Not = &rules.Match{Path: []string{"/z"}} }, false},
		{"a kind negated", func(s *rules.Spec) { s.Match.Not = &rules.Match{Kind: []string{"syn"}} }, false},
		{"cost", func(s *rules.Spec) { s.Cost = 2 }, false},
		{"order of charges", func(s *rules.Spec) { s.Costs = []rules.Charge{base.Costs[1], base.Costs[0]} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := base
			other.Name = "other"
			c.change(&other)
			set := compile(t, base, other)
			if same := set.Rules[0].Meter == set.Rules[1].Meter; same != c.same || len(set.Meters) == 1 != c.same {
				t.Errorf("share a meter: %v, want %v", same, c.same)
			}
			if same := compile(t, other).Meters[0].Fingerprint == set.Meters[0].Fingerprint; same != c.same {
				t.Errorf("fingerprints equal: %v, want %v", same, c.same)
			}
			if c.same && fmt.Sprint(set.Meters[0].Rules) != "[0 1]" {
				t.Errorf("rules of the meter: %v", set.Meters[0].Rules)
			}
		})
	}
}

// TestFingerprintStays holds that fingerprints do not change between versions
// by accident: snapshots and Redis know meters by them.
func TestFingerprintStays(t *testing.T) {
	set := compile(t, rules.Spec{Name: "default", Threshold: 2000}, fourTerms)
	for i, want := range []string{"f21056b613a2f9dc", "e65f7bc0b3ee437f"} {
		if got := set.Meters[i].Fingerprint; got != want {
			t.Errorf("meter %d: %s, was %s", i, got, want)
		}
	}
}

// TestFleetIsNoPartOfTheMeter: rules of both scopes, whatever they do without
// the fleet, share one meter, so that a change keeps the counts.
func TestFleetIsNoPartOfTheMeter(t *testing.T) {
	set := compile(t,
		rules.Spec{Name: "a", Threshold: 5},
		rules.Spec{Name: "b", Threshold: 5, Scope: rules.ScopeNode},
		rules.Spec{Name: "c", Threshold: 5, OnFleetLoss: rules.LossClosed},
	)
	if len(set.Meters) != 1 {
		t.Errorf("%d meters", len(set.Meters))
	}
	var got string
	for _, r := range set.Rules {
		got += fmt.Sprint(r.Scope, " ", r.OnFleetLoss, ", ")
	}
	if want := "fleet local, node local, fleet closed, "; got != want {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(rules.Scope(7), rules.Loss(7)); got != "scope(7) loss(7)" {
		t.Errorf("got %s", got)
	}
}
