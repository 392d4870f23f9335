package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// env is what a command uses of the outside world: tests replace it.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// colour says whether stdout shows colours, progress whether stderr shows
	// a line that is drawn over: both are terminals then.
	colour, progress bool
	width            int // columns of stdout, 0 if it is not a terminal
}

// environment is the real one. NO_COLOR (no-color.org) switches colours off.
func environment() *env {
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		e.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		e.width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	e.progress = term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb"
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
