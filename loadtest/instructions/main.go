// Command instructions counts what one operation of edgeguard costs the
// processor: instructions, mispredicted branches, and misses of the first-level
// data cache and of the last level. Valgrind's cachegrind simulates both caches
// and predictor, so that the figures do not depend on the machine or on who else
// is on it:
//
//	go run ./loadtest/instructions             counts, beside the committed table
//	go run ./loadtest/instructions -update     writes loadtest/instructions/table.txt
//	go run ./loadtest/instructions -check      fails where the instructions are 5 % off the table
//	go run ./loadtest/instructions -only Add   the operations whose names begin so
//
// An operation's figure is the difference of two runs, of which one makes more
// calls; all else in them is the same. It is for amd64, whose instructions the
// table has, and starts at the root of the project.
//
// Fewer instructions are not always less time: what prefetches costs some.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const tableFile = "loadtest/instructions/table.txt"

func main() {
	update := flag.Bool("update", false, "write the table")
	check := flag.Bool("check", false, "compare the instructions with the table's; skipped without valgrind, on another processor and by another Go")
	only := flag.String("only", "", "count the operations whose names begin so")
	run := flag.String("run", "", "be the driver: run this operation")
	made := flag.Int("made", 0, "the driver's calls")
	all := flag.Int("all", 0, "how many calls the driver prepares")
	flag.Parse()
	if *run != "" {
		drive(*run, *made, *all)
		return
	}
	if err := report(os.Stdout, *update, *check, *only); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

func drive(name string, made, all int) {
	ops := operations()
	ops[slices.IndexFunc(ops, func(o operation) bool { return o.name == name })].run(made, all)
}

// report counts and does what is asked with the figures.
func report(out io.Writer, update, check bool, only string) error {
	if only != "" && (update || check) {
		return errors.New("-update and -check are for all operations: leave out -only")
	}
	committed, err := os.ReadFile(tableFile)
	if err != nil && !update {
		return fmt.Errorf("%w: start at the root of the project, or write it with -update", err)
	}
	old, err := parseTable(string(committed))
	if err != nil {
		return err
	}
	if why := old.skip(runtime.GOARCH, runtime.Version()); why != "" && check {
		fmt.Fprintln(out, "instructions are not compared:", why)
		return nil
	}
	ops := slices.DeleteFunc(operations(), func(o operation) bool { return !strings.HasPrefix(o.name, only) })
	for i := range ops {
		if check { // 1 % is near enough there
			ops[i].calls /= 4
		}
	}
	rows, err := count(ops, check)
	switch {
	case err != nil:
		return err
	case update:
		return os.WriteFile(tableFile, []byte(text(ops, rows, nil)), 0o644)
	case check:
		if err := old.compare(rows); err != nil {
			return err
		}
		fmt.Fprintf(out, "the instructions of %d operations are within 5 %% of the table's\n", len(rows))
		return nil
	}
	_, err = io.WriteString(out, text(ops, rows, old.rows))
	return err
}

// count builds the driver and counts the operations, as many at once as there
// are processors. Instructions alone take half the time.
func count(ops []operation, instructionsOnly bool) (map[string]figures, error) {
	dir, err := os.MkdirTemp("", "edgeguard-instructions-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "driver"), "./loadtest/instructions")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0", "GOAMD64=v1"), os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	var runs sync.WaitGroup
	var mu sync.Mutex // guards rows and failed
	rows, failed := map[string]figures{}, []error{}
	free := make(chan bool, runtime.NumCPU())
	for _, o := range ops {
		runs.Go(func() {
			free <- true
			defer func() { <-free }()
			f, err := o.figures(dir, instructionsOnly)
			mu.Lock()
			defer mu.Unlock()
			if rows[o.name] = f; err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", o.name, err))
			}
		})
	}
	runs.Wait()
	return rows, errors.Join(failed...)
}

// figures returns what one item of the operation costs. The shorter run makes an
// eighth of the calls, so that what only the first ones do is in both.
func (o *operation) figures(dir string, instructionsOnly bool) (f figures, err error) {
	short := o.calls / 8
	least, err := o.cachegrind(dir, short, short+o.calls, instructionsOnly)
	if err != nil {
		return f, err
	}
	most, err := o.cachegrind(dir, short+o.calls, short+o.calls, instructionsOnly)
	for i := range f {
		f[i] = max(0, most[i]-least[i]) / float64(o.calls*o.items)
	}
	return f, err
}

// cachegrind returns the figures of one whole run. The caches are those of a
// usual server's core, whatever this machine has; the runtime takes no
// instructions that only some processors have.
func (o *operation) cachegrind(dir string, made, all int, instructionsOnly bool) (f figures, err error) {
	file := filepath.Join(dir, strings.ReplaceAll(o.name, "/", "_"))
	simulate := "yes"
	if instructionsOnly {
		simulate = "no"
	}
	c := exec.Command("valgrind", "--tool=cachegrind", "--cache-sim="+simulate, "--branch-sim="+simulate,
		"--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64", "--cachegrind-out-file="+file,
		filepath.Join(dir, "driver"), "-run", o.name, "-made", strconv.Itoa(made), "-all", strconv.Itoa(all))
	c.Env = []string{"GODEBUG=cpu.all=off", "GOGC=off", "GOMAXPROCS=1"}
	if out, err := c.CombinedOutput(); err != nil {
		return f, fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	return parseCachegrind(string(text))
}
