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
// been ours. It also reads the counters.
func (f *Filter) Watch(ctx context.Context, lost func()) {
	tick := time.NewTicker(watching)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			var changed bool
			// What fails here fails in Replace, which says so.
			_ = f.locked(ctx, func() (err error) {
				changed, err = f.look(time.Now())
				return err
			})
			if changed {
				lost()
			}
		}
	}
}

// look reports whether Replace should look again. It needs the lock.
func (f *Filter) look(now time.Time) (changed bool, err error) {
	if f.in == nil {
		return false, nil // Replace is tried again until it succeeds
	}
	c, err := f.kernel.connect()
	if err != nil {
		return false, err
	}
	counts, _ := count(c, f.table.table()) // a table that is gone has none
	f.counts.Store(&counts)
	generation, err := f.kernel.generation()
	switch {
	case err != nil || f.known && generation == f.generation:
		return false, err
	case now.Sub(f.read) >= sparing*f.reading:
		return true, nil
	}
	there, err := readTable(c, f.table.table())
	return err == nil && !there.isLayout(f.table), err
}

// Counts returns how many packets of blocked addresses came since the table was made, as
// Watch read it last. It waits for nothing.
func (f *Filter) Counts() Counts {
	if counts := f.counts.Load(); counts != nil {
		return *counts
	}
	return Counts{}
}

// count reads the counters of a table.
func count(c *nftables.Conn, table *nftables.Table) (counts Counts, err error) {
	objects, err := c.GetNamedObjects(table)
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

// Clear deletes the table of a name, with all that it blocks. It returns
// enforce.ErrNotOurs where edgeguard did not make it, and nil where it is not there.
func Clear(ctx context.Context, table string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k := &kernel{}
	defer k.closeConn()
	return k.clear(table)
}

func (k *kernel) clear(table string) error {
	c, err := k.connect()
	if err != nil {
		return err
	}
	var not error
	for _, device := range []string{"", "any"} {
		t := layout{config: Config{Table: table, Device: device}}.table()
		there, err := readTable(c, t)
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
