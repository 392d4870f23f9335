package rules

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

var indexSets = flag.Int("index-sets", 3_000, "how many random rule sets TestIndex tries, with ten events each")

// holdIndex holds what is said of all meters at once against what each says.
func holdIndex(t *testing.T, set *Set, ev *edgeguard.Event) (matched int) {
	t.Helper()
	type match struct {
		meter int
		cost  uint16
	}
	var got, want []match
	for i, cost := range set.Matches(ev, make([]uint64, Sets)) {
		got = append(got, match{i, cost})
	}
	for i := range set.Meters {
		if cost, ok := set.Meters[i].Match(ev); ok {
			want = append(want, match{i, cost})
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q: matches %v, want %v", ev.Path, got, want)
	}
	return len(want)
}

// Pieces of paths: of rules, and of targets, which are written in odder ways.
var (
	rulePieces   = []string{"/", "/a", "/b", "/login", "/wp-login.php", "/api/v1/users", ".php", "x", "%2A", "%00", "%25", "*", "*", "é"}
	targetPieces = append([]string{"?", "#", "%2f", "//", "/../", "/.", "%2e", "..", "%", "%zz", "!", "http://h", "%61", "%252f", ";a"}, rulePieces...)
)

func randomText(r *rand.Rand, pieces []string) (text string) {
	for range 1 + r.IntN(4) {
		text += pieces[r.IntN(len(pieces))]
	}
	return text
}

// randomSet compiles as many of some random rules as have no flaw.
func randomSet(r *rand.Rand) (set *Set, paths []string) {
	texts := func() (list []string) {
		for range []int{1, 1, 1, 2, 3, 12}[r.IntN(6)] {
			list = append(list, "/"+strings.TrimPrefix(randomText(r, rulePieces), "/"))
			if r.IntN(4) == 0 {
				list[len(list)-1] = "*" + randomText(r, rulePieces)
			}
		}
		return list
	}
	var specs []Spec
	for i := range []int{1, 4, 9, 9, 9, 70}[r.IntN(6)] {
		spec := Spec{Name: fmt.Sprint(i), Threshold: 1, Window: time.Duration(1+i%70) * time.Minute}
		if r.IntN(8) > 0 {
			spec.Match.Path = texts()
		}
		switch r.IntN(12) {
		case 0:
			spec.Match.Not = &Match{Path: texts()}
		case 1:
			spec.Match.Fold = true
		case 2:
			spec.Match.Method = [][]string{{"POST"}, {"get", "Post"}, {"PUT"}}[r.IntN(3)]
		case 5:
			spec.Match.Not = &Match{Method: []string{"POST", "PUT"}}
		case 3:
			spec.Costs = []Charge{{Match: Match{Path: texts()}, Cost: 2}}
		case 4:
			spec.When = `path contains "a"`
		case 6:
			spec.Match.Host = []string{"h"}
		}
		switch r.IntN(6) {
		case 0:
			spec.Match.Status = [][]string{{"404"}, {"2xx"}, {"403", "404-410"}, {"100-999"}}[r.IntN(4)]
		case 1:
			spec.Match.Not = &Match{Status: []string{"404"}}
		}
		if len(specs) > 0 && r.IntN(3) == 0 { // rules of one preset have terms in common
			of := specs[r.IntN(len(specs))]
			if spec.Match = of.Match; r.IntN(2) == 0 {
				spec.Costs = of.Costs
			}
		} else if len(specs) > 0 && r.IntN(3) == 0 { // or only paths
			of := specs[r.IntN(len(specs))].Match
			if spec.Match.Path, spec.Match.Fold = of.Path, of.Fold; of.Not != nil && of.Not.Path != nil {
				spec.Match.Not = &Match{Path: of.Not.Path}
			}
		}
		spec.Cost = 1 + r.Uint32N(3)
		if r.IntN(4) == 0 {
			spec.When = []string{`agent == "a"`, `not (agent == "a")`, `path contains "a"`}[r.IntN(3)]
		}
		if r.IntN(4) == 0 {
			spec.Costs = [][]Charge{{{Match: Match{Referer: []string{"own", "foreign"}}, Cost: 1}}, {{Match: Match{Method: []string{"POST"}}, Cost: 2}}}[r.IntN(2)]
		}
		if _, problems := Compile([]Spec{spec}); problems == nil {
			specs, paths = append(specs, spec), append(paths, spec.Match.Path...)
		}
	}
	set, _ = Compile(specs)
	return set, paths
}

// TestIndex holds the index against the definition, and against asking every meter.
func TestIndex(t *testing.T) {
	fulltest.Only(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	matched, indexed := 0, 0
	for range *indexSets {
		set, paths := randomSet(r)
		if set.Indexed() {
			indexed++
		}
		for range 10 {
			ev := edgeguard.Event{Kind: edgeguard.KindRequest, Method: "POST", Known: edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldHost | edgeguard.FieldAgent | edgeguard.FieldReferer}
			ev.Agent, ev.Referer, ev.Host = []string{"a", "b"}[r.IntN(2)], []string{"", "http://h/"}[r.IntN(2)], []string{"h", "H:80", "i"}[r.IntN(3)]
			if r.IntN(3) > 0 {
				ev.Kind |= edgeguard.KindResponse
				ev.Known |= edgeguard.FieldStatus
			}
			ev.Status = []uint16{0, 200, 299, 300, 402, 403, 404, 405, 410, 411, 65535}[r.IntN(11)] // also where it is not known
			ev.Path = randomText(r, targetPieces)
			if len(paths) > 0 && r.IntN(2) == 0 { // near to one that is asked for
				ev.Path = strings.ReplaceAll(paths[r.IntN(len(paths))], "*", []string{"", "z", "/z.php"}[r.IntN(3)])
				at := r.IntN(len(ev.Path) + 1)
				ev.Path = ev.Path[:at] + []string{"", "/", "%2f", "/../", "q"}[r.IntN(5)] + ev.Path[at:]
			}
			if r.IntN(2) == 0 {
				ev.Method = []string{"GET", "post", "Put", "", strings.Repeat("P", 65), strings.Repeat("p", 65)}[r.IntN(6)]
			}
			switch r.IntN(40) {
			case 0, 1:
				ev.Known = edgeguard.FieldMethod
			case 2:
				ev.Known &^= edgeguard.FieldMethod
			}
			matched += holdIndex(t, set, &ev)
		}
	}
	if matched < *indexSets || indexed < *indexSets/3 {
		t.Errorf("%d matches and %d sets with an index: the test shows little", matched, indexed)
	}
}

// FuzzIndex takes the paths of rules, a line each, and a target.
func FuzzIndex(f *testing.F) {
	f.Add("/a\n/b*\n*.php\n/a*b*c", "/a")
	f.Add("/wp-login.php\n/wp-login.php*\n/api/v1/*\n*/login", "//x%2f../wp-login.php?a")
	f.Add("/%00\n/%00*\n*%00\n/12345678\n/1234567*\n*/12345678", "/%00%2f%00")
	f.Add("/login\n/Login\n*in", "/LOGIN;a=1")
	f.Fuzz(func(t *testing.T, lines, target string) {
		var specs []Spec
		for i, path := range strings.Split(lines, "\n") {
			spec := Spec{Name: fmt.Sprint(i), Threshold: 1, Match: Match{Path: []string{path}, Fold: i%5 == 4}}
			if _, problems := Compile([]Spec{spec}); problems == nil && len(specs) < 100 {
				specs = append(specs, spec)
			}
		}
		set, problems := Compile(specs)
		if problems != nil {
			t.Fatal(problems)
		}
		holdIndex(t, set, &edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: target})
	})
}

func TestIndexDoesNotAllocate(t *testing.T) {
	var specs []Spec
	for i := range 200 {
		specs = append(specs, Spec{Name: fmt.Sprint(i), Threshold: 1, Match: Match{Path: []string{fmt.Sprintf("/page-%d", i), fmt.Sprintf("/%d*", i)}, Fold: i%3 == 0}})
	}
	set, _ := Compile(specs)
	room := make([]uint64, 4*Sets)
	for _, target := range []string{"/page-7", "//page-7?a", "/1%2f../12", "/Page-9/;a=1"} {
		ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: target}
		if allocs := testing.AllocsPerRun(100, func() {
			for range set.Matches(&ev, room) {
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations", target, allocs)
		}
	}
}
