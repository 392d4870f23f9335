// Command report measures edgeguard's figures, its peers in the same run, and
// prints each beside its goal:
//
//	go run ./loadtest/report                     everything, about ten minutes
//	go run ./loadtest/report -only add,log     some groups
//	go run ./loadtest/report -write docs/benchmarks.md
//	go run ./loadtest/report -goals              the goals, without measuring
//
// It runs the benchmarks of this module and of loadtest/peers, and races the
// built program against mawk, goaccess and tcpdump on files that it makes. A
// peer that is not installed is reported as missing, and nothing fails. What
// is compared runs in turns, several rounds, and the median round counts.
//
// It is for people and for docs/benchmarks.md. It is not a test: a figure that is
// short does not fail the run, since a busy machine is not a defect.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// groups are the figures in the order in which they are printed.
func groups() []group {
	return []group{addGroup(), decideGroup(), memoryGroup(), distinctGroup(), rulesGroup(), logGroup(), captureGroup(), consoleGroup(), kernelGroup(), edgesGroup(), haproxyPeersGroup(), listsGroup(), decisionsGroup()}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("report -h lists the flags")

// run measures what args ask for, prints it to out, and says on notes what it
// is doing.
func run(ctx context.Context, args []string, out, notes io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(notes)
	only := flags.String("only", "", "the groups to measure, with commas between: "+strings.Join(groupNames(), ", "))
	rounds := flags.Int("rounds", 5, "how often what is compared takes turns")
	benchtime := flags.String("benchtime", "1s", "how long one benchmark of a decision runs")
	write := flags.String("write", "", "the page in which to replace the tables of the groups measured")
	goals := flags.Bool("goals", false, "print the goals and commands, measure nothing")
	root := flags.String("root", ".", "the project's folder")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if flags.NArg() > 0 || *rounds < 1 {
		return fmt.Errorf("want at least one round and no argument besides flags; %w", errUsage)
	}
	dir, err := os.MkdirTemp("", "edgeguard-report-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &runner{ctx: ctx, root: *root, dir: dir, rounds: *rounds, benchtime: *benchtime, notes: notes, idle: *goals}
	for _, g := range chosen {
		rows := r.measure(g)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		printTable(out, g, rows)
		if *write != "" {
			if err := writeRegion(*write, g, rows, r.conditions()); err != nil {
				return err
			}
		}
	}
	return nil
}

func groupNames() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}

// choose returns the groups named in only, all for an empty string.
func choose(only string) ([]group, error) {
	all := groups()
	if only == "" {
		return all, nil
	}
	var chosen []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(groupNames(), strings.TrimSpace(name))
		if i < 0 {
			return nil, fmt.Errorf("no group %q, there are %s; %w", name, strings.Join(groupNames(), ", "), errUsage)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
