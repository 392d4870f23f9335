package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// TestDistinct: a rule that counts different values is of scope node, needs the field, has
// a meter of its own, and only networks whose limit is exact.
func TestDistinct(t *testing.T) {
	set := compile(t,
		rules.Spec{Name: "site", Threshold: 20},
		rules.Spec{Name: "paths", Distinct: "path", Threshold: 20},
		rules.Spec{Name: "more-paths", Distinct: "path", Threshold: 400, Candidates: []uint32{10, 421}, Action: edgeguard.ActionShadow},
		rules.Spec{Name: "hosts", Distinct: "host", Threshold: 6, Wide: rules.WideStrict},
	)
	if len(set.Meters) != 3 || set.Rules[1].Meter != set.Rules[2].Meter {
		t.Fatalf("%d meters, want 3", len(set.Meters))
	}
	var widths []string
	for _, r := range set.Rules[1:] {
		if r.Scope != rules.ScopeNode {
			t.Errorf("%s has scope %v", r.Name, r.Scope)
		}
		for _, w := range r.Widths {
			widths = append(widths, fmt.Sprintf("%s /%d %d", r.Name, w.Bits, w.Limit))
		}
	}
	if got := strings.Join(widths, ", "); got != "paths /56 304, hosts /56 96, hosts /48 96" {
		t.Errorf("networks: %s", got)
	}
	m := &set.Meters[1]
	if m.Fields() != edgeguard.FieldPath || m.MeasureOf().Of(1) != "1 different path" || m.MeasureOf().Of(401) != "more than 400 different paths" || set.Meters[0].MeasureOf().Of(401) != "401 requests" {
		t.Errorf("%v: %+v, %+v", m.Fields(), m.MeasureOf(), set.Meters[0].MeasureOf())
	}
}

// TestUnit: a rule that one ordinary cost makes finer counts events or values; where an operator
// weighed events, its figures are no number of any.
func TestUnit(t *testing.T) {
	of := func(method string, cost uint32) rules.Charge {
		return rules.Charge{Match: rules.Match{Method: []string{method}}, Cost: cost}
	}
	for want, spec := range map[string]rules.Spec{
		"40 requests":        {},
		"10 requests":        {Cost: 4},
		"20 requests":        {Cost: 2, Costs: []rules.Charge{of("GET", 1), of("HEAD", 1), of("POST", 2)}},
		"10 attempts":        {Cost: 4, Costs: []rules.Charge{of("GET", 1)}, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login"}}},
		"20 different hosts": {Cost: 2, Distinct: "host"},
		"cost 40":            {Costs: []rules.Charge{of("POST", 10), of("PUT", 50)}},
	} {
		spec.Name, spec.Threshold = "r", 100
		if got := compile(t, spec).Meters[0].MeasureOf().Of(40); got != want {
			t.Errorf("%+v: %s, want %s", spec.Costs, got, want)
		}
	}
	weighed := rules.Spec{Name: "r", Threshold: 100, Cost: 50, Costs: []rules.Charge{of("GET", 1), of("POST", 10)}}
	if got := compile(t, weighed).Meters[0].MeasureOf().Of(40); got != "cost 40" {
		t.Errorf("three weights, the dearest last: %s", got)
	}
}

// FuzzDistinct: what is counted as it was sent is what the slow way makes of it, a path has
// no query, and an event without the field has no value.
func FuzzDistinct(f *testing.F) {
	for _, seed := range []string{"/", "/a?b", "//a/../b%2f#c", "http://h/a", "Example.org.:80", "[2001:db8::1]:443", "%zz", "/a%252e", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for field, set := range map[string]func(*edgeguard.Event, string){
			"path":  func(ev *edgeguard.Event, s string) { ev.Path = s },
			"host":  func(ev *edgeguard.Event, s string) { ev.Host = s },
			"agent": func(ev *edgeguard.Event, s string) { ev.Agent = s },
		} {
			m := &compile(t, rules.Spec{Name: "r", Distinct: field, Threshold: 1}).Meters[0]
			var ev edgeguard.Event
			set(&ev, text)
			if _, known := m.Value(&ev, nil); known {
				t.Errorf("%s of an event that lacks it", field)
			}
			ev.Known = m.Fields()
			value, known := m.Value(&ev, nil)
			if asSent, ok := m.AsSent(&ev); ok && asSent != value || !known {
				t.Errorf("%s %q is %q, as sent %q", field, text, value, asSent)
			}
			if field == "path" && (value[0] != '/' || strings.ContainsAny(text, "?#") && value == text) {
				t.Errorf("path %q is %q", text, value)
			}
		}
	})
}
