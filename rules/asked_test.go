package rules

import (
	"math/rand/v2"
	"testing"

	"edgeguard"
)

// asked compiles one rule that denies.
func askedOf(t *testing.T, spec Spec) *Unanswered {
	t.Helper()
	spec.Name, spec.Threshold, spec.Action = "r", 10, edgeguard.ActionDeny
	set, problems := Compile([]Spec{spec})
	if problems != nil {
		t.Fatal(problems)
	}
	return set.Unanswered()
}

// question is what a proxy asks about: it has no status, and where nothing is counted no kind.
func question(method, path string) *edgeguard.Event {
	return &edgeguard.Event{Method: method, Path: path, Host: "www.example.org", Known: edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldHost}
}

// met returns the rules whose terms a question meets.
func met(a *Unanswered, q *edgeguard.Event) map[int]bool {
	out := make(map[int]bool)
	for i := range a.Matches(q, true, true, nil) {
		out[i] = true
	}
	return out
}

func withKind(q *edgeguard.Event) *edgeguard.Event {
	out := *q
	out.Kind = edgeguard.KindRequest
	return &out
}

func TestAsked(t *testing.T) {
	login := []string{"/login"}
	for name, test := range map[string]struct {
		spec         Spec
		askable      bool
		answers      bool
		meets, fails [][2]string
	}{
		"a status": {Spec{Match: Match{Status: []string{"401"}, Path: login, Method: []string{"POST"}}}, true, true,
			[][2]string{{"POST", "/login"}, {"post", "//login?a=1"}}, [][2]string{{"GET", "/login"}, {"POST", "/"}}},
		"no status wanted": {Spec{Match: Match{Path: login, Not: &Match{Status: []string{"2xx"}}}}, true, true,
			[][2]string{{"GET", "/login"}}, [][2]string{{"GET", "/"}}},
		"not, of both": {Spec{Match: Match{Not: &Match{Status: []string{"2xx"}, Path: login}}}, true, true,
			[][2]string{{"GET", "/"}}, [][2]string{{"GET", "/login"}}},
		"the kind": {Spec{Match: Match{Kind: []string{"response"}, Path: login}}, true, true,
			[][2]string{{"GET", "/login"}}, [][2]string{{"GET", "/"}}},
		"not of a kind":           {Spec{Match: Match{Kind: []string{"response"}, Not: &Match{Kind: []string{"request"}}}}, true, true, [][2]string{{"GET", "/"}}, nil},
		"a status alone":          {Spec{Match: Match{Status: []string{"4xx"}}}, true, true, [][2]string{{"GET", "/"}, {"POST", "/login"}}, nil},
		"a request with a status": {Spec{Match: Match{Kind: []string{"request"}, Status: []string{"404"}}}, true, true, [][2]string{{"GET", "/"}}, nil},
		"a cost by status": {Spec{Match: Match{Path: login}, Costs: []Charge{{Match: Match{Status: []string{"401"}}, Cost: 5}}}, true, true,
			[][2]string{{"GET", "/login"}}, [][2]string{{"GET", "/"}}},
		"a cost by status of requests": {Spec{Match: Match{Kind: []string{"request"}, Path: login}, Costs: []Charge{{Match: Match{Status: []string{"401"}}, Cost: 5}}}, true, false,
			[][2]string{{"GET", "/login"}}, [][2]string{{"GET", "/"}}},
		"when beside a status": {Spec{Match: Match{Status: []string{"404"}}, When: `path endsWith ".php"`}, true, true,
			[][2]string{{"GET", "/a.php"}}, [][2]string{{"GET", "/a"}}},
		"when over the status": {Spec{When: `status == 404 and path endsWith ".php"`}, false, true, nil, nil},
		"folded": {Spec{Match: Match{Status: []string{"401"}, Path: login, Fold: true}}, true, true,
			[][2]string{{"POST", "/Login.json"}, {"POST", "/login/;a=1"}}, [][2]string{{"POST", "/logins"}}},
		"different paths":              {Spec{Match: Match{Status: []string{"404"}}, Distinct: "path"}, true, true, [][2]string{{"GET", "/"}}, nil},
		"a field that no question has": {Spec{Match: Match{Status: []string{"404"}, Port: []string{"443"}}}, true, true, nil, [][2]string{{"GET", "/"}}},
		"requests":                     {Spec{Match: Match{Path: login}}, true, false, [][2]string{{"GET", "/login"}}, [][2]string{{"GET", "/"}}},
		"no request at all":            {Spec{Match: Match{Kind: []string{"auth_failure"}}}, false, false, nil, nil},
	} {
		a := askedOf(t, test.spec)
		if len(a.Rules) > 0 != test.askable {
			t.Errorf("%s: %d rules can be asked", name, len(a.Rules))
			continue
		}
		if test.askable && a.Rules[0].Answers != test.answers {
			t.Errorf("%s: it counts answers: %t", name, a.Rules[0].Answers)
		}
		for i, list := range [][][2]string{test.meets, test.fails} {
			for _, q := range list {
				if got := met(a, question(q[0], q[1]))[0]; got != (i == 0) {
					t.Errorf("%s: %s meets its terms: %t", name, q, got)
				}
			}
		}
	}
	for _, action := range []edgeguard.Action{edgeguard.ActionBlock, edgeguard.ActionShadow} {
		set, _ := Compile([]Spec{{Name: "r", Threshold: 1, Action: action, Match: Match{Status: []string{"404"}}}})
		if len(set.Unanswered().Rules) > 0 {
			t.Errorf("%v: is asked", action)
		}
	}
}

