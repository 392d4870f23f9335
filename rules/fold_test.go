package rules

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

// slowForms is the obvious twin of what fold compares: each reading of a target in both of
// its forms, one step after the other, on whole strings.
func slowForms(target string) (forms []string) {
	path := regexp.MustCompile(`[?#].*`).ReplaceAllString(target, "")
	cut := regexp.MustCompile(`(;|%3[bB])[^/]*`).ReplaceAllString(path, "")
	for _, reading := range []string{slowNormalPath(path), slowNormalPath(cut)} {
		folded := regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(reading, strings.ToLower)
		if folded != "/" {
			folded = strings.TrimSuffix(folded, "/")
		}
		forms = append(forms, folded, regexp.MustCompile(`([^/.])[.]+[^./]*$`).ReplaceAllString(folded, "$1"))
	}
	return forms
}

// slowFold reports whether any form of one reading is of these, and none is of those.
func slowFold(these, those []string, target string) bool {
	forms := slowForms(target)
	for _, reading := range [][]string{forms[:2], forms[2:]} {
		in, out := these == nil, false
		for _, form := range reading {
			in = in || anyOf(these, form)
			out = out || anyOf(those, form)
		}
		if in && !out {
			return true
		}
	}
	return false
}

func foldMeter(t testing.TB, these, those []string) *Meter {
	t.Helper()
	match := Match{Path: these, Fold: true}
	if those != nil {
		match.Not = &Match{Path: those}
	}
	set, problems := Compile([]Spec{{Name: "a", Threshold: 1, Match: match}})
	if problems != nil {
		t.Fatal(problems)
	}
	return &set.Meters[0]
}

func folds(m *Meter, target string) bool {
	_, ok := m.Match(&edgeguard.Event{Kind: edgeguard.KindRequest, Path: target, Known: edgeguard.FieldPath})
	return ok
}

// TestFold: the variants of a path that frameworks serve as one page match, and other pages
// do not.
func TestFold(t *testing.T) {
	m := foldMeter(t, []string{"*/Login", "/a.b", "/x/*"}, []string{"/api/login", "*.css"})
	for target, want := range map[string]bool{
		"/login": true, "/LOGIN": true, "/login/": true, "/login//": true, "/login.json": true, "/login.xyz": true, "/login.": true, "/login...": true, "/login.json/": true,
		"/login;jsessionid=1": true, "/login%3Ba": true, "/login%3ba=%2f": true, "/login;a=%2Fb/c": false, "/login;a/": true, "/users;v=1/login.JSON;a?x": true, "/a/..;/login": true,
		"/a/..%3B/login": true, "/;a/login": true, "//%4cogin": true, "http://h/Login": true, "/a/;b/../login": true, "/login?;/x": true,
		"/login/x": false, "/loginx": false, "/login.a.b": false, "/.login": false, "/login/.json": false, "/ſogin": false, "/logi%6e.PHP?a=b": true,
		"/a.b": true, "/A.B/": true, "/a": false, "/a.b.c": true, "/X/y.z": true, "/x/": false, "/x": false,
		"/API/login": false, "/api/login.json": false, "/api;a/login": true, "/x/login.css": false,
	} {
		if got := folds(m, target); got != want || got != slowFold([]string{"*/login", "/a.b", "/x/*"}, []string{"/api/login", "*.css"}, target) {
			t.Errorf("%q: %v, want %v", target, got, want)
		}
	}
}

