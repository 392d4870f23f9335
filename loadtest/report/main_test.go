package report

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestWrongOptions(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Only: []string{"song"}}, `no part or group "song" to measure, there are`},
		{Options{Only: []string{"add", "log", "x"}}, `"x"`},
	} {
		if _, err := Run(t.Context(), tt.o, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one with %q", tt.o, err, tt.want)
		}
	}
}

func TestWhatCannotBeMeasuredIsSaidAndTheRestGoesOn(t *testing.T) {
	g := group{lines: []figure{
		metric("missing", atMost(1, "ns"), benchRun{dir: "no/such/folder", pattern: "X"}, "X", "ns/op"),
		{what: "there", goal: atLeast(2, "×"), command: "true", measure: func(*runner) (reading, error) { return reading{3, "6 ns against 2 ns"}, nil }},
	}}
	rows := newRunner(t).measure(g).Rows
	if r := rows[0]; r.Measured != "not measured: there is no folder no/such/folder" || r.Verdict != "" || !r.Missing {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Measured != "3× (6 ns against 2 ns)" || r.Verdict != "ok" || r.Missing {
		t.Errorf("%+v", r)
	}
}

// Each figure of a benchmark names a package that is there and a benchmark in it: one
// that was moved would be missed only by who reads the report.
func TestBenchmarksAreThere(t *testing.T) {
	var runs []benchRun
	asking := &runner{asks: func(b benchRun) { runs = append(runs, b) }}
	for _, g := range groups() {
		for _, f := range g.lines {
			if strings.Contains(f.command, "-bench ") {
				_, _ = f.measure(asking)
			}
		}
	}
	if len(runs) < 80 {
		t.Errorf("only %d figures of benchmarks", len(runs))
	}
	for _, b := range runs {
		pattern := regexp.MustCompile(strings.Split(b.pattern, "/")[0])
		if !hasBenchmark(t, filepath.Join("../..", b.dir), pattern) {
			t.Errorf("%s has no benchmark that %q fits", b.dir, b.pattern)
		}
	}
}

var benchmark = regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`)

func hasBenchmark(t *testing.T, dir string, pattern *regexp.Regexp) bool {
	files, err := filepath.Glob(dir + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range benchmark.FindAllSubmatch(text, -1) {
			if pattern.Match(found[1]) {
				return true
			}
		}
	}
	return false
}

// What an interrupt ends takes with it what it started, and its files.
func TestInterrupt(t *testing.T) {
	r := newRunner(t)
	ctx, stop := context.WithCancel(t.Context())
	r.ctx = ctx
	started := filepath.Join(r.dir, "started")
	ended := make(chan error, 1)
	go func() {
		_, err := r.lap(shell("sleep 1000 & echo $! > " + started + ".half; mv " + started + ".half " + started + "; wait"))
		ended <- err
	}()
	var pid string
	for pid == "" {
		if text, err := os.ReadFile(started); err == nil {
			pid = strings.TrimSpace(string(text))
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	for running(pid) {
		time.Sleep(time.Millisecond)
	}
}

// running reports whether a process is there and is not dead.
func running(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
