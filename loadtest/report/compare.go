package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// tolerance is how far instructions may differ before they are told as a change.
const tolerance = 0.05

// errMore is returned where the instructions of an operation grew.
var errMore = errors.New("operations take more instructions than before")

// comparison is one thing that both commits measured.
type comparison struct {
	name      string
	base, own []float64 // a value a round
}

// Compare builds this tree and that of the commit base, which it checks out into a
// temporary folder, and runs the measurements of both by turns. Instructions decide: an
// operation that takes over 5 % more is an error. Times are told with their spread, and
// nothing follows from them.
func Compare(ctx context.Context, base string, o Options, out, notes io.Writer) error {
	if err := installed("valgrind"); err != nil {
		return fmt.Errorf("instructions are counted by it, and %w", err)
	}
	return compare(ctx, base, o, out, notes)
}

func compare(ctx context.Context, base string, o Options, out, notes io.Writer) error {
	names := byTurnsNames()
	for _, name := range o.Only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-compare cannot run %s by turns, only %s", name, strings.Join(names, ", "))
		}
	}
	dir, err := os.MkdirTemp("", "eg-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rounds := o.Rounds
	if rounds == 0 {
		rounds = 5
	}
	own := &runner{ctx: ctx, root: o.Root, dir: dir, rounds: rounds, benchtime: o.benchtime(), notes: notes}
	other, leave, err := own.checkout(base)
	if err != nil {
		return err
	}
	defer leave()
	fmt.Fprintf(out, "%s, and before it %s (%s)\n\n", commit(o.Root), base, commit(other.root))
	counted, err := compareInstructions(other, own)
	if err != nil {
		return err
	}
	grew := printInstructions(out, counted)
	timed, err := compareTimes(other, own, o)
	if err != nil {
		return err
	}
	printTimes(out, timed, rounds)
	if grew > 0 {
		return fmt.Errorf("%d %w: over 5 %%", grew, errMore)
	}
	return nil
}

// checkout puts the commit into a folder of its own and returns a runner in it, and what
// removes it.
func (r *runner) checkout(base string) (other *runner, leave func(), err error) {
	git := func(args ...string) (string, error) {
		text, err := r.command(r.root, "git", args...).CombinedOutput()
		return strings.TrimSpace(string(text)), err
	}
	switch name, err := git("rev-parse", "--verify", "--quiet", "--end-of-options", base+"^{commit}"); {
	case r.ctx.Err() != nil:
		return nil, nil, r.ctx.Err()
	case err != nil:
		return nil, nil, fmt.Errorf("-compare %s: git knows no such commit here", base)
	default:
		base = name
	}
	switch changes, err := git("status", "--porcelain"); {
	case err != nil:
		return nil, nil, fmt.Errorf("git status: %w: %s", err, changes)
	case changes != "":
		return nil, nil, errors.New("-compare compares commits, and this tree has changes: commit them, or git stash -u")
	}
	tree := filepath.Join(r.dir, "base")
	if text, err := git("worktree", "add", "--detach", "--quiet", tree, base); err != nil {
		return nil, nil, fmt.Errorf("git worktree add: %w: %s", err, text)
	}
	leave = func() {
		again := *r
		again.ctx = context.WithoutCancel(r.ctx) // also after an interrupt
		_ = again.command(r.root, "git", "worktree", "remove", "--force", tree).Run()
	}
	if _, err := os.Stat(filepath.Join(tree, "loadtest", "instructions", "main.go")); err != nil {
		leave()
		return nil, nil, fmt.Errorf("-compare %s: it has no loadtest/instructions to run: choose a later commit", base)
	}
	built := filepath.Join(r.dir, "built") // apart: both have binaries of the same names
	if err := os.Mkdir(built, 0o700); err != nil {
		leave()
		return nil, nil, err
	}
	other = &runner{ctx: r.ctx, root: tree, dir: built, rounds: r.rounds, benchtime: r.benchtime, notes: r.notes}
	return other, leave, nil
}

