package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"edgeguard/loadtest/report"
)

func reportCommand(ctx context.Context, flags *flag.FlagSet, args []string, out, notes io.Writer) error {
	var o report.Options
	shared(flags, &o)
	json, html := files(flags)
	only := flags.String("only", "", "the `names` of parts and groups to measure, with commas between: "+strings.Join(report.Names(), ", "))
	flags.IntVar(&o.Rounds, "rounds", 0, "how often what is compared takes turns (3 with -full, else 1)")
	flags.StringVar(&o.Benchtime, "benchtime", "", "how long one benchmark runs, or how often, as 100x (100ms)")
	flags.BoolVar(&o.Goals, "goals", false, "print the goals and commands, measure nothing")
	flags.StringVar(&o.Root, "root", ".", "the project's `folder`")
	docs := flags.String("write", "", "the `folder` (docs) in which to write benchmarks.md, figures.md and img/, each whole")
	from := flags.String("from", "", "the `file` that -json wrote: show it again, and measure nothing")
	base := flags.String("compare", "", "the `commit` to compare this one with: both are built and run by turns, and instructions decide")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *only != "" {
		for name := range strings.SplitSeq(*only, ",") {
			o.Only = append(o.Only, strings.TrimSpace(name))
		}
	}
	if err := o.Check(); err != nil {
		return usageError{err}
	}
	if *base != "" {
		return report.Compare(ctx, *base, o, out, notes)
	}
	r, err := measured(ctx, *from, o, notes)
	if err != nil {
		return err
	}
	if err := show(r, out, *json, *html); err != nil || *docs == "" {
		return err
	}
	return r.WritePages(*docs)
}

// measured is a report that was written before, or is measured now.
func measured(ctx context.Context, from string, o report.Options, notes io.Writer) (*report.Report, error) {
	if from == "" {
		return report.Run(ctx, o, notes)
	}
	file, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := report.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return r, nil
}
