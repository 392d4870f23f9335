package main

import (
	"context"
	"flag"
	"io"

	"edgeguard/loadtest/report"
)

// part returns a command that runs parts of the report and nothing else.
func part(names ...string) func(context.Context, *flag.FlagSet, []string, io.Writer, io.Writer) error {
	return func(ctx context.Context, flags *flag.FlagSet, args []string, out, notes io.Writer) error {
		o := report.Options{Root: ".", Only: names}
		shared(flags, &o)
		json, html := files(flags)
		if err := parse(flags, args); err != nil {
			return err
		}
		r, err := report.Run(ctx, o, notes)
		if err != nil {
			return err
		}
		return show(r, out, *json, *html)
	}
}

// shared are the flags of all commands.
func shared(flags *flag.FlagSet, o *report.Options) {
	flags.Uint64Var(&o.Seed, "seed", 1, "of all traffic: the same `number` gives the same traffic")
	flags.BoolVar(&o.Full, "full", false, "at length: some twenty minutes for the report; without it some five")
	flags.StringVar(&o.Record, "record", "", "a `folder` with an access.log, compressed or not, that is one more scenario")
}

func files(flags *flag.FlagSet) (json, html *string) {
	return flags.String("json", "", "the `file` to write all of it to, as JSON"),
		flags.String("html", "", "the `file` to write a page with plots to")
}

// show prints a report and writes its files.
func show(r *report.Report, out io.Writer, json, html string) error {
	r.Print(out)
	if err := toFile(json, r.WriteJSON); err != nil {
		return err
	}
	return toFile(html, r.WriteHTML)
}
