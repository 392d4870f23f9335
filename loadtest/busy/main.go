// Command busy measures whether busy neighbours slow forward auth, and prints it:
//
//	go run ./loadtest/busy                       about ten minutes
//	go run ./loadtest/busy -floods auth,ping -rounds 3
//	go run ./loadtest/busy -beside       who else asks: Prometheus, the console, an import, bouncers
//
// A flood of 20 connections runs against a real edgeguard, and then against a sink, which
// reads the same bytes and does nothing: what slows the machine slows both. During each,
// questions are put to forward auth, each over a new connection, and a client that is
// blocked asks a real nginx, with the configuration that `edgeguard snippets nginx`
// prints. The figures are the questions that took longer than the 100 ms of that
// configuration, and the requests of the blocked client that passed. Both sides take turns,
// and the median of the rounds counts.
//
// It needs nginx and the go command. It is not a test: a figure that is short does not
// fail the run, since a busy machine is not a defect.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "busy:", err)
		os.Exit(1)
	}
}

type options struct {
	floods    string
	rounds    int
	questions int
	requests  int
	pause     time.Duration
	program   string
	beside    bool
	as, at    string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("busy", flag.ContinueOnError)
	flags.StringVar(&o.floods, "floods", strings.Join(floodNames(), ","), "what to flood with")
	flags.IntVar(&o.rounds, "rounds", 5, "how often edgeguard and the sink take turns")
	flags.IntVar(&o.questions, "questions", 1000, "questions to forward auth a round and side")
	flags.IntVar(&o.requests, "requests", 60, "requests of the blocked client a round and side")
	flags.DurationVar(&o.pause, "pause", 4*time.Millisecond, "between two questions")
	flags.BoolVar(&o.beside, "beside", false, "measure who else asks beside a flood, instead of forward auth")
	flags.StringVar(&o.program, "program", "", "the edgeguard to measure; it is built if empty")
	flags.StringVar(&o.as, "as", "", "be this flood, or the sink, at -at until standard input ends (busy starts itself so)")
	flags.StringVar(&o.at, "at", "", "an address")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.as != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
		return be(o.as, o.at)
	}
	dir, err := os.MkdirTemp("", "busy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // nginx's worker may be somebody else
		return err
	}
	e := edge{dir: dir, program: o.program}
	defer e.stop()
	if err := e.start(ctx); err != nil {
		return err
	}
	if o.beside {
		return o.measureBeside(ctx, &e, out)
	}
	return o.measure(ctx, &e, out)
}

// measureBeside has each flood run against edgeguard and the sink in turns, and prints what
// who else asks waited for at most in each round.
func (o *options) measureBeside(ctx context.Context, e *edge, out io.Writer) error {
	b, err := newBeside(ctx, e)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the longest of each round: of %d scrapes, of %d events until the stream has them, an import of %d blocks, of %d pulls of %d bouncers over one connection\n", turns, turns, entries, turns, bouncers)
	for name := range strings.SplitSeq(o.floods, ",") {
		for round := range o.rounds {
			for _, side := range []struct{ name, at string }{{"edgeguard", e.targets()[name]}, {"sink", e.sink}} {
				stop, err := e.spawn(ctx, os.Args[0], "-as", name, "-at", side.at)
				if err != nil {
					return err
				}
				took, err := b.round(ctx)
				stop()
				if err == nil {
					err = b.remove(ctx)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "%-10s %-10s round %d", name, side.name, round+1)
				for _, what := range slices.Sorted(maps.Keys(took)) {
					fmt.Fprintf(out, "  %s %v", what, took[what].Round(time.Millisecond))
				}
				fmt.Fprintln(out)
			}
		}
	}
	return nil
}

// measure has each flood run against edgeguard and the sink in turns.
func (o *options) measure(ctx context.Context, e *edge, out io.Writer) error {
	fmt.Fprintf(out, "questions over %v of %d, and of %d requests of a blocked client those that passed: medians of %d rounds by turns, and all\n", bound, o.questions, o.requests, o.rounds)
	for name := range strings.SplitSeq(o.floods, ",") {
		at, ok := e.targets()[name]
		if !ok {
			return fmt.Errorf("unknown flood %q: use %s", name, strings.Join(floodNames(), ","))
		}
		sides := []struct {
			name, at string
			late     []int
			passed   []int
			longest  time.Duration
		}{{name: "edgeguard", at: at}, {name: "sink", at: e.sink}}
		for round := range o.rounds {
			for i := range sides {
				s := &sides[(i+round)%len(sides)]
				stop, err := e.spawn(ctx, os.Args[0], "-as", name, "-at", s.at)
				if err != nil {
					return err
				}
				late, longest, passed := o.ask(ctx, e)
				stop()
				s.late, s.passed, s.longest = append(s.late, late), append(s.passed, passed), max(s.longest, longest)
			}
		}
		for _, s := range sides {
			fmt.Fprintf(out, "%-10s %-10s over %d %v  passed %d %v  longest %v\n", name, s.name, median(s.late), s.late, median(s.passed), s.passed, s.longest.Round(time.Millisecond))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	load, _ := os.ReadFile(filepath.Join("/proc", "loadavg")) // elsewhere it is not known
	fmt.Fprintf(out, "load average at the end: %s", load)
	return nil
}

func median(of []int) int {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
