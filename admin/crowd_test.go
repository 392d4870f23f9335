package admin

import (
	"testing"
	"time"

	"edgeguard/attack"
	"edgeguard/eventlog"
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

// learning is a node with a rule that learns what is ordinary.
type learning struct {
	attacked
	days int
}

func (l *learning) Rules() []Rule {
	return []Rule{{Name: "crowd", Learned: &Learned{Rule: "crowd", Days: l.days, Needed: 7, Usual: 9}}}
}

func (*learning) Unit(string, string) words.Measure {
	return words.Measure{Each: 1, One: "request", Many: "requests"}
}

func (*learning) Crowd(string, string, time.Time) (came attack.Crowd, kept bool) {
	return attack.Crowd{Most: 70}, false
}

// What is ordinary is said once it is known, and what is not kept of a crowd is not told of it.
func TestCrowdIsOrdinary(t *testing.T) {
	for days, want := range map[int]string{6: "41 requests of /login", 7: "41 requests of /login; on an ordinary day 9"} {
		node := &learning{days: days}
		v := NewView(node, NewEvents("edge-1", eventlog.New(eventlog.Config{}), nil))
		all := []Attack{{Rules: []string{"crowd"}, Crowd: &Crowd{Key: "path=/login", Count: 41}}}
		if v.addCrowds(all); all[0].Crowd.Says != want || all[0].Crowd.Count != 41 {
			t.Errorf("after %d days: %+v", days, all[0].Crowd)
		}
	}
}
