package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
	"edgeguard/loadtest/report"
)

// outputs are what a report is written to; what has no name is not written.
type outputs struct{ json, html, docs string }

func (o *outputs) flags(flags *flag.FlagSet) {
	flags.StringVar(&o.json, "json", "", "the `file` to write all of it to, as JSON")
	flags.StringVar(&o.html, "html", "", "the `file` to write a page with plots to")
}

// check tries whether all can be written, before minutes are spent on what cannot.
func (o *outputs) check() error {
	for _, one := range []struct{ flag, name string }{{"json", o.json}, {"html", o.html}, {"write", o.docs}} {
		name := one.name
		if name == "" {
			continue
		}
		if one.flag == "write" {
			name = filepath.Join(name, "benchmarks.md")
		}
		if err := writable(name); err != nil {
			return usagef("-%s %s: %w", one.flag, one.name, err)
		}
	}
	return nil
}

// writable begins to write a file, and leaves what is there.
func writable(name string) error {
	if there, err := os.Stat(name); err == nil && there.IsDir() {
		return errors.New("it is a folder, name a file")
	}
	place, err := safepath.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }() // it was only used to find the file
	draft, err := atomicfile.Create(place, atomicfile.Options{Mode: 0o644})
	if err != nil {
		return err
	}
	draft.Discard()
	return nil
}

// show writes a report's files, each whole or not at all, and then prints it: who reads
// only the head of that has the files.
func (o *outputs) show(r *report.Report, out io.Writer) error {
	errs := []error{toFile(o.json, r.WriteJSON), toFile(o.html, r.WriteHTML)}
	if o.docs != "" {
		errs = append(errs, r.WritePages(o.docs))
	}
	r.Print(out)
	return errors.Join(errs...)
}

// toFile writes a file, whole or not at all; an empty name writes none.
func toFile(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return atomicfile.Replace(name, text.Bytes(), atomicfile.Options{Mode: 0o644})
}
