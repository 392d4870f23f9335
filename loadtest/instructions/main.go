// Command instructions counts what one operation of edgeguard costs the
// processor: instructions, mispredicted branches, and misses of the first-level
// data cache and of the last level. Valgrind's cachegrind simulates both caches
// and predictor, so that the figures do not depend on the machine or on who else
// is on it:
//
//	go run ./loadtest/instructions             counts, beside the committed table
//	go run ./loadtest/instructions -update     writes loadtest/instructions/table.txt
//	go run ./loadtest/instructions -check      fails where the instructions are 5 % off the table
//	go run ./loadtest/instructions -only Add   the operations whose names begin so; with Take also
//	                                           those of other ways to limit a rate
//
// An operation's figure is the difference of two runs, of which one makes more
// calls; all else in them is the same. It is for amd64, whose instructions the
// table has, and starts at the root of the project.
//
// Fewer instructions are not always less time: what prefetches costs some.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"edgeguard/loadtest/instructions/count"
)

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
	ops := slices.Concat(count.Operations(), count.Limiters())
	ops[slices.IndexFunc(ops, func(o count.Operation) bool { return o.Name == name })].Drive(made, all)
}

// report counts and does what is asked with the figures.
func report(out io.Writer, update, check bool, only string) error {
	if only != "" && (update || check) {
		return errors.New("-update and -check are for all operations: leave out -only")
	}
	committed, err := os.ReadFile(count.File)
	if err != nil && !update {
		return fmt.Errorf("%w: start at the root of the project, or write it with -update", err)
	}
	old, err := count.ParseTable(string(committed))
	if err != nil {
		return err
	}
	if why := old.Skip(runtime.GOARCH, runtime.Version()); why != "" && check {
		fmt.Fprintln(out, "instructions are not compared:", why)
		return nil
	}
	ops := count.Operations()
	if only != "" {
		ops = slices.DeleteFunc(append(ops, count.Limiters()...), func(o count.Operation) bool { return !strings.HasPrefix(o.Name, only) })
	}
	for i := range ops {
		if check { // 1 % is near enough there
			ops[i].Calls /= 4
		}
	}
	rows, err := count.Run(context.Background(), ops, check)
	switch {
	case err != nil:
		return err
	case update:
		return os.WriteFile(count.File, []byte(count.Text(ops, rows, nil)), 0o644)
	case check:
		// Beside other work the runtime's own threads are now and then counted with an operation:
		// what is off is counted once more.
		if off := old.Off(rows); len(off) > 0 {
			again, err := count.Run(context.Background(), slices.DeleteFunc(ops, func(o count.Operation) bool { return !slices.Contains(off, o.Name) }), true)
			if err != nil {
				return err
			}
			maps.Copy(rows, again)
		}
		if err := old.Compare(rows); err != nil {
			return err
		}
		fmt.Fprintf(out, "the instructions of %d operations are within 5 %% of the table's\n", len(rows))
		return nil
	}
	_, err = io.WriteString(out, count.Text(ops, rows, old.Rows))
	return err
}
