package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// benchRun names the benchmarks of one package that are run together.
type benchRun struct {
	dir     string // below the project's folder
	pattern string // of -bench
	// times is for benchmarks that set up millions of keys or whole programs and
	// report what they find: one round of so many iterations; 0 for the others.
	times int
}

// command is what a reader types for the same benchmarks.
func (b benchRun) command() string {
	words := "go test"
	if b.ownModule() {
		words = "go test -C " + b.dir
	}
	words += " -run '^$' -bench '" + b.pattern + "'"
	if b.times > 0 {
		words += fmt.Sprintf(" -benchtime %dx", b.times)
	}
	if b.ownModule() {
		return words
	}
	return words + " ./" + b.dir
}

// ownModule reports whether the package is a module of its own: go test must start
// there.
func (b benchRun) ownModule() bool { return b.dir == peersDir || b.dir == envoyDir }

// found is what the rounds of a run reported: benchmark → unit → one value a
// round.
type found struct {
	dir    string
	byName map[string]map[string][]float64
}

// bench builds the package's tests once and runs them round by round, so that
// what is compared takes turns. A run is made once and remembered.
func (r *runner) bench(b benchRun) (*found, error) {
	if r.asks != nil {
		r.asks(b)
		return nil, errors.New("nothing is measured")
	}
	if done, ok := r.benches[b]; ok {
		return done.found, done.err
	}
	result, err := r.runBench(b)
	if r.benches == nil {
		r.benches = map[benchRun]benched{}
	}
	r.benches[b] = benched{result, err}
	return result, err
}

type benched struct {
	found *found
	err   error
}

func (r *runner) runBench(b benchRun) (*found, error) {
	binary, err := r.build(b)
	if err != nil {
		return nil, err
	}
	rounds := r.rounds
	if b.times > 0 {
		rounds = 1
	}
	result := &found{dir: b.dir, byName: map[string]map[string][]float64{}}
	for n := range rounds {
		fmt.Fprintf(r.notes, "%s -bench %s, round %d of %d\n", b.dir, b.pattern, n+1, rounds)
		if err := r.round(b, binary, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// build builds the package's tests.
func (r *runner) build(b benchRun) (binary string, err error) {
	dir := filepath.Join(r.root, b.dir)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("there is no folder %s", b.dir)
	}
	binary = filepath.Join(r.dir, strings.ReplaceAll(b.dir, "/", "-")+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil // for another pattern
	}
	fmt.Fprintf(r.notes, "%s: building its benchmarks\n", b.dir)
	if text, err := r.command(dir, "go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c in %s: %w: %s", b.dir, err, firstLine(text))
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%s has no tests", b.dir)
	}
	return binary, nil
}

// round runs the benchmarks once and adds what they say.
func (r *runner) round(b benchRun, binary string, result *found) error {
	benchtime := r.benchtime
	if b.times > 0 {
		benchtime = fmt.Sprintf("%dx", b.times)
	}
	text, err := r.command(filepath.Join(r.root, b.dir), binary, "-test.run", "^$", "-test.bench", b.pattern,
		"-test.benchtime", benchtime, "-test.benchmem", "-test.timeout", "30m").CombinedOutput()
	if err != nil {
		return fmt.Errorf("benchmarks of %s: %w: %s", b.dir, err, firstLine(text))
	}
	result.add(text)
	return nil
}

// cores is the suffix with which go test names GOMAXPROCS.
var cores = regexp.MustCompile(`-\d+$`)

// add reads the output of one round: lines of a name, a count, and pairs of
// value and unit (golang.org/design/14313-benchmark-format).
func (f *found) add(text []byte) {
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := cores.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		if f.byName[name] == nil {
			f.byName[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				f.byName[name][fields[i+1]] = append(f.byName[name][fields[i+1]], v)
			}
		}
	}
}

// values returns one value a round.
func (f *found) values(name, unit string) ([]float64, error) {
	units, ok := f.byName[name]
	if !ok {
		return nil, fmt.Errorf("%s has no benchmark %s", f.dir, name)
	}
	if len(units[unit]) == 0 {
		return nil, fmt.Errorf("benchmark %s of %s reports no %s", name, f.dir, unit)
	}
	return units[unit], nil
}

func firstLine(text []byte) string {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return string(line)
		}
	}
	return "no output"
}
