package report

import (
	"context"
	"io"
	"os"
	"os/exec"
	"time"

	"edgeguard/internal/program"
	"edgeguard/loadtest/scale"
)

// runner measures, and remembers what it has measured, so that several figures
// can come from one run. Not safe for concurrent use: two measurements at once
// would spoil each other.
type runner struct {
	ctx       context.Context
	root      string // the project's folder
	dir       string // for what is built and generated; removed at the end
	rounds    int
	benchtime string
	notes     io.Writer      // what is being done
	idle      bool           // measure nothing
	asks      func(benchRun) // is called in place of a benchmark; nil but in tests

	benches map[benchRun]benched
	races   map[string]raced
	binary  string // the program, once it is built

	counted     map[string]float64 // instructions of an operation, once they are
	countFailed error
	quoted      bool // they are the committed table's

	scale       *scale.Figures // once they are measured
	scaleFailed error
}

// command is a program that ends with the runner's context, and whatever it started
// with it: its files are below the runner's folder.
func (r *runner) command(dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(r.ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+r.dir)
	program.InGroup(c)
	c.WaitDelay = 5 * time.Second
	return c
}
