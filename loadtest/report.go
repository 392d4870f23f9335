package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"edgeguard/loadtest/report"
)

func reportCommand(ctx context.Context, flags *flag.FlagSet, args []string, out, notes io.Writer) error {
	o, files := report.Options{Root: "."}, outputs{}
	shared(flags, &o)
	recorded(flags, &o)
	files.flags(flags)
	only := flags.String("only", "", "the `names` of parts and groups to measure, with commas between: "+strings.Join(report.Names(), ", "))
	flags.IntVar(&o.Rounds, "rounds", 0, "how often what is compared takes turns (3 with -full, else 1)")
	flags.StringVar(&o.Benchtime, "benchtime", "", "how long one benchmark runs, or how often, as 100x (100ms)")
	flags.BoolVar(&o.Goals, "goals", false, "print the goals and commands, measure nothing")
	flags.StringVar(&files.docs, "write", "", "the `folder` (docs) in which to write benchmarks.md, figures.md and img/, each whole")
	from := flags.String("from", "", "the `file` that -json wrote: show it again, and measure nothing")
	base := flags.String("compare", "", "the `commit` to compare this one with: both are built and run by turns, and instructions decide")
	if err := parse(flags, args); err != nil {
		return err
	}
	for one, others := range map[string][]string{
		"from": {"json", "html", "write"}, "compare": {"only", "rounds", "benchtime", "full"}, "goals": {"only", "full", "json", "html"},
	} {
		if err := fits(flags, one, others); err != nil {
			return err
		}
	}
	if *only != "" {
		for name := range strings.SplitSeq(*only, ",") {
			o.Only = append(o.Only, strings.TrimSpace(name))
		}
	}
	switch {
	case *from != "":
		return again(*from, &files, out)
	case *base != "":
		if err := o.Check(); err != nil {
			return usageError{err}
		}
		return report.Compare(ctx, *base, o, out, notes)
	}
	return measure(ctx, &o, &files, out, notes)
}

// fits says which flag has no meaning beside another; one that is only ignored would
// have the reader believe what was not done.
func fits(flags *flag.FlagSet, one string, others []string) (err error) {
	there := false
	flags.Visit(func(f *flag.Flag) {
		there = there || f.Name == one
		if f.Name != one && !slices.Contains(others, f.Name) {
			err = usagef("-%s has no meaning beside -%s, which goes with -%s", f.Name, one, strings.Join(others, ", -"))
		}
	})
	if !there {
		return nil
	}
	return err
}

// again shows a report that was written before.
func again(from string, files *outputs, out io.Writer) error {
	if err := files.check(); err != nil {
		return err
	}
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := report.Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return files.show(r, out)
}
