package real

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"edgeguard/internal/program"
	"edgeguard/loadtest/redisserver"
	"edgeguard/loadtest/traffic"
)

// fleet is the processes of one run.
type fleet struct {
	scenario traffic.Scenario
	held     bool   // blocks that would refuse over a fifth of a node's requests are held there
	program  string // edgeguard
	folder   string // of this run: a short path, since a unix socket's is at most 107 bytes
	redis    *redisserver.Server
	nodes    []*node
	ledger   ledger
}

// start starts Redis and the nodes, and returns when all are one fleet. To be
// followed by stop, also after an error.
func (f *fleet) start(ctx context.Context) error {
	var err error
	if f.redis, err = redisserver.Start(ctx, f.folder, 0); err != nil {
		return err
	}
	if err := f.install(ctx); err != nil {
		return err
	}
	for i := range f.scenario.Nodes {
		n, err := f.startNode(i)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, n)
	}
	for _, n := range f.nodes {
		if err := n.joined(ctx, len(f.nodes)); err != nil {
			return err
		}
	}
	return nil
}

// install loads the functions that pushes call.
func (f *fleet) install(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, f.program, "fleet", "install", "--redis", "redis://"+f.redis.Addr).CombinedOutput()
	if err != nil {
		return fmt.Errorf("edgeguard fleet install: %w: %s", err, program.LastLine(out))
	}
	return nil
}

// stopNodes ends the nodes.
func (f *fleet) stopNodes() {
	_ = f.each(func(_ int, n *node) error { n.stop(); return nil })
	f.nodes = nil
}

// stop ends all that runs, and removes what it wrote.
func (f *fleet) stop() {
	f.stopNodes()
	if f.redis != nil {
		f.redis.Stop()
	}
	_ = os.RemoveAll(f.folder)
}

// each does something for each node at the same time.
func (f *fleet) each(do func(i int, n *node) error) error {
	errs := make([]error, len(f.nodes))
	var all sync.WaitGroup
	for i, n := range f.nodes {
		all.Go(func() { errs[i] = do(i, n) })
	}
	all.Wait()
	return errors.Join(errs...)
}
