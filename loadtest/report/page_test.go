package report

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgeguard/loadtest/algorithms"
	"edgeguard/loadtest/algorithms/overredis"
	"edgeguard/loadtest/fleet"
	"edgeguard/loadtest/fleet/real"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/tools"
)

var update = flag.Bool("update", false, "write the golden files")

const evil = `</td><script>alert("1")</script>|` + "\n## x"

// someReport is small and the same each time; names and reasons in it are hostile.
func someReport() *Report {
	r := &Report{
		Full: true, Time: Stamp{Begun: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: time.Minute, Commit: "01234567", Machine: "a processor " + evil, Rounds: 3, Load: [2]string{"0.10", "1.50"}},
		Groups: []Table{
			{Name: "instructions", Title: "Instructions", Note: "What `one` costs.", Rows: []Figure{
				{What: "a verdict of one rule", Goal: "stated", Measured: "836", Command: "x", answers: []question{ruleQuestion}},
				{What: "a verdict of two rules, one counts", Goal: "≤ 900", Measured: "969", Verdict: "short", Command: "x", answers: []question{fastQuestion, ruleQuestion}},
				{What: "200 rules of a path, none matches", Goal: "≤ 2000", Missing: true, Measured: "not measured: " + evil, Command: "x", answers: []question{ruleQuestion}},
			}},
			{Name: "rules", Title: "One rule: `Meter.Match`", Note: "A rule.", Rows: []Figure{{What: "all four terms hold", Goal: "≤ 20 ns", Measured: "15 ns", Verdict: "ok", Command: "go test -bench 'X|Y'"}}},
		},
	}
	sentence := judge.Sentence{Requests: 1000, Over: 5, RefusedFalsely: 2, Most: 200, Limit: 100, Least: -5, Greatest: 3}
	r.Parts.Failed = []string{"tools: not measured: " + evil}
	r.Parts.Algorithms = &algorithms.Result{
		Limiters:  []limiter.Algorithm{{Name: "fixed-window", What: "one counter"}, {Name: "ring-1", What: "60 slots"}},
		Scenarios: []algorithms.Played{{Name: "boundary", SlotS: 1, Nodes: 1, Rows: []algorithms.Row{{Limiter: "fixed-window", Sentence: sentence}, {Limiter: "ring-1"}}}},
		Claims:    []algorithms.Claim{{Says: evil, Found: "200 of 100"}},
		Memory:    []algorithms.Held{{Limiter: "ring-1", Clients: 1000, Slots: 1, BytesAKey: 47, TotalBytes: 47000}},
		Speed:     []algorithms.Speed{{Limiter: "ring-1", Keys: "cold", Spread: algorithms.Spread{MedianNS: 100, LeastNS: 90, MostNS: 120}}},
	}
	r.Parts.OverRedis = &overredis.Result{
		Costs:    []overredis.Cost{{Way: "incr-expire", Commands: 2, In: 80, Out: 8, Pipelined: 3}},
		Claims:   []overredis.Claimed{{Claim: "Retry-After is oldest + window", Said: 29, Is: 59, Unit: "s"}},
		Decision: overredis.Decided{Memory: 100, Script: 50_000, Times: 500},
		Memory:   []overredis.Filled{{Way: "incr-expire", State: "one request", Bytes: 117, Said: 16}},
	}
	r.Parts.Fleet = &fleet.Result{Rows: []fleet.Row{
		{Part: "guard", Scenario: "one-window-evenly", Guard: "0.95", SkewMS: 0, Crossed: 10, Caught: 10, FalseBlocks: 3, MostOver: 2}, {Part: "guard", Scenario: "one-window-evenly", Guard: "0.95", SkewMS: 5000, Crossed: 10, Caught: 8, MostOver: 40},
		{Part: "guard", Scenario: "one-window-evenly", Guard: "1", SkewMS: 0, Crossed: 10, Caught: 9, MostOver: 5}, {Part: "guard", Scenario: "one-window-evenly", Guard: "1", SkewMS: 5000, Crossed: 10, Caught: 4, MostOver: 80},
		{Part: "fault", Fault: "Redis away", Crossed: 40, MostMS: 2500}, {Part: "quiet", Quiet: true, Nodes: 1, Core: 0.1, Keys: 2}, {Part: "quiet", Quiet: true, Nodes: 1000, Core: 60, Keys: 900},
	}, Ends: []fleet.End{{Quiet: true, PerNode: 20, Nodes: 1333, Beyond: true}}}
	r.Parts.Processes = &real.Result{Nodes: 2, RealTime: real.Measured{SameBlocks: true, Seconds: 10, RedisCPU: 100, Compare: []real.Compared{{What: "keys", Percent: -1.5}, {What: "splits", Percent: 30, Few: true}}}}
	r.Parts.Tools = &tools.Result{Scenario: "a scenario", Limit: 100, Window: 60, Rounds: 3, Conns: 8, Rate: 1000, Arms: []tools.Arm{
		{Name: "nginx", What: "nginx alone", Cost: &tools.Cost{ServerCPU: tools.Spread{Median: 15}}},
		{Name: "log", What: "edgeguard, log and geo list", Base: "nginx", Cost: &tools.Cost{AddedCPU: tools.Spread{Median: 2, Least: 1, Most: 3}},
			Judged: &tools.Judged{Over: 10, Caught: 9, Visitors: 100, Passed: 40, Block: tools.Spread{Median: .05, Least: .04, Most: .09}, Blocks: []float64{.05}}},
		{Name: "fail2ban", What: "fail2ban", Base: "nginx", Missing: evil},
	}}
	return r
}

