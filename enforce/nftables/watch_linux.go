package nftables

import (
	"context"
	"fmt"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

const (
	// watching is how often it is asked whether somebody changed rules: one message,
	// which the kernel answers by a number. Its notifications would show all that edgeguard
	// itself changes, too.
	watching = time.Second
	// sparing bounds the load where other programs change their rules all the time:
	// reading all elements takes at most one part of so many.
	sparing = 30
)

// Watch calls lost when the table may have lost something, until ctx is done: its rules
// or sets are not as they were, or somebody changed rules of this host and it may have
// been ours.
func (e *Enforcer) Watch(ctx context.Context, lost func()) {
	tick := time.NewTicker(watching)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if e.changed(time.Now()) {
				lost()
			}
		}
	}
}

// changed reports whether Replace should look again.
func (e *Enforcer) changed(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.in == nil {
		return false // Replace is tried again until it succeeds
	}
	generation, err := e.kernel.generation()
	if err != nil || e.known && generation == e.generation {
		return false
	}
	if now.Sub(e.read) >= sparing*e.reading {
		return true
	}
	c, err := e.kernel.connect()
	if err != nil {
		return false
	}
	there, err := look(c, e.table.table())
	return err == nil && !there.is(e.table)
}

// Counts returns how many packets of blocked addresses came since the table was made.
func (e *Enforcer) Counts() (counts Counts, err error) {
	c, err := e.kernel.connect()
	if err != nil {
		return Counts{}, explain(err)
	}
	objects, err := c.GetNamedObjects(layout{config: e.config}.table())
	if err != nil {
		return Counts{}, explain(err)
	}
	for _, o := range objects {
		named, isNamed := o.(*nftables.NamedObj)
		if !isNamed {
			continue
		}
		counter, isCounter := named.Obj.(*expr.Counter)
		switch {
		case !isCounter:
		case named.Name == "dropped4", named.Name == "dropped6":
			counts.Dropped += counter.Packets
		case named.Name == "passed4", named.Name == "passed6":
			counts.Passed += counter.Packets
		}
	}
	return counts, nil
}

// Clear deletes the table of a name, with all that it blocks. It returns ErrNotOurs
// where edgeguard did not make it, and nil where it is not there.
func Clear(ctx context.Context, table string) error { return kernel{}.clear(ctx, table) }

func (k kernel) clear(ctx context.Context, table string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := k.connect()
	if err != nil {
		return explain(err)
	}
	var not error
	for _, device := range []string{"", "any"} {
		t := layout{config: Config{Table: table, Device: device}}.table()
		there, err := look(c, t)
		switch {
		case err != nil:
			return err
		case there.ours:
			c.DelTable(t)
		case there.there:
			not = foreign(t)
		}
	}
	if err := c.Flush(); err != nil {
		return explain(fmt.Errorf("delete the table %s: %w", table, err))
	}
	return not
}
