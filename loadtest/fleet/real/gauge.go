package real

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/program"
)

// gauge is what Redis and the nodes had done and spent at a moment.
type gauge struct {
	at       time.Time
	kinds    map[string]Count // of the taps
	in, out  uint64           // bytes, by Redis' own count
	redis    time.Duration    // on the processor
	nodes    []time.Duration
	decided  uint64            // requests that the nodes have decided
	commands map[string]uint64 // calls by INFO commandstats
}

// read reads all. The taps are read first: what Redis counts beyond them is the
// question itself.
func (f *fleet) read(ctx context.Context) (g gauge, err error) {
	g.at, g.kinds = time.Now(), f.ledger.since(nil)
	stats, err := f.redis.Info(ctx, "stats")
	if err != nil {
		return g, err
	}
	if g.redis, err = redisCPU(ctx, f.redis); err != nil {
		return g, err
	}
	commands, err := f.redis.Info(ctx, "commandstats")
	if err != nil {
		return g, err
	}
	var errs []error
	whole := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		errs = append(errs, err)
		return n
	}
	g.in, g.out = whole(stats["total_net_input_bytes"]), whole(stats["total_net_output_bytes"])
	g.commands = map[string]uint64{}
	for name, text := range commands {
		calls, _, _ := strings.Cut(strings.TrimPrefix(text, "calls="), ",")
		g.commands[strings.TrimPrefix(name, "cmdstat_")] = whole(calls)
	}
	if err := errors.Join(errs...); err != nil {
		return g, fmt.Errorf("INFO of Redis: %w", err)
	}
	for _, n := range f.nodes {
		spent, err := program.CPU(n.process.PID())
		if err != nil {
			return g, err
		}
		status, err := n.api.Status(ctx)
		if err != nil {
			return g, err
		}
		g.nodes = append(g.nodes, spent)
		g.decided += status.Events.Decided
	}
	return g, nil
}
