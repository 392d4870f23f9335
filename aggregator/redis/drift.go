package redis

import (
	"context"
	"strconv"

	"edgeguard/aggregator/fleet"
)

// driftCheck finds out whether this node's copy of the fleet's list agrees with Redis. It
// is of the goroutine that joins, then of the heartbeat loop.
type driftCheck struct {
	*wire
	mirror *fleet.Mirror
	beats  *heartbeats
	pushes *pushLoop
	resync chan<- struct{}
	drift  fleet.Drift
}

// compare compares the mirror with the fleet's list, and has the whole list
// read or Redis' digest replaced where they differ.
func (d *driftCheck) compare(ctx context.Context, s fleet.State) {
	d.beats.cutoff.Store(s.Cutoff)
	digest, version := d.mirror.Digest(s.Cutoff)
	do := d.drift.Compare(&s, fleet.ListCopy{Digest: digest, Version: version, Syncs: d.stats.syncs.Load()})
	if do.Lost {
		d.pushes.compareAll()
	}
	if do.Read {
		signal(d.resync)
	}
	if do.Repair {
		d.repair(ctx, s, digest)
	}
}

// repair replaces Redis' digest by the mirror's. It stays wrong where its state
// was evicted or blocks were written without the library. If another node was
// first, or the list has changed, nothing happens. An error does not end the
// session: the next mismatches bring it again.
func (d *driftCheck) repair(ctx context.Context, s fleet.State, digest string) {
	ctx, cancel := context.WithTimeout(ctx, d.config.Timeout)
	defer cancel()
	err := d.client.FCall(ctx, function("repair"), []string{d.names.state},
		strconv.FormatInt(s.Changes, 10), s.Digest, digest).Err()
	if err != nil {
		d.stats.failed("repair")
		d.stats.noteError(err)
	}
}