func compareInstructions(base, own *runner) ([]comparison, error) {
	before, err := base.countIn(base.root)
	if err != nil {
		return nil, err
	}
	now, err := own.countIn(own.root)
	if err != nil {
		return nil, err
	}
	var all []comparison
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, ok := before[name]; ok {
			all = append(all, comparison{name, []float64{was}, []float64{now[name]}})
		}
	}
	return all, nil
}

// printInstructions prints what is off by more than the tolerance, and returns how many
// operations grew.
func printInstructions(out io.Writer, all []comparison) (grew int) {
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	off := 0
	for _, c := range all {
		before, now := c.base[0], c.own[0]
		if before == 0 || now <= before*(1+tolerance) && now >= before*(1-tolerance) {
			continue
		}
		if off++; off == 1 {
			fmt.Fprintln(tw, "instructions\tbefore\tnow\tchange\t")
		}
		if now > before {
			grew++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%+.1f %%\t\n", c.name, whole(before), whole(now), 100*(now/before-1))
	}
	_ = tw.Flush()
	fmt.Fprintf(out, "instructions: %d of %d operations are within 5 %%\n\n", len(all)-off, len(all))
	return grew
}

// byTurnsNames are the groups whose benchmarks run in two trees.
func byTurnsNames() (names []string) {
	for _, g := range groups() {
		if len(g.runs) > 0 {
			names = append(names, g.name)
		}
	}
	return names
}

// compared are the benchmarks that -compare runs if nothing else is said.
var compared = []string{"add", "decide"}

// compareTimes runs the benchmarks of the groups that both trees have, a round of one
// and then of the other.
func compareTimes(base, own *runner, o Options) ([]comparison, error) {
	names := o.Only
	if len(names) == 0 {
		names = compared
	}
	var all []comparison
	for _, g := range groups() {
		if !slices.Contains(names, g.name) {
			continue
		}
		for _, run := range g.runs {
			both, err := byTurns(base, own, run)
			if own.ctx.Err() != nil {
				return nil, own.ctx.Err()
			}
			if err != nil { // a package that only one of the two has
				fmt.Fprintf(own.notes, "not compared: %v\n", err)
				continue
			}
			all = append(all, both...)
		}
	}
	return all, nil
}

func byTurns(base, own *runner, run benchRun) ([]comparison, error) {
	var results [2]*found
	var binaries [2]string
	both := [2]*runner{base, own}
	for i, r := range both {
		binary, err := r.build(run)
		if err != nil {
			return nil, err
		}
		binaries[i], results[i] = binary, &found{dir: run.dir, byName: map[string]map[string][]float64{}}
	}
	for n := range own.rounds {
		fmt.Fprintf(own.notes, "%s -bench %s, round %d of %d of both\n", run.dir, run.pattern, n+1, own.rounds)
		for turn := range both {
			who := turn ^ n&1
			if err := both[who].round(run, binaries[who], results[who]); err != nil {
				return nil, err
			}
		}
	}
	var all []comparison
	for _, name := range slices.Sorted(maps.Keys(results[1].byName)) {
		before, err := results[0].values(name, "ns/op")
		now, errNow := results[1].values(name, "ns/op")
		if err == nil && errNow == nil && median(now) > 0 {
			all = append(all, comparison{name, before, now})
		}
	}
	return all, nil
}

func printTimes(out io.Writer, all []comparison, rounds int) {
	if len(all) == 0 {
		return
	}
	tw := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "time, ns\tbefore\tnow\tnow/before, by rounds")
	for _, c := range all {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", c.name, spreadOf(c.base), spreadOf(c.own), spreadOf(ratios(c.own, c.base)))
	}
	_ = tw.Flush()
	fmt.Fprintf(out, "times: the median of %d rounds by turns, and the least to the most. They are told, and decide nothing.\n", rounds)
}

func spreadOf(all []float64) string {
	return fmt.Sprintf("%s (%s to %s)", withUnit(median(all), ""), withUnit(slices.Min(all), ""), withUnit(slices.Max(all), ""))
}
