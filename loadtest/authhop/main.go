// Command authhop measures what forward auth under nginx costs, and prints it
// beside its goals:
//
//	go run ./loadtest/authhop              about two minutes
//	go run ./loadtest/authhop -arms plain,responder,tcp -rounds 9
//
// One nginx, with one worker and a static file, is asked over keep-alive
// connections: alone (plain), and with auth_request to several answerers, with
// the configuration that `edgeguard snippets nginx` prints; and without it,
// writing its buffered access log, alone and with a real edgeguard following
// it. The figure is the CPU of nginx and of what runs beside it, per request,
// from /proc, until the last line is counted. All arms take turns in
// every round, and ratios are taken within a round, so that a machine that was
// slow for one was so for both.
//
// Then some clients cross a limit that is counted from the log, while nginx
// keeps their passes until the second ends, and the time to the first refusal
// is taken. At last comes a flood of addresses that were never seen: what ordinary
// requests take during it is printed beside what they take without it.
//
// The arms haproxy and spoe are the same for HAProxy: alone, and asking edgeguard by
// SPOE with the configuration of `edgeguard snippets haproxy-spoe`. -paced sends so many
// requests a second to both in turns, and prints what SPOE adds to their time.
//
// It needs nginx, HAProxy for its arms, /proc and the go command. It is not a test: a figure that is
// short does not fail the run, since a busy machine is not a defect.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "authhop:", err)
		os.Exit(1)
	}
}

type options struct {
	arms      string
	rounds    int
	requests  int
	conns     int
	clients   int
	crossers  int
	floodRate int
	pacedRate int
	cacheIn   string
	answerer  string
	listen    string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("authhop", flag.ContinueOnError)
	flags.StringVar(&o.arms, "arms", "plain,responder,tcp,unix,cached+log,log,log+edgeguard", "what to compare: "+strings.Join(armNames(), ", "))
	flags.IntVar(&o.rounds, "rounds", 7, "how often the arms take turns")
	flags.IntVar(&o.requests, "requests", 20_000, "requests an arm and round")
	flags.IntVar(&o.conns, "conns", 32, "connections to nginx")
	flags.IntVar(&o.clients, "clients", 200, "different client addresses")
	flags.IntVar(&o.crossers, "crossers", 40, "clients to cross a limit, for the time to their refusal")
	flags.IntVar(&o.floodRate, "flood", 2000, "requests a second of a flood from fresh addresses, for what ordinary requests take meanwhile; 0: none")
	flags.IntVar(&o.pacedRate, "paced", 0, "requests a second to HAProxy, alone and with SPOE, for what SPOE adds to their time, such as 20000; 0: none")
	flags.StringVar(&o.cacheIn, "cache", "/dev/shm", "the folder in which nginx's caches lie, a tmpfs")
	flags.StringVar(&o.answerer, "answerer", "", "be this answerer instead, on -listen, until standard input ends (authhop starts itself so)")
	flags.StringVar(&o.listen, "listen", "", "where the answerer listens")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.answerer != "" {
		return answer(o.answerer, o.listen)
	}
	arms, err := pickArms(o.arms)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "authhop")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // nginx's worker may be somebody else
		return err
	}
	b := bench{options: o, dir: dir, program: filepath.Join(dir, "edgeguard")}
	if o.crossers > 0 || o.floodRate > 0 || slices.ContainsFunc(arms, func(a arm) bool { return a.node }) {
		if err := buildEdgeguard(ctx, b.program); err != nil {
			return err
		}
	}
	defer b.stop()
	if err := b.start(ctx, arms); err != nil {
		return err
	}
	if err := b.measure(ctx); err != nil {
		return err
	}
	if err := b.keepPace(ctx); err != nil {
		return err
	}
	if err := b.cross(ctx); err != nil {
		return err
	}
	if err := b.flood(ctx); err != nil {
		return err
	}
	b.print(out)
	return nil
}
