package scale

import (
	"fmt"
	"os"
	"testing"
	"time"

	"edgeguard/internal/program"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if underRace {
		fmt.Println("skipped under the race detector: what is tried here is another process, built without it; its parts' own tests run under it")
		return 0
	}
	defer program.Clean()
	return m.Run()
}

// small is what a test measures: all of it, of a small node.
func small(t *testing.T) *Options {
	t.Helper()
	programHere, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	o := Usual()
	o.Program, o.Blocks, o.Keys, o.Asked, o.Pages, o.Rounds, o.Turn, o.Connections, o.Notes = programHere, 3000, 30_000, 10, 10, 1, 300*time.Millisecond, 4, t.Output()
	return &o
}

// Each figure is measured, on a node that has what it is to have, and after the last
// page is closed nothing remains.
func TestMeasure(t *testing.T) {
	o := small(t)
	f, err := Measure(t.Context(), *o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Newest, OfRule, OfOrigin, OrderFirst, OrderThen, Address, RuleFirst, RuleThen, Outcome, Live} {
		if f.Answers[name] <= 0 {
			t.Errorf("%s took %v", name, f.Answers[name])
		}
	}
	if len(f.Decision) != 1 || len(f.Throughput) != 1 || len(f.Memory) != 1 || len(f.Processor) != 1 || f.Processor[0] <= 0 || f.Throughput[0] <= 0 || f.Decision[0] <= 0 || f.Requests <= 0 || f.Seconds <= 0 || f.Goroutines > 0 || f.Streams != 8 {
		t.Errorf("%+v", f)
	}
}

// The quantile of a histogram is where a straight line in its bucket has it.
func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		counts []float64
		want   float64
	}{{[]float64{100, 100, 100}, 0.99}, {[]float64{0, 100, 100}, 1.99}, {[]float64{98, 100, 100}, 1.5}, {[]float64{0, 0, 100}, 2}, {nil, 0}} {
		h := histogram{bounds: []float64{1, 2, 1e9}[:len(c.counts)], counts: c.counts}
		if got := h.quantile(0.99); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v: %v, want %v", c.counts, got, c.want)
		}
	}
}