// Whatever a log line with a status matches, the same line without it meets; the index leaves
// out none of them.
func TestAskedMeetsWhatMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	some := func(of ...string) []string { return of[:r.IntN(len(of)+1)] }
	given := func(list []string) []string {
		if len(list) == 0 {
			return nil
		}
		return list
	}
	paths := []string{"/", "/login", "/%6cogin", "/Login/", "/login;a=1", "/a/b.php", "/a/../login", "/x?y=1"}
	n := 0
	for range 300 {
		var specs []Spec
		for i := range 1 + r.IntN(6) {
			s := Spec{Name: string(rune('a' + i)), Threshold: 5, Action: edgeguard.ActionDeny, Match: Match{
				Status: given(some("4xx", "200")), Method: given(some("POST", "GET")), Path: given(some("/login", "*.php", "/a*")), Fold: r.IntN(4) == 0,
			}}
			if r.IntN(3) == 0 {
				s.Match.Not = &Match{Status: []string{"404"}, Path: given(some("/a*"))}
			}
			if s.Match.Path == nil {
				s.Match.Fold = false
			}
			if _, problems := Compile([]Spec{s}); problems == nil {
				specs = append(specs, s)
			}
		}
		set, problems := Compile(specs)
		if problems != nil {
			t.Fatal(problems)
		}
		a := set.Unanswered()
		for range 30 {
			q := question([]string{"GET", "POST", "put"}[r.IntN(3)], paths[r.IntN(len(paths))])
			line := *q
			line.Kind, line.Known, line.Status = edgeguard.KindRequest|edgeguard.KindResponse, q.Known|edgeguard.FieldStatus, []uint16{200, 401, 404}[r.IntN(3)]
			meets := met(a, q)
			for i, of := range a.Rules {
				_, matches := set.Meters[of.Meter].Match(&line)
				_, should := a.terms.Meters[i].Match(withKind(q))
				if meets[i] != should || matches && !should {
					t.Fatalf("%+v of %+v: matches %t, meets %t, want %t", line, specs[of.Rule], matches, meets[i], should)
				} else if should {
					n++
				}
			}
		}
	}
	if n == 0 {
		t.Error("nothing met any terms")
	}
}
