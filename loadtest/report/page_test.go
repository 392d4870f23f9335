package report

import (
	"bytes"
	"errors"
	"flag"
	"io"
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
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/tools"
)

var update = flag.Bool("update", false, "write the golden files")

const evil = `</td><script>alert("1")</script>|` + "\n## x"

// someReport is small and the same each time; names and reasons in it are hostile.
func someReport() *Report {
	r := &Report{
		Seed: 7, Full: true, Time: Stamp{Begun: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: time.Minute, Commit: "01234567", Processor: "a processor " + evil, Cores: 2,
			System: "linux/amd64", Go: "go1", Rounds: 3, Load: [2]string{"0.10", "1.50"}},
		Groups: []Table{
			{Name: "instructions", Title: "Instructions", Note: "What `one` costs.", Rows: []Figure{
				{What: "a verdict of one rule", Goal: "stated", Time: 836, Measured: "836", Command: "x"},
				{What: "a verdict of two rules, one counts", Goal: "≤ 900", Time: 969, Measured: "969", Verdict: "short", Command: "x"},
				{What: "200 rules of a path, none matches", Goal: "≤ 2000", Missing: true, Measured: "not measured: " + evil, Command: "x"},
			}},
			{Name: "rules", Title: "One rule: `Meter.Match`", Note: "A rule.", Rows: []Figure{{What: "all four terms hold", Goal: "≤ 20 ns", Time: 15, Measured: "15 ns", Verdict: "ok", Command: "go test -bench 'X|Y'"}}},
		},
	}
	sentence := judge.Sentence{Requests: 1000, Over: 5, RefusedFalsely: 2, Most: 200, Limit: 100, Least: -5, Greatest: 3}
	r.Parts.Failed = []string{"tools: not measured: " + evil}
	r.Parts.Algorithms = &algorithms.Result{
		Limiters:  []algorithms.LimiterInfo{{Name: "fixed-window", What: "one counter", Stated: "a limit"}, {Name: "ring-1", What: "60 slots", Stated: "one slot"}},
		Scenarios: []algorithms.Played{{Name: "boundary", Limit: 100, Nodes: 1, Rows: []algorithms.Row{{Limiter: "fixed-window", Sentence: sentence}, {Limiter: "ring-1"}}}},
		Claims:    []algorithms.Claim{{Says: evil, Found: "200 of 100"}},
		Memory:    []algorithms.Held{{Limiter: "ring-1", Clients: 1000, Slots: 1, BytesAKey: 47, TotalBytes: 47000}},
		Speed:     []algorithms.Speed{{Limiter: "ring-1", Keys: "cold", Spread: algorithms.Spread{MedianNS: 100, LeastNS: 90, MostNS: 120}}},
		Scale:     []algorithms.Scale{{What: "cold", Goroutines: 1, Spread: algorithms.Spread{MedianNS: 100}}, {What: "cold", Goroutines: 8, Spread: algorithms.Spread{MedianNS: 60}}},
	}
	r.Parts.OverRedis = &overredis.Result{
		Costs:    []overredis.Cost{{Way: "incr-expire", Commands: 2, In: 80, Out: 8, Pipelined: 3}, {Way: "pushes", Commands: 0.01, In: 1, Out: 1, Pipelined: 0.1}},
		Claims:   []overredis.Claimed{{Claim: "Retry-After is oldest + window", Said: 29, Is: 59, Unit: "s"}},
		Decision: overredis.Decided{Memory: 100, Script: 50_000, Times: 500},
		Memory:   []overredis.Filled{{Way: "incr-expire", State: "one request", Bytes: 117, Said: 16}},
	}
	r.Parts.Fleet = &fleet.Result{Rows: []fleet.Row{
		{Part: "guard", Guard: "0.95", SkewMS: 0, Crossed: 10, Caught: 10, FalseBlocks: 3, MostOver: 2}, {Part: "guard", Guard: "0.95", SkewMS: 5000, Crossed: 10, Caught: 8, MostOver: 40},
		{Part: "guard", Guard: "1", SkewMS: 0, Crossed: 10, Caught: 9, MostOver: 5}, {Part: "guard", Guard: "1", SkewMS: 5000, Crossed: 10, Caught: 4, MostOver: 80},
		{Part: "fault", Fault: "Redis away", Crossed: 40, MostMS: 2500}, {Part: "quiet", Quiet: true, Nodes: 1, Core: 0.1, Keys: 2}, {Part: "quiet", Quiet: true, Nodes: 1000, Core: 60, Keys: 900},
	}, Ends: []fleet.End{{Quiet: true, PerNode: 20, Nodes: 1333, Beyond: true}}}
	r.Parts.Processes = &real.Result{RealTime: real.Measured{SameBlocks: true, Seconds: 10, RedisCPU: 100, NodeCPU: []float64{1, 1}, Compare: []real.Compared{{What: "keys", Percent: -1.5}, {What: "splits", Percent: 30, Few: true}}}}
	r.Parts.Tools = &tools.Result{Scenario: "a scenario", Limit: 100, Window: 60, Rounds: 3, Conns: 8, Rate: 1000, Arms: []tools.Arm{
		{Name: "nginx", What: "nginx alone", Cost: &tools.Cost{ServerCPU: tools.Spread{Median: 15}}},
		{Name: "log", What: "edgeguard by the log", Base: "nginx", Cost: &tools.Cost{AddedCPU: tools.Spread{Median: 2, Least: 1, Most: 3}},
			Judged: &tools.Judged{Over: 10, Caught: 9, Visitors: 100, Passed: 40, Block: tools.Spread{Median: .05, Least: .04, Most: .09}, Blocks: []float64{.05}}},
		{Name: "fail2ban", What: evil, Base: "nginx", Missing: evil},
	}}
	return r
}

// The page with plots is as the golden file; look at it in a browser after a change.
func TestPage(t *testing.T) {
	var out bytes.Buffer
	if err := someReport().WriteHTML(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.html", out.Bytes())
	text := out.String()
	if strings.Contains(text, "<script") {
		t.Error("a text of a program is part of the page")
	}
	for _, outside := range []string{"http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(text, outside) {
			t.Errorf("the page is not by itself: it has %s", outside)
		}
	}
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

// What was written as JSON is shown as it was.
func TestReadsWhatItWrote(t *testing.T) {
	var text, was, is bytes.Buffer
	r := someReport()
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.WriteHTML(&was), again.WriteHTML(&is)); err != nil || !bytes.Equal(was.Bytes(), is.Bytes()) {
		t.Errorf("the page is another one (%v)", err)
	}
	for _, wrong := range []string{"", "{", `{"other": 1}`} {
		if _, err := Read(strings.NewReader(wrong)); err == nil || !strings.Contains(err.Error(), "-json") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A report of the same seed is the same but for what says time.
func TestJSONIsTheSame(t *testing.T) {
	var texts [2]bytes.Buffer
	for i := range texts {
		r, err := Run(t.Context(), Options{Root: "../..", Seed: 3, Goals: true}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		r.Time = Stamp{}
		if err := r.WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("two reports of one seed differ")
	}
}

// A link from another page to a place on one of these must lead there.
func TestLinksLeadToWhatIsWritten(t *testing.T) {
	places := map[string]bool{"figures.md#what-is-short": true}
	r := someReport()
	for _, s := range r.questions() {
		page := "benchmarks.md#"
		if s.Aside {
			page = "figures.md#"
		}
		places[page+slug(s.Question)] = true
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
