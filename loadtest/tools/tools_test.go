package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
	"edgeguard/loadtest/traffic"
)

// small is three attackers, a crowd that reaches the limit and no more, and visitors.
var small = traffic.Scenario{
	Name: "small", Limit: 30, Window: time.Minute, Nodes: 1, Attackers: 3,
	Requests: func(uint64) iter.Seq[traffic.Request] {
		return func(yield func(traffic.Request) bool) {
			for n := range 90 {
				for client := range uint32(24) {
					if most := []int{90, 90, 90, 30, 8}[min(client, 4)]; n < most && !yield(traffic.Request{Client: client, Cost: 1}) {
						return
					}
				}
			}
		}
	},
}

func edgeguardHere(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processor time is read from Linux's /proc")
	}
	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefusedAreWhoTheLogSays plays a scenario on all that is installed. Whoever answers before
// he has let the request pass refuses exactly whom the exact log of what was sent says. Nobody
// refuses others.
func TestRefusedAreWhoTheLogSays(t *testing.T) {
	began := time.Now()
	r, err := Run(t.Context(), Options{Edgeguard: edgeguardHere(t), scenario: &small, hurry: true, judged: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	leaked := float64(small.Limit) * time.Since(began).Seconds() / small.Window.Seconds()
	most := map[string]int{"limit-req": int(leaked+1) * int(small.Attackers), "forward-auth": 0, "stick-table": 0, "spoe": 0}
	for _, a := range r.Arms {
		j := a.Judged
		if j == nil {
			arm := allArms[slices.Index(Arms(), a.Name)]
			if arm.missing() == nil && (a.Name != "haproxy-log" || queueProblem() == nil) {
				t.Errorf("%s: %s", a.Name, a.Missing)
			}
			continue
		}
		if j.Over != int(small.Attackers) || j.Hit > 0 || j.Early > 0 || j.Failed > 0 {
			t.Errorf("%s: %+v", a.Name, *j)
		}
		if passed, exact := most[a.Name]; exact && (j.Caught != j.Over || j.Passed > passed) {
			t.Errorf("%s: caught %d of %d, and %d requests passed over the limit, at most %d by its bound", a.Name, j.Caught, j.Over, j.Passed, passed)
		}
	}
}

// cancelling ends a run when its notes say so.
type cancelling struct {
	at  string
	end context.CancelFunc
}

func (c cancelling) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.at) {
		c.end()
	}
	return len(p), nil
}

// TestInterrupt ends a run while programs start, and while they are asked: none runs on.
func TestInterrupt(t *testing.T) {
	edgeguard := edgeguardHere(t)
	for _, at := range []string{"play: starting", "play: 4 arms"} {
		folder, err := os.MkdirTemp("", "interrupt") // t.TempDir is too long for a socket's name
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
		t.Setenv("TMPDIR", folder)
		ctx, end := context.WithCancel(t.Context())
		_, err = Run(ctx, Options{Edgeguard: edgeguard, Arms: []string{"forward-auth", "spoe"}}, cancelling{at, end})
		if end(); !errors.Is(err, context.Canceled) {
			if _, found := find("nginx"); found != nil {
				t.Skip(found)
			}
			t.Errorf("%s: %v", at, err)
		}
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
		for _, file := range files {
			line, _ := os.ReadFile(file) // one that has ended meanwhile does not run on
			if bytes.Contains(line, []byte(folder)) {
				t.Errorf("%s: runs on: %q", at, line)
			}
		}
		if left, _ := os.ReadDir(folder); len(left) > 0 {
			t.Errorf("%s: %v is left", at, left)
		}
	}
}

func TestPick(t *testing.T) {
	if _, err := Run(t.Context(), Options{Arms: []string{"peers", "none"}}, io.Discard); err == nil || !strings.Contains(err.Error(), "stick-table") {
		t.Errorf("an arm that is not: %v", err)
	}
	picked, err := pick([]string{"peers", "fail2ban"})
	var names []string
	for _, a := range picked {
		names = append(names, a.name)
	}
	if got := fmt.Sprint(names); err != nil || got != "[nginx fail2ban haproxy peers]" {
		t.Error(got, err)
	}
}

// What is not installed is said in its row, and the rest goes on.
func TestMissing(t *testing.T) {
	a := &arm{name: "x", needs: []string{"no-such-program"}}
	r := &run{notes: io.Discard, scenario: small}
	r.result = r.newResult([]*arm{a})
	err := r.with(t.Context(), []*arm{a}, "play", rule{}, func(context.Context, []*site) error { return nil })
	if got := r.result.Arms[0].Missing; err != nil || !strings.Contains(got, "no-such-program is not installed") {
		t.Error(got, err)
	}
}

func TestCostIsOfTheSameRound(t *testing.T) {
	c := cost(&turns{server: []float64{5, 50, 8}, beside: []float64{1, 2, 3}, p50: []float64{2, 3, 4}, p99: []float64{9, 9, 9}},
		&turns{server: []float64{4, 40, 4}, p50: []float64{1, 1, 1}, p99: []float64{8, 10, 8}})
	if want := (Spread{7, 2, 12}); c.AddedCPU != want {
		t.Errorf("added: %v, want %v", c.AddedCPU, want)
	}
	if want := (Spread{1, -1, 1}); c.AddedP99 != want {
		t.Errorf("added to p99: %v, want %v", c.AddedP99, want)
	}
}
