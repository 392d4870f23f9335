package real

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// gauge is what Redis and the nodes had done and spent at a moment.
type gauge struct {
	at      time.Time
	kinds   map[string]Count // of the taps
	redis   time.Duration    // on the processor
	decided uint64           // requests that the nodes have decided
	entries uint64           // of streams, also those that a function puts there
}

// read reads all, of the taps what came after before. The taps are read first: what Redis counts beyond them is the
// question itself.
func (f *fleet) read(ctx context.Context, before map[string]Count) (g gauge, err error) {
	g.at, g.kinds = time.Now(), f.ledger.since(before)
	if g.redis, err = f.redis.CPU(ctx); err != nil {
		return g, err
	}
	commands, err := f.redis.Info(ctx, "commandstats")
	if err != nil {
		return g, err
	}
	calls, _, _ := strings.Cut(strings.TrimPrefix(commands["cmdstat_xadd"], "calls="), ",")
	g.entries, _ = strconv.ParseUint(calls, 10, 64) // nothing was put into a stream yet
	for _, n := range f.nodes {
		status, err := n.api.Status(ctx)
		if err != nil {
			return g, err
		}
		g.decided += status.Events.Decided
	}
	return g, nil
}
