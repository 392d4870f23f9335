package main

import (
	"context"
	"io"
	"path/filepath"

	"edgeguard/loadtest/tuned"
)

// printTune prints what `edgeguard tune` proposes for the labelled logs, beside the
// rules as they are.
func printTune(ctx context.Context, out io.Writer, data string, folders []string) error {
	labels, err := tuned.ReadLabels(filepath.Join(data, "labels-web.tsv"))
	if err != nil {
		return err
	}
	pairs, err := tuned.Measure(ctx, data, folders, labels)
	if err != nil {
		return err
	}
	tuned.Print(out, pairs)
	return nil
}
