// Command loadtest judges edgeguard beside other ways to limit a rate and beside other
// programs, all on the same traffic:
//
//	go run ./loadtest algorithms    ways to limit a rate, in memory and over a Redis
//	go run ./loadtest fleet         nodes that share a Redis, from 1 to 1,000
//	go run ./loadtest report        both, other programs and the benchmarks; the pages of docs/
//
// The same seed gives the same output but for times. Below it are:
//
//	traffic       the requests, logs and captures that everything is measured on
//	limiter       the ways to limit a rate
//	report        runs the rest and shows it beside its goals
//	core, peers   benchmarks of the core, and of other tables; peers is a separate module
//	instructions  what one operation costs the processor, counted and not timed
//	gen           writes traffic: go run ./loadtest/gen log > access.log
//
// and detection, a program of its own, which prints which addresses the rules find.
// Nothing of edgeguard imports them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"edgeguard/loadtest/report"
)

// The exits of the program.
const (
	failed      = 1
	wrong       = 2 // the command line
	interrupted = 130
)

// command is one that the program knows: it measures these parts, or what its flag says.
type command struct {
	name, does string
	parts      []string
}

var commands = []command{
	{"algorithms", "compare ways to limit a rate, in memory and over a Redis", []string{report.Algorithms, report.OverRedis}},
	{"fleet", "run fleets from 1 to 1,000 nodes in virtual time, and eight processes beside them", []string{report.Fleet, report.Processes}},
	{"report", "measure all of it beside its goals, and write the pages of docs/", nil},
}

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // a connection that is lost, but for nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	exit := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(exit)
}

// start runs the command that args name and returns the program's exit.
func start(ctx context.Context, args []string, out, notes io.Writer) int {
	err := run(ctx, args, out, notes)
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(notes, "loadtest: interrupted")
		return interrupted
	case errors.As(err, &usage):
		fmt.Fprintln(notes, "loadtest:", err)
		return wrong
	default:
		fmt.Fprintln(notes, "loadtest:", err)
		return failed
	}
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	for _, c := range commands {
		if c.name != name {
			continue
		}
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		flags.SetOutput(io.Discard) // one line for a mistake, not a page
		err := c.run(ctx, flags, args[1:], out, notes)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(out, "go run ./loadtest %s: %s\n\n", c.name, c.does)
			flags.SetOutput(out)
			flags.PrintDefaults()
		}
		return err
	}
	switch name {
	case "help", "-h", "-help", "--help":
		help(out)
		return nil
	case "":
		return usagef("say what to do: %s; go run ./loadtest help", names())
	}
	return usagef("no command %q: use %s; go run ./loadtest help", name, names())
}

func names() (all string) {
	for i, c := range commands {
		if i > 0 {
			all += ", "
		}
		all += c.name
	}
	return all
}

func help(out io.Writer) {
	fmt.Fprintf(out, "go run ./loadtest COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(out, "  %-12s%s\n", c.name, c.does)
	}
	fmt.Fprintf(out, "\ngo run ./loadtest COMMAND -h lists its flags.\n")
}

// run measures and prints what came out.
func (c *command) run(ctx context.Context, flags *flag.FlagSet, args []string, out, notes io.Writer) error {
	o := report.Options{Root: ".", Only: c.parts}
	flags.Uint64Var(&o.Seed, "seed", 1, "of all traffic: the same `number` gives the same traffic")
	flags.BoolVar(&o.Full, "full", false, "at length: some half an hour for the report; without it some five minutes")
	only, docs := "", ""
	if c.parts == nil {
		flags.StringVar(&only, "only", "", "the `names` of parts and groups to measure, with commas between: "+strings.Join(report.Names(), ", "))
		flags.StringVar(&docs, "write", "", "the `folder` (docs) in which to write benchmarks.md, figures.md and img/, each whole")
	}
	if err := parse(flags, args); err != nil {
		return err
	}
	if only != "" {
		for name := range strings.SplitSeq(only, ",") {
			o.Only = append(o.Only, strings.TrimSpace(name))
		}
	}
	if err := o.Check(); err != nil {
		return usageError{err}
	}
	if docs != "" { // before minutes are spent on what cannot be written
		if there, err := os.Stat(docs); err != nil || !there.IsDir() {
			return usagef("-write %s: name the folder of benchmarks.md", docs)
		}
	}
	r, err := report.Run(ctx, o, notes)
	if err != nil {
		return err
	}
	if docs != "" {
		err = r.WritePages(docs)
	}
	r.Print(out)
	if failed := r.Parts.Failed; err == nil && len(failed) > 0 {
		err = fmt.Errorf("not all was measured: %s", failed[0])
	}
	return err
}

// parse reads the flags of a command that takes no other arguments.
func parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return usagef("%w; go run ./loadtest %s -h lists the flags", err, flags.Name())
	case flags.NArg() > 0:
		return usagef("%s takes flags and no other argument, and got %q", flags.Name(), flags.Arg(0))
	}
	flags.Visit(func(f *flag.Flag) { // -only "$GROUP", say, of a GROUP that is not set
		if f.Value.String() == "" {
			err = usagef("-%s is empty: write what it is to be, or leave it out", f.Name)
		}
	})
	return err
}