// TestFoldAgainstTwin compares random rules and targets with the slow twin.
func TestFoldAgainstTwin(t *testing.T) {
	fulltest.Only(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"/", "/", "/", "/", "a", "B", "b", ".", "..", "/../", ";", "%3b", "%3B", "%2e", "%41", "%", "%3", "?", "#", "x", "é", "\x00"}
	patterns := []string{"/", "/a", "/b", "/a/b", "*b", "*a*", "/a.b", "/.a", "/a/*", "*.x", "/..a", "*", "/a..x", "/ab", "/x*"}
	matched := 0
	for range 2000 {
		var these, those []string
		for range 1 + random.IntN(4) {
			these = append(these, patterns[random.IntN(len(patterns))])
		}
		if random.IntN(2) == 0 {
			those = append(those, patterns[random.IntN(len(patterns)-4)])
		}
		if random.IntN(8) == 0 {
			these = append(these, "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8")
		}
		set, problems := Compile([]Spec{{Name: "a", Threshold: 1, Match: Match{Path: these, Fold: true, Not: &Match{Path: those}}}})
		if problems != nil {
			continue // what is taken back whole
		}
		for range 50 {
			target := "/"
			for range random.IntN(9) {
				target += pieces[random.IntN(len(pieces))]
			}
			want := slowFold(these, those, target)
			if want {
				matched++
			}
			if got := folds(&set.Meters[0], target); got != want {
				t.Fatalf("seed %d: %q not %q on %q: %v, the twin %v; forms %q", seed, these, those, target, got, want, slowForms(target))
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched: the test shows little", matched)
	}
}

// FuzzFold compares one rule with the slow twin, for any target.
func FuzzFold(f *testing.F) {
	for _, c := range pathCases {
		f.Add(c.target)
	}
	f.Add("/a/..;/b%3bc/.D;/")
	f.Fuzz(func(t *testing.T, target string) {
		if strings.ContainsAny(target, "\n") || hasOther(target) {
			t.Skip("the twin's expressions end at a line's end, and read escaped slashes in one way")
		}
		these, those := []string{"/a*", "*b", "/x.y"}, []string{"*c"}
		if got, want := folds(foldMeter(t, these, those), target), slowFold(these, those, target); got != want {
			t.Fatalf("%q: %v, the twin %v; forms %q", target, got, want, slowForms(target))
		}
	})
}

// TestFoldMeter: fold is part of what is counted, of the whole rule with its costs and its
// key, and costs no allocation.
func TestFoldMeter(t *testing.T) {
	spec := Spec{Name: "a", Threshold: 9, Action: edgeguard.ActionDeny, Match: Match{Path: []string{"/Login*"}, Fold: true}, Key: Group{With: []string{"path"}},
		Costs: []Charge{{Match: Match{Path: []string{"*/export"}}, Cost: 3}}}
	plain, lower := spec, spec
	plain.Name, plain.Match.Fold = "b", false
	lower.Name, lower.Match.Path = "c", []string{"/login*"}
	set, problems := Compile([]Spec{spec, plain, lower})
	if problems != nil {
		t.Fatal(problems)
	}
	if set.Rules[0].Meter != set.Rules[2].Meter || set.Rules[0].Meter == set.Rules[1].Meter || !set.Meters[0].Terms().Fold || set.Meters[1].Terms().Fold {
		t.Errorf("meters of %v", set.Rules)
	}
	m := &set.Meters[0]
	buf := make([]byte, 0, 4096)
	ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: "//LOGIN;a/x/..;/Export.csv/" + strings.Repeat("?", 1000)}
	allocs := testing.AllocsPerRun(100, func() {
		cost, ok := m.Match(&ev)
		with, known := m.AppendAttributes(&ev, buf)
		if cost != 3 || !ok || !known || string(with) != "path=/login/export" {
			t.Errorf("%d, %v, %s", cost, ok, with)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestFoldProblems(t *testing.T) {
	path := []string{"/a"}
	for want, spec := range map[string]Spec{
		"match.fold: changes nothing":                                   {Match: Match{Fold: true}},
		"match.not.fold: cannot be set here":                            {Match: Match{Path: path, Not: &Match{Path: []string{"/b"}, Fold: true}}},
		"cost[0].match.fold: cannot be set here":                        {Match: Match{Path: path, Fold: true}, Costs: []Charge{{Cost: 2, Match: Match{Path: path, Fold: true}}}},
		`match.path[1]: "/a/" never matches: fold cuts the slash`:       {Match: Match{Path: []string{"/", "/a/"}, Fold: true}},
		`match.path[0]: "*/" never matches`:                             {Match: Match{Path: []string{"*/"}, Fold: true}},
		`match.not.path[0]: "/a;b*" never matches: fold cuts parameter`: {Match: Match{Path: path, Fold: true, Not: &Match{Path: []string{"/a;b*"}}}},
	} {
		spec.Name, spec.Threshold = "a", 1
		_, problems := Compile([]Spec{spec})
		if len(problems) != 1 || !strings.HasPrefix(fmt.Sprint(problems[0]), want) {
			t.Errorf("%v, want %s", problems, want)
		}
	}
}

// TestFoldReadings: with parameters cut off, too, servers differ in whether an escaped slash
// separates segments.
func TestFoldReadings(t *testing.T) {
	m := foldMeter(t, []string{"/login"}, nil)
	for target, want := range map[string]bool{
		"/x%2fy/..;/login": true, "/x%2Fy/..%3ba/Login.json": true, "/x%2fy;a/../login": true, "/x%2f..;/login": true, "/x%2fy/..;/..;/login": true,
		"/x%2fy/login": false, "/x%2fy;/login": false,
	} {
		if got := folds(m, target); got != want {
			t.Errorf("%q: %v, want %v", target, got, want)
		}
	}
}
