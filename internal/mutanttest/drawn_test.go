//go:build mutants

package mutanttest

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	drawnFile = "testdata/drawn.txt"
	root      = "../.."
	survived  = "-"
)

var (
	draw  = flag.String("draw", "", "draw 100 mutants by this seed, a commit's hash, and write the list")
	whole = flag.Bool("whole", false, "run all tests for those that survived before")
)

var folders = []string{"aggregator", "blocklist", "detector", "ring", "rules", "shard"}

// TestDrawn holds that each mistake of the list that a test has found is found still: by
// that test, or by another of its package.
func TestDrawn(t *testing.T) {
	if *draw != "" {
		drawList(t)
		return
	}
	mutants := readList(t)
	alive, again := 0, 0
	for i := range mutants {
		m := &mutants[i]
		if m.by == survived && !*whole {
			alive++
			continue
		}
		t.Run(m.String(), func(t *testing.T) {
			if !m.find(t) {
				return
			}
			was := m.by
			if was != survived && m.run(t, "-run", "^"+regexp.QuoteMeta(was)+"$") {
				return
			}
			if m.run(t, "-short") || m.run(t) {
				again++
				t.Logf("found by %s, not by %q", m.by, was)
			} else if was == survived {
				alive++
			} else {
				t.Errorf("survives, and was found by %s", was)
			}
		})
	}
	if again > 0 {
		writeList(t, mutants)
	}
	t.Logf("%d mutants, %d survive", len(mutants), alive)
}

// mutant is a row of the list.
type mutant struct {
	Point
	by string // the test that finds it
}

// find looks for the place of a row in the code as it is.
func (m *mutant) find(t *testing.T) bool {
	points, err := Points(root, m.Folder)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(points, func(p Point) bool { return p.String() == m.Point.String() })
	if i < 0 {
		t.Errorf("%s has no such place any more: name in %s where it is now", m.Folder, drawnFile)
		return false
	}
	m.Point = points[i]
	return true
}

// run reports whether tests find the mutant, and notes which.
func (m *mutant) run(t *testing.T, args ...string) bool {
	t.Helper()
	file, source, err := m.Mutated()
	if err != nil {
		t.Fatal(err)
	}
	o := Run(t, file, source, append([]string{"-vet=off", "-failfast", "-timeout", "3m", root + "/" + m.Folder}, args...)...)
	if !o.Built {
		t.Skipf("does not build: %.300s", o.Output)
	}
	if o.Failed != "" {
		m.by = o.Failed
	}
	return o.Failed != ""
}

// drawList draws, and goes on where it was stopped.
func drawList(t *testing.T) {
	var points []Point
	for _, folder := range folders {
		of, err := Points(root, folder)
		if err != nil {
			t.Fatal(err)
		}
		points = append(points, of...)
	}
	var mutants []mutant
	if _, err := os.Stat(drawnFile); err == nil {
		mutants = readList(t)
	}
	for _, p := range Drawn(points, *draw) {
		if len(mutants) == 100 {
			break
		}
		if slices.ContainsFunc(mutants, func(m mutant) bool { return m.String() == p.String() }) {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			m := mutant{Point: p, by: survived}
			m.run(t, "-short")
			mutants = append(mutants, m)
			writeList(t, mutants)
		})
	}
}

func readList(t *testing.T) (mutants []mutant) {
	data, err := os.ReadFile(drawnFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 6 {
			t.Fatalf("%s: %q has %d columns, not 6", drawnFile, line, len(fields))
		}
		m := mutant{by: fields[0]}
		m.Folder, m.Func, m.Text, m.Mistake = fields[1], fields[2], fields[4], fields[5]
		if _, err := fmt.Sscan(fields[3], &m.Nth); err != nil {
			t.Fatal(err)
		}
		mutants = append(mutants, m)
	}
	return mutants
}

func writeList(t *testing.T, mutants []mutant) {
	var text strings.Builder
	text.WriteString("# the test that finds it, or - for none; folder; function; which of its places with this text; text; mistake\n")
	for _, m := range mutants {
		fmt.Fprintf(&text, "%s\t%s\t%s\t%d\t%s\t%s\n", m.by, m.Folder, m.Func, m.Nth, m.Text, m.Mistake)
	}
	if err := os.WriteFile(drawnFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
