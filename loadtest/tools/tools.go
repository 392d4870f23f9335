// Package tools compares edgeguard with other programs that limit what clients do, on the
// same traffic: each of its ways beside nginx and HAProxy, nginx's limit_req, fail2ban and
// HAProxy's stick table.
//
// All have the same limit and window, as far as each can say it, and web servers that take
// the client's address from X-Forwarded-For. First a seeded scenario is played on all at once,
// in real time, and each is judged by the exact log of what was sent: who was caught, who was
// hit though under the limit, how long it took. Then each takes turns under a load that nobody
// limits, and what is taken is processor time by /proc and the time of a request.
//
// It needs Linux, and the programs. What is not installed is said in its row, and the
// rest goes on.
package tools

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/internal/program"
	"edgeguard/loadtest/traffic"
)

// Options are what to run.
type Options struct {
	Seed uint64
	Full bool // more rounds, and a scenario of several windows
	// Arms are which to run, of those that [Arms] names, each with the one that it is
	// compared with. Default: all.
	Arms []string
	// Edgeguard is the path of the program to run. Default: it is built, with the go
	// command.
	Edgeguard string

	scenario *traffic.Scenario // instead of the shop
	hurry    bool              // play all at once
	judged   bool              // only play
}

// run is one run.
type run struct {
	options  Options
	notes    io.Writer
	scenario traffic.Scenario
	rounds   int
	requests int // of a turn
	dir      string
	result   *Result
	mu       sync.Mutex // guards the rows' Missing
}

// Run runs the arms and returns what they did. Progress goes to notes. When it returns, also
// with an error or because ctx ended, nothing runs on.
func Run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	arms, err := pick(o.Arms)
	if err != nil {
		return nil, err
	}
	t := &run{options: o, notes: notes, rounds: 3, requests: 3000}
	length := 20 * time.Second
	if o.Full {
		length, t.rounds, t.requests = 4*time.Minute, 7, 10_000
	}
	t.scenario = traffic.Shop(length)
	if o.scenario != nil {
		t.scenario = *o.scenario
	}
	t.result = t.newResult(arms)
	if t.dir, err = os.MkdirTemp("", "tools"); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(t.dir) }()     // if it cannot be, no figure is worse
	if err := os.Chmod(t.dir, 0o755); err != nil { // a worker of nginx may be somebody else
		return nil, err
	}
	if o.Edgeguard == "" {
		t.note("building edgeguard")
		if t.options.Edgeguard, err = program.Compile(ctx, t.dir, program.Edgeguard); err != nil {
			return nil, err
		}
	}
	limit := rule{t.scenario.Limit, t.scenario.Window}
	if err := t.with(ctx, arms, "play", limit, t.playAll); err != nil || o.judged {
		return t.result, err
	}
	return t.result, t.with(ctx, arms, "cost", rule{costLimit, t.scenario.Window}, t.takeTurns)
}

// with starts the arms' sites, does something with those that run, and stops them.
func (t *run) with(ctx context.Context, arms []*arm, what string, r rule, do func(context.Context, []*site) error) error {
	var sites []*site
	defer func() {
		var wg sync.WaitGroup
		for _, s := range sites {
			wg.Go(s.stop)
		}
		wg.Wait()
	}()
	t.note("%s: starting", what)
	var wg sync.WaitGroup
	started := make([]*site, len(arms))
	for i, a := range arms {
		wg.Go(func() { started[i] = t.start(ctx, a, r, what) })
	}
	wg.Wait()
	sites = slices.DeleteFunc(started, func(s *site) bool { return s == nil })
	if err := ctx.Err(); err != nil {
		return err
	}
	t.note("%s: %d arms", what, len(sites))
	return do(ctx, sites)
}

// start starts an arm's site. It returns nil where that cannot be, and says so in its row.
func (t *run) start(ctx context.Context, a *arm, r rule, what string) *site {
	err := a.missing()
	if err == nil {
		var s *site
		if s, err = startSite(ctx, a, r, t.options.Edgeguard, filepath.Join(t.dir, what+"-"+a.name)); err == nil {
			return s
		}
		s.stop()
	}
	t.drop(ctx, a, err)
	return nil
}

// drop says that an arm is not measured, or not wholly. It says nothing of what an interrupt
// ended.
func (t *run) drop(ctx context.Context, a *arm, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.row(a)
	if ctx.Err() != nil || row.Missing != "" {
		return
	}
	row.Missing, _, _ = strings.Cut(err.Error(), "\n") // what its programs said comes after
	t.note("%s: %v", a.name, err)
}

func (t *run) note(format string, args ...any) {
	fmt.Fprintf(t.notes, "tools: "+format+"\n", args...)
}
