package count

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Figures are what an operation costs: instructions, mispredicted branches, misses of
// the first-level data cache, and of the last level.
type Figures [4]float64

var units = [len(Figures{})]string{"instructions/op", "mispredicted/op", "D1-misses/op", "LL-misses/op"}

// events says which of cachegrind's events make a figure.
var events = [len(Figures{})][]string{{"Ir"}, {"Bcm", "Bim"}, {"D1mr", "D1mw"}, {"ILmr", "DLmr", "DLmw"}}

// tolerance is how far the instructions may be off the table.
const tolerance = 0.05

// parseCachegrind reads the sums of a run out of the file that cachegrind leaves.
// What was not simulated is 0.
func parseCachegrind(text string) (f Figures, err error) {
	var names, values []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "events:"); ok {
			names = strings.Fields(rest)
		} else if rest, ok := strings.CutPrefix(line, "summary:"); ok {
			values = strings.Fields(rest)
		}
	}
	if len(names) == 0 || len(names) != len(values) {
		return f, errors.New("cachegrind's file has no sums")
	}
	for k, value := range values {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return f, err
		}
		for i := range f {
			if slices.Contains(events[i], names[k]) {
				f[i] += n
			}
		}
	}
	return f, nil
}

// File is the committed table, from the root of the project.
const File = "loadtest/instructions/table.txt"

// Committed is the table that is kept in the project.
type Committed struct {
	version string // of Go
	Rows    map[string]Figures
}

// Text returns rows as Go writes its benchmarks, with the old instructions of
// those that have them.
func Text(ops []Operation, rows, old map[string]Figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, "go: %s\ngoos: linux\ngoarch: amd64\npkg: edgeguard/loadtest/instructions\n", runtime.Version())
	for _, o := range ops {
		fmt.Fprintf(&b, "# %s\nBenchmark%s\t%d", o.Does, o.Name, o.Calls*o.Items)
		for i, n := range rows[o.Name] {
			fmt.Fprintf(&b, "\t%.*f %s", min(i, 2), n, units[i])
		}
		if was, ok := old[o.Name]; ok {
			fmt.Fprintf(&b, "\t%.0f table/op", was[0])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseTable reads such a text.
func ParseTable(from string) (Committed, error) {
	t := Committed{Rows: map[string]Figures{}}
	for line := range strings.Lines(from) {
		if rest, ok := strings.CutPrefix(line, "go: "); ok {
			t.version = strings.TrimSpace(rest)
		}
		rest, ok := strings.CutPrefix(line, "Benchmark")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		var f Figures
		for i := range f {
			if at := slices.Index(fields, units[i]); at > 0 {
				f[i], _ = strconv.ParseFloat(fields[at-1], 64)
			}
		}
		if f[0] <= 0 {
			return t, fmt.Errorf("%s: no instructions in %q", File, line)
		}
		t.Rows[fields[0]] = f
	}
	return t, nil
}

// Skip returns why nothing here can be compared with the table, empty if it can.
func (t *Committed) Skip(arch, version string) string {
	if arch != "amd64" {
		return "the table is of amd64, this is " + arch
	}
	if version != t.version {
		return fmt.Sprintf("the table is of %s, this is %s", t.version, version)
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		return "valgrind is not installed"
	}
	return ""
}

// Off returns the operations whose instructions are off the table.
func (t *Committed) Off(rows map[string]Figures) (names []string) {
	for name, f := range rows {
		if was, ok := t.Rows[name]; ok && math.Abs(f[0]/was[0]-1) > tolerance {
			names = append(names, name)
		}
	}
	return names
}

// Compare names the operations whose instructions are off the table, and those
// that are only there or only here.
func (t *Committed) Compare(rows map[string]Figures) error {
	var wrong []error
	for name := range rows {
		if _, ok := t.Rows[name]; !ok {
			wrong = append(wrong, fmt.Errorf("%s is not in the table", name))
		}
	}
	for _, name := range t.Off(rows) {
		now, was := rows[name][0], t.Rows[name][0]
		wrong = append(wrong, fmt.Errorf("%s takes %.0f instructions, %+.1f %% of the table's %.0f", name, now, 100*(now/was-1), was))
	}
	for name := range t.Rows {
		if _, ok := rows[name]; !ok {
			wrong = append(wrong, fmt.Errorf("%s of the table was not counted", name))
		}
	}
	if wrong == nil {
		return nil
	}
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(append(wrong, errors.New("if that is meant, go run ./loadtest/instructions -update, and say why; times decide, not instructions"))...)
}
