package rules_test

import (
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// compile makes a set of specs that must have no problem.
func compile(tb testing.TB, specs ...rules.Spec) *rules.Set {
	tb.Helper()
	set, problems := rules.Compile(specs)
	for _, p := range problems {
		tb.Errorf("rule %d: %v", p.Rule, p)
	}
	if set == nil {
		tb.FailNow()
	}
	return set
}

// request is a request whose host, method and path are known.
func request(host, method, path string) edgeguard.Event {
	return edgeguard.Event{
		Kind: edgeguard.KindRequest, Host: host, Method: method, Path: path,
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath,
	}
}
