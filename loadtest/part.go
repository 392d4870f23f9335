package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"edgeguard/loadtest/report"
)

// part returns a command that runs parts of the report and nothing else.
func part(names ...string) func(context.Context, *flag.FlagSet, []string, io.Writer, io.Writer) error {
	return func(ctx context.Context, flags *flag.FlagSet, args []string, out, notes io.Writer) error {
		o, files := report.Options{Root: ".", Only: names}, outputs{}
		shared(flags, &o)
		if slices.Contains(names, report.Algorithms) {
			recorded(flags, &o)
		}
		files.flags(flags)
		if err := parse(flags, args); err != nil {
			return err
		}
		return measure(ctx, &o, &files, out, notes)
	}
}

// shared are the flags of all commands.
func shared(flags *flag.FlagSet, o *report.Options) {
	flags.Uint64Var(&o.Seed, "seed", 1, "of all traffic: the same `number` gives the same traffic")
	flags.BoolVar(&o.Full, "full", false, "at length: some half an hour for the report; without it some five minutes")
}

// recorded is the flag of commands that limit a recorded log, too.
func recorded(flags *flag.FlagSet, o *report.Options) {
	flags.StringVar(&o.Record, "record", "", "a `folder` with an access.log, compressed or not, that is one more scenario")
}

// measure measures, and shows what came out.
func measure(ctx context.Context, o *report.Options, files *outputs, out, notes io.Writer) error {
	if err := o.Check(); err != nil {
		return usageError{err}
	}
	if err := files.check(); err != nil {
		return err
	}
	r, err := report.Run(ctx, *o, notes)
	if err != nil {
		return err
	}
	if err := files.show(r, out); err != nil {
		return err
	}
	if failed := r.Parts.Failed; len(failed) > 0 {
		return fmt.Errorf("not all was measured: %s", failed[0])
	}
	return nil
}
