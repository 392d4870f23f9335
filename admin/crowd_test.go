package admin

import (
	"testing"

	"edgeguard/internal/words"
)

// The sentence of a crowd says no number that nobody knows: beyond 400 addresses, and those of several nodes.
func TestCrowdSays(t *testing.T) {
	addresses := words.Measure{Each: 1, One: "different address", Many: "different addresses", Exact: 400}
	requests := words.Measure{Each: 1, One: "request", Many: "requests"}
	two := func(x, y uint32) []NodeCount { return []NodeCount{{"edge-1", x}, {"edge-2", y}} }
	fails, counts := Rule{SparesOutages: true, Distinct: "address", Scope: "node"}, Rule{Scope: "node"}
	for want, test := range map[string]struct {
		of   Crowd
		rule Rule
	}{
		"more than 400 addresses failed at /login; on an ordinary day 9": {Crowd{Key: "path=/login", Count: 401, Unit: addresses, Ordinary: 9}, fails},
		"1,204 requests of /login":                                       {Crowd{Key: "path=/login", Count: 1204, Unit: requests}, counts},
		"1,204 requests":                                                 {Crowd{Count: 1204, Unit: requests}, counts},
		"7 requests of method=GET path=/x":                               {Crowd{Key: "method=GET path=/x", Count: 7, Unit: requests}, counts},
		"7 requests of path=/x agent=ab":                                 {Crowd{Key: "path=/x agent=ab", Count: 7, Unit: requests}, counts},
		"9 requests that failed at /x":                                   {Crowd{Key: "path=/x", Count: 9, Unit: requests}, Rule{SparesOutages: true}},
		"between 300 and 401 addresses failed at /login":                 {Crowd{Key: "path=/login", Count: 300, Unit: addresses, Nodes: two(300, 101)}, fails},
		"more than 400 addresses failed at /login":                       {Crowd{Key: "path=/login", Count: 3, Unit: addresses, Nodes: two(3, 401)}, fails},
		"301 addresses failed at /login":                                 {Crowd{Key: "path=/login", Unit: addresses, Nodes: two(301, 0)[:1]}, fails},
		"12 requests of /login":                                          {Crowd{Key: "path=/login", Count: 5, Unit: requests, Nodes: two(5, 7)}, counts},
		"8 requests of /login":                                           {Crowd{Key: "path=/login", Count: 8, Unit: requests, Nodes: two(8, 7)}, Rule{Scope: "fleet"}},
		"count 7 of /login":                                              {Crowd{Key: "path=/login", Count: 7}, Rule{}}, // of another node's rule
	} {
		if got := test.of.sentence(&test.rule); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
