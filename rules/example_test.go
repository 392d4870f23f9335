package rules_test

import (
	"fmt"
	"net/netip"

	"edgeguard"
	"edgeguard/rules"
)

// A rule against password guessing, and what it makes of two requests.
func Example() {
	set, problems := rules.Compile([]rules.Spec{{
		Name:      "login",
		Threshold: 20, // in 5 minutes
		Match: rules.Match{
			Method: []string{"POST"},
			Path:   []string{"/wp-login.php*", "/xmlrpc.php"},
		},
	}})
	for _, problem := range problems {
		fmt.Println(problem)
	}
	rule := set.Rules[0]
	fmt.Printf("%s: more than %d in %v: %v for %v\n", rule.Name, rule.Limit, set.Meters[rule.Meter].Window, rule.Action, rule.BlockFor)

	meter := &set.Meters[rule.Meter]
	for _, path := range []string{"//xmlrpc.php?rsd", "/index.php"} {
		event := edgeguard.Event{
			Addr: netip.MustParseAddr("2001:db8::1"), Kind: edgeguard.KindRequest,
			Method: "POST", Path: path, Known: edgeguard.FieldMethod | edgeguard.FieldPath,
		}
		if cost, ok := meter.Match(&event); ok {
			fmt.Println(path, "costs", cost, "under", meter.Key(event.Addr, ""))
		} else {
			fmt.Println(path, "does not count")
		}
	}
	// Output:
	// login: more than 19 in 5m0s: block for 10m0s
	// //xmlrpc.php?rsd costs 1 under 2001:db8::/64
	// /index.php does not count
}

// What is wrong is told all at once, with what to do about it.
func ExampleCompile_problems() {
	_, problems := rules.Compile([]rules.Spec{{
		Name:      "api",
		Threshold: 100_000,
		Match:     rules.Match{Path: []string{"api/*"}},
		Key:       rules.Group{With: []string{"header:X-Api-Key"}},
	}})
	for _, problem := range problems {
		fmt.Println(problem)
	}
	// Output:
	// match.path[0]: "api/*" does not begin with a slash; write /api/* or *api/*
	// threshold: 100000 makes a limit over 65534, and greater counts are not exact; use at most 68983, and a shorter window to stay as strict
	// action: a rule with attributes in its key cannot block: a block denies the whole address; set action: deny, which refuses matching events while the count is over the limit
}
