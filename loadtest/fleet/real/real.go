// Package real runs a fleet of real edgeguard processes on one Redis, and counts
// what they send to it and who is blocked where and when. The same traffic on
// virtual time, by package fleet, stands beside it: where the two are the same, what
// the model says of a thousand nodes may be believed.
//
// The nodes are asked by forward auth over unix sockets, without a web server in
// between: each request is answered, so that none is lost unseen. A tap between
// each node and Redis counts commands, keys and bytes by kind, since heartbeats
// and the reading of streams cost the same however much is pushed.
package real

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"edgeguard/internal/program"
	"edgeguard/internal/sleep"
	"edgeguard/loadtest/redisserver"
	"edgeguard/loadtest/traffic"
)

// Options says what to run. The zero value is the short run of half a minute.
type Options struct {
	Seed uint64
	// Full takes three times as long.
	Full bool
	// Program is the edgeguard that runs; it is built if empty.
	Program string
	// Scenario is the traffic; nil is [Mixed] of eight nodes. All its time is
	// waited for.
	Scenario *traffic.Scenario
	// Brief leaves out what each command costs Redis.
	Brief bool
}

// settles is how long after the last request pushes and blocks still come: two
// pushes, as the model waits.
const settles = time.Second

// Run starts the fleet, sends it the traffic and ends it. Where there is no
// redis-server the result says so. ctx ends it with nothing left running.
func Run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	r, err := run(ctx, o, notes)
	if ctx.Err() != nil {
		return nil, ctx.Err() // what else failed, failed by this
	}
	return r, err
}

func run(ctx context.Context, o Options, notes io.Writer) (*Result, error) {
	if _, err := redisserver.Path(); errors.Is(err, redisserver.ErrAbsent) {
		return &Result{Missing: err.Error()}, nil
	} else if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	f := &fleet{scenario: Mixed(8, 14, 300), program: o.Program, folder: folder}
	defer f.stop()
	if o.Full {
		f.scenario = Mixed(8, 48, 300)
	}
	if o.Scenario != nil {
		f.scenario = *o.Scenario
	}
	if f.program == "" {
		fmt.Fprintln(notes, "building edgeguard")
		if f.program, err = program.Compile(ctx, folder, program.Edgeguard); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(notes, "starting Redis and %d nodes\n", f.scenario.Nodes)
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	m, err := f.measure(ctx, o.Seed, notes)
	if err != nil {
		return nil, err
	}
	r := f.result(m)
	fmt.Fprintln(notes, "the same on virtual time")
	if err := f.model(ctx, o.Seed, m, r); err != nil {
		return nil, err
	}
	if o.Brief {
		return r, nil
	}
	fmt.Fprintln(notes, "what each command costs Redis")
	f.stopNodes()
	each := 500 * time.Millisecond
	if o.Full {
		each *= 3
	}
	r.RealTime.Costs, err = costs(ctx, f.redis, each)
	return r, err
}

// measured is what one run gave.
type measured struct {
	begun, ended      gauge
	lasted            time.Duration // from the first request to the last push
	clients, requests int
	crossings         map[uint32]time.Duration
	senders           []*sender
}

// measure sends the traffic, and waits until all is said.
func (f *fleet) measure(ctx context.Context, seed uint64, notes io.Writer) (*measured, error) {
	m := &measured{crossings: crossings(f.scenario, seed)}
	for _, n := range f.nodes {
		m.senders = append(m.senders, newSender(n.folder, m.crossings))
	}
	for r := range f.scenario.Requests(seed) {
		s := m.senders[r.Node]
		s.requests = append(s.requests, r)
		m.requests++
		m.clients = max(m.clients, int(r.Client)+1)
		m.lasted = r.At + settles
	}
	listening, done := context.WithCancel(ctx)
	defer done()
	listened := make(chan error, 1)
	go func() {
		listened <- f.each(func(_ int, n *node) error { n.listen(listening); return nil })
	}()
	var err error
	if m.begun, err = f.read(ctx, nil); err != nil {
		return nil, err
	}
	// Every scenario begins with a slot.
	slot := f.scenario.Window / 60
	begin := time.Now().Truncate(slot).Add(slot)
	fmt.Fprintf(notes, "%d requests of scenario %s\n", m.requests, f.scenario.Name)
	sleep.For(ctx, time.Until(begin))
	if err := f.each(func(i int, _ *node) error { return m.senders[i].send(ctx, begin) }); err != nil {
		return nil, err
	}
	sleep.For(ctx, time.Until(begin.Add(m.lasted)))
	if m.ended, err = f.read(ctx, m.begun.kinds); err != nil {
		return nil, err
	}
	f.await(ctx, m.crossings)
	done()
	<-listened
	for _, n := range f.nodes {
		if n.failed != nil {
			return nil, n.failed
		}
	}
	if sent, decided := uint64(m.requests), m.ended.decided-m.begun.decided; sent != decided {
		return nil, fmt.Errorf("of %d requests the nodes decided %d", sent, decided)
	}
	return m, nil
}

// await waits some more for blocks that must come: on a busy machine they may be late,
// and that is no other block.
func (f *fleet) await(ctx context.Context, crossings map[uint32]time.Duration) {
	const most = 10 * time.Second
	lacks := func() bool {
		for client := range crossings {
			for _, n := range f.nodes {
				if _, ok := n.since(prefix(client)); !ok {
					return true
				}
			}
		}
		return false
	}
	for begun := time.Now(); lacks() && time.Since(begun) < most && sleep.For(ctx, 20*time.Millisecond); {
	}
}
