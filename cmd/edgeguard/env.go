package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"edgeguard/cmd/edgeguard/command"
)

// environment is the real one. NO_COLOR (no-color.org) switches colours off.
func environment() *command.Env {
	e := &command.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		e.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		e.Width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		e.Raw = func() (restore func(), ok bool) {
			before, err := term.MakeRaw(in)
			return func() {
				if err == nil {
					_ = term.Restore(in, before)
				}
			}, err == nil
		}
	}
	e.Progress = term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb"
	return e
}

// checkedWriter is a writer that keeps its first error, so that what prints a page need
// not look at each line: [run] does at the end.
type checkedWriter struct {
	io.Writer
	err error
}

func (o *checkedWriter) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}
