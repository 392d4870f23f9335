package algorithms

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"

	"edgeguard/loadtest/instructions/count"
)

// Cost is what one operation costs the processor.
type Cost struct {
	// Name is that of the operation: Take is a limiter's decision, Add a count in
	// edgeguard's table, Decide a verdict, Rules one by many rules.
	Name         string
	Instructions float64
	// Committed says that the figure is that of the committed table, which is held
	// to 5 %, and was not counted in this run.
	Committed bool
}

// countInstructions counts the limiters' decisions; those of edgeguard's own
// operations only in a full run, as the table has them.
func (r *Result) countInstructions(ctx context.Context, o Options) error {
	ops := count.Limiters()
	if o.Full {
		ops = append(ops, count.Operations()...)
	} else {
		r.committedCosts()
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		fmt.Fprintf(r.notes, "instructions are not counted: they are linux/amd64's, this is %s/%s\n", runtime.GOOS, runtime.GOARCH)
		return nil
	}
	for _, program := range []string{"valgrind", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(r.notes, "instructions are not counted: %s is not installed\n", program)
			return nil
		}
	}
	figures, err := count.Run(ctx, ops, true)
	if err != nil {
		return err
	}
	for i := range ops {
		r.Costs = append(r.Costs, Cost{ops[i].Name, math.Round(figures[ops[i].Name][0]), false})
	}
	return nil
}

// committedCosts takes edgeguard's own from the table.
func (r *Result) committedCosts() {
	text, err := os.ReadFile(count.File)
	if err != nil {
		fmt.Fprintf(r.notes, "edgeguard's own instructions are left out: %v: start at the root of the project\n", err)
		return
	}
	table, err := count.ParseTable(string(text))
	if err != nil {
		fmt.Fprintf(r.notes, "edgeguard's own instructions are left out: %v\n", err)
		return
	}
	for _, o := range count.Operations() {
		if row, ok := table.Rows[o.Name]; ok {
			r.Costs = append(r.Costs, Cost{o.Name, row[0], true})
		}
	}
}
