// Package count runs operations of edgeguard under valgrind and tells what they cost
// the processor.
package count

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"edgeguard/internal/program"
)

// Run builds the driver, which is the command instructions, and counts the
// operations, as many at once as there are processors. Instructions alone take half
// the time. It ends with ctx.
func Run(ctx context.Context, ops []Operation, instructionsOnly bool) (map[string]Figures, error) {
	dir, err := os.MkdirTemp("", "edgeguard-instructions-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	driver, err := program.Compile(ctx, dir, "edgeguard/loadtest/instructions", "CGO_ENABLED=0", "GOAMD64=v1")
	if err != nil {
		return nil, err
	}
	var runs sync.WaitGroup
	var mu sync.Mutex // guards rows and failed
	rows, failed := map[string]Figures{}, []error{}
	free := make(chan bool, runtime.NumCPU())
	for _, o := range ops {
		runs.Go(func() {
			free <- true
			defer func() { <-free }()
			f, err := o.figures(ctx, driver, instructionsOnly)
			mu.Lock()
			defer mu.Unlock()
			if rows[o.Name] = f; err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", o.Name, err))
			}
		})
	}
	runs.Wait()
	return rows, errors.Join(failed...)
}

// figures returns what one item of the operation costs. The shorter run makes an
// eighth of the calls, so that what only the first ones do is in both.
func (o *Operation) figures(ctx context.Context, driver string, instructionsOnly bool) (f Figures, err error) {
	short := o.Calls / 8
	least, err := o.cachegrind(ctx, driver, short, short+o.Calls, instructionsOnly)
	if err != nil {
		return f, err
	}
	most, err := o.cachegrind(ctx, driver, short+o.Calls, short+o.Calls, instructionsOnly)
	for i := range f {
		f[i] = max(0, most[i]-least[i]) / float64(o.Calls*o.Items)
	}
	return f, err
}

// cachegrind returns the figures of one whole run. The caches are those of a
// usual server's core, whatever this machine has; the runtime takes no
// instructions that only some processors have.
func (o *Operation) cachegrind(ctx context.Context, driver string, made, all int, instructionsOnly bool) (f Figures, err error) {
	file := filepath.Join(filepath.Dir(driver), strings.ReplaceAll(o.Name, "/", "_"))
	simulate := "yes"
	if instructionsOnly {
		simulate = "no"
	}
	c := exec.CommandContext(ctx, "valgrind", "--tool=cachegrind", "--cache-sim="+simulate, "--branch-sim="+simulate,
		"--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64", "--cachegrind-out-file="+file,
		driver, "-run", o.Name, "-made", strconv.Itoa(made), "-all", strconv.Itoa(all))
	c.Env = []string{"GODEBUG=cpu.all=off", "GOGC=off", "GOMAXPROCS=1"}
	if out, err := c.CombinedOutput(); err != nil {
		return f, fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return f, err
	}
	return parseCachegrind(string(text))
}
