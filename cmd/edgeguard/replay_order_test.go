package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/fulltest"
)

// line is one line of a log with its time.
type line struct {
	at   time.Time
	text string
}

// randomLines makes a log of some hours in the order of time, with bursts.
func randomLines(rng *rand.Rand) (lines []line) {
	at := time.Date(2026, 2, 20, 10, 0, 0, 0, time.UTC)
	for range 3000 {
		at = at.Add(time.Duration(rng.IntN(10)) * time.Second)
		lines = append(lines, line{at, fmt.Sprintf(`192.0.2.%d - - [%s] "GET /%d HTTP/1.1" 200 5 "-" "a"`,
			1+rng.IntN(1+rng.IntN(40)), at.Format("02/Jan/2006:15:04:05 -0700"), rng.IntN(1000))})
	}
	return lines
}

func writeLines(t *testing.T, name string, lines []line) string {
	t.Helper()
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.text + "\n")
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// replaySaid runs the command and gives what it printed.
func replaySaid(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	e := &command.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	if code := run(context.Background(), e, args); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, errs.String())
	}
	return out.String(), errs.String()
}

// A replay of a file that is out of order says what a replay of the sorted file
// says, whether it sorts by itself or is told to, in JSON and for people.
func TestReplaySortsByItself(t *testing.T) {
	fulltest.Only(t)
	for range 2 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		lines := randomLines(rng)
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		shuffled := writeLines(t, "access.log", lines)
		slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
		sorted := writeLines(t, "access.log", lines)
		rule := []string{"--threshold", "12", "--window", "1m", "--guard", "1"}
		for _, command := range []string{"replay", "tune"} {
			for _, form := range [][]string{{"--json"}, {"--rows", "0"}} {
				all := slices.Concat([]string{command}, rule, form)
				want, _ := replaySaid(t, append(all, sorted)...)
				byItself, _ := replaySaid(t, append(all, shuffled)...)
				byFlag, _ := replaySaid(t, append(all, "--sort", shuffled)...)
				plain := func(text, file string) string {
					text = strings.Replace(text, `"sorted":true`, `"sorted":false`, 1)
					text = strings.ReplaceAll(text, file, sorted)
					if before, after, ok := strings.Cut(text, "so all were sorted by time\n"); ok {
						text = before[:strings.LastIndexByte(before, '\n')+1] + after
					}
					return text
				}
				if got := plain(byItself, shuffled); got != want {
					t.Fatalf("seed %d: %v: by itself\n%s\nwant\n%s", seed, all, got, want)
				}
				if got := plain(byFlag, shuffled); got != want {
					t.Fatalf("seed %d: %v: by flag\n%s\nwant\n%s", seed, all, got, want)
				}
				if command == "replay" && !strings.Contains(want, "block") {
					t.Fatalf("seed %d: no blocks", seed)
				}
				if form[0] != "--json" && !strings.Contains(byItself, "came too late to be counted, so all were sorted by time\nrule") &&
					!strings.Contains(byItself, "came too late to be counted, so all were sorted by time\n\nrule") {
					t.Fatalf("%v does not say that it sorted:\n%s", all, byItself)
				}
			}
		}
	}
}

// What is out of order and cannot be sorted is said above the verdict: what is
// read once, and what does not fit into the memory.
func TestReplayOutOfOrderIsSaidFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	lines := randomLines(rng)
	for i := range lines { // no two paths are the same
		lines[i].text = strings.Replace(lines[i].text, "GET /", fmt.Sprintf("GET /%d/%s/", i, strings.Repeat("x", 6000)), 1)
	}
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	log := writeLines(t, "access.log", lines)
	small := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(small, []byte("memory: 16MiB\nrules: [{name: site, threshold: 12, window: 1m, guard: 1}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, _ := replaySaid(t, "replay", "--config", small, log)
	warning, rule := strings.Index(text, "NOT IN ORDER"), strings.Index(text, "rule site")
	if warning < 0 || warning > rule || !strings.Contains(text, "`memory` (16 MiB)") {
		t.Errorf("too large: %s", text)
	}
	out, errs := replaySaid(t, "replay", "--config", small, "--json", log)
	if !strings.Contains(errs, "NOT IN ORDER") || !strings.Contains(out, `"sorted":false`) {
		t.Errorf("too large, in JSON: %s\n%s", out, errs)
	}

	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	e := &command.Env{Stdin: bytes.NewReader(content), Stdout: &stdout, Stderr: &bytes.Buffer{}}
	if code := run(context.Background(), e, []string{"replay", "--threshold", "12", "--guard", "1", "--window", "1m", "-"}); code != 0 {
		t.Fatal(code)
	}
	if text := stdout.String(); !strings.Contains(text, "NOT IN ORDER") || strings.Index(text, "NOT IN ORDER") > strings.Index(text, "rule default") {
		t.Errorf("from a pipe: %s", text)
	}
}

// Of a named pipe no line is lost to a look at its beginning.
func TestReplayOfAPipe(t *testing.T) {
	lines := randomLines(rand.New(rand.NewPCG(1, 1)))
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipe can be made here:", err)
	}
	content, err := os.ReadFile(writeLines(t, "access.log", lines))
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, content, 0) }()
	text, _ := replaySaid(t, "replay", pipe)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if !strings.Contains(text, "combined log, 3,000 lines\n") {
		t.Error(text)
	}
}
