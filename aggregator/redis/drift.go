package redis

import (
	"context"
	"strconv"

	"edgeguard/aggregator/fleet"
)

// compareLists compares the mirror with the fleet's list, and has the whole list
// read or Redis' digest replaced where they differ.
func (l *Link) compareLists(ctx context.Context, s fleet.State) {
	l.cutoff.Store(s.Cutoff)
	digest, version := l.mirror.Digest(s.Cutoff)
	do := l.drift.Compare(&s, fleet.ListCopy{Digest: digest, Version: version, Syncs: l.stats.syncs.Load()})
	if do.Lost {
		l.lost()
	}
	if do.Read {
		signal(l.resync)
	}
	if do.Repair {
		l.repair(ctx, s, digest)
	}
}

// repair replaces Redis' digest by the mirror's. It stays wrong where its state
// was evicted or blocks were written without the library. If another node was
// first, or the list has changed, nothing happens. An error does not end the
// session: the next mismatches bring it again.
func (l *Link) repair(ctx context.Context, s fleet.State, digest string) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	err := l.client.FCall(ctx, Function("repair"), []string{l.pusher.names.state},
		strconv.FormatInt(s.Changes, 10), s.Digest, digest).Err()
	if err != nil {
		l.stats.failed("repair")
		l.stats.note(err)
	}
}
