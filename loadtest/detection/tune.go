package main

import (
	"context"
	"fmt"
	"io"

	"edgeguard/loadtest/tuned"
	"edgeguard/rules"
)

// printTune prints what `edgeguard tune` proposes for the labelled logs, beside the
// rules as they are.
func printTune(ctx context.Context, out io.Writer, data string, labels tuned.Labels) error {
	presets, err := tuned.Presets()
	if err != nil {
		return err
	}
	for _, specs := range [][]rules.Spec{tuned.Rules(), presets} {
		pairs, err := tuned.Measure(ctx, data, labels, specs)
		if err != nil {
			return err
		}
		tuned.Print(out, pairs)
		fmt.Fprintln(out)
	}
	if err := printAdvice(ctx, out, "the documentation's rules", data, labels, tuned.Rules()); err != nil {
		return err
	}
	fmt.Fprintln(out)
	return printAdvice(ctx, out, "presets", data, labels, presets)
}
