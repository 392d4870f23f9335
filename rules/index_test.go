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
)

var indexSets = flag.Int("index-sets", 3_000, "how many random rule sets TestIndex tries, with ten events each")

// slowMayMatch is the definition: of the meters that have a path, and compare its normal
// form, those that have one of the target's readings among theirs; and all others. Of both
// only those that ask for no status or for the event's, if any is found by its path.
func slowMayMatch(set *Set, ev *edgeguard.Event) (found []int) {
	readings := []string{slowNormalPath(ev.Path)}
	if hasOther(ev.Path) {
		readings = append(readings, string(otherPath(nil, ev.Path)))
	}
	for i := range set.Meters {
		m := &set.Meters[i]
		bare := m.match.path
		hasPath := m.match.need&edgeguard.FieldPath != 0 && !bare.open && !m.fold
		fits := func(path string) bool {
			return slices.ContainsFunc(bare.these, func(parts []string) bool {
				p := newPattern(parts)
				rest, ok := strings.CutPrefix(path, p.head)
				return ok && (p.tail == nil && rest == "" || p.tail != nil && p.tail.match(rest))
			})
		}
		if status := m.match.need&edgeguard.FieldStatus != 0; set.Indexed() && status &&
			(ev.Known&edgeguard.FieldStatus == 0 || !m.match.status.has(ev.Status)) {
			continue
		}
		if !hasPath || !set.Indexed() || ev.Known&edgeguard.FieldPath != 0 && slices.ContainsFunc(readings, fits) {
			found = append(found, i)
		}
	}
	return found
}

// holdIndex compares the meters with the definition, and asks every meter: one
// that is left out must not match.
func holdIndex(t *testing.T, set *Set, ev *edgeguard.Event) (matched int) {
	t.Helper()
	got := slices.Collect(set.MayMatch(ev, make([]uint64, 0, 1)).All)
	if want := slowMayMatch(set, ev); !slices.Equal(got, want) {
		t.Fatalf("%q: may match %v, want %v", ev.Path, got, want)
	}
	for i := range set.Meters {
		if _, ok := set.Meters[i].Match(ev); ok {
			if matched++; !slices.Contains(got, i) {
				t.Fatalf("%q: meter %d matches, and is not among %v", ev.Path, i, got)
			}
		}
	}
	return matched
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
			spec.Match.Method = []string{"POST"}
		case 3:
			spec.Costs = []Charge{{Match: Match{Path: texts()}, Cost: 2}}
		case 4:
			spec.When = `path contains "a"`
		}
		switch r.IntN(6) {
		case 0:
			spec.Match.Status = [][]string{{"404"}, {"2xx"}, {"403", "404-410"}, {"100-999"}}[r.IntN(4)]
		case 1:
			spec.Match.Not = &Match{Status: []string{"404"}}
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
			ev := edgeguard.Event{Kind: edgeguard.KindRequest, Method: "POST", Known: edgeguard.FieldMethod | edgeguard.FieldPath}
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
			if r.IntN(20) == 0 {
				ev.Known = edgeguard.FieldMethod
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
		specs = append(specs, Spec{Name: fmt.Sprint(i), Threshold: 1, Match: Match{Path: []string{fmt.Sprintf("/page-%d", i), fmt.Sprintf("/%d*", i)}}})
	}
	set, _ := Compile(specs)
	room := make([]uint64, 4)
	for _, target := range []string{"/page-7", "//page-7?a", "/1%2f../12"} {
		ev := edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: target}
		if allocs := testing.AllocsPerRun(100, func() { set.MayMatch(&ev, room) }); allocs != 0 {
			t.Errorf("%s: %v allocations", target, allocs)
		}
	}
}