// The pages of docs are written whole: nothing of what was there before is kept, and what
// was not measured says so.
func TestPagesOfDocs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"benchmarks.md", "figures.md"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a row of last year"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := someReport().WritePages(dir); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	someReport().Print(&printed)
	golden(t, "printed.txt", printed.Bytes())
	for _, name := range []string{"benchmarks.md", "figures.md", "img/boundary.svg", "img/time-to-block.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name != "figures.md" { // which has the goals of all groups
			golden(t, filepath.Base(name), text)
		}
		if strings.Contains(string(text), "last year") || strings.Contains(string(text), "<script") || strings.Contains(string(text), "\n## x") {
			t.Errorf("%s has what is not its own", name)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s is not as the golden file (%v): look at it, and run go test ./loadtest/report -update", name, err)
	}
}

// Each question quotes figures: one that lost its mark would be missed only by who reads
// the page.
func TestQuestionsQuoteFigures(t *testing.T) {
	quotes := map[question]int{}
	for _, g := range groups() {
		for _, f := range g.lines {
			for _, q := range f.answers {
				quotes[q]++
			}
		}
	}
	if want := map[question]int{fastQuestion: 11, blockQuestion: 5, redisQuestion: 9, ruleQuestion: 12}; !maps.Equal(quotes, want) {
		t.Errorf("%v figures are quoted, want %v", quotes, want)
	}
}

// A link from another page to a place on one of these must lead there.
func TestLinksLeadToWhatIsWritten(t *testing.T) {
	places := map[string]bool{"figures.md#what-is-short": true}
	r := someReport()
	for _, s := range r.questions() {
		places["benchmarks.md#"+slug(s.Question)] = !s.Aside
	}
	for _, g := range groups() {
		places["figures.md#"+slug(g.title)] = true
	}
	links := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, link := range anchored.FindAllStringSubmatch(string(text), -1) {
				if links++; !places[link[1]] {
					t.Errorf("%s: %s leads nowhere", file, link[1])
				}
			}
		}
	}
	if links < 10 {
		t.Errorf("only %d links were found", links)
	}
}

var anchored = regexp.MustCompile(`\((?:[\w./-]*/)?((?:benchmarks|figures)\.md#[^)]*)\)`)

// slug is the name of a heading's place, as GitHub makes it.
func slug(heading string) string {
	heading = strings.ToLower(strings.ReplaceAll(heading, " ", "-"))
	return regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(heading, "")
}
