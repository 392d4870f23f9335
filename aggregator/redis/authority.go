package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
)

// loadKey reads the key file. A node whose file cannot be read stays out of the
// fleet, or keeps the keys that it has: it never works without a key instead.
func (l *Link) loadKey() error {
	var keys *aggregator.SigningKeys
	if l.config.KeyFile != "" {
		text, err := os.ReadFile(l.config.KeyFile)
		if err == nil {
			keys, err = aggregator.ParseSigningKeys(string(text))
		}
		if err != nil {
			return fmt.Errorf("fleet.key_file: %s: %w", l.config.KeyFile, err)
		}
	}
	l.judge.Store(fleet.NewAuthority(keys, l.config.Require, l.config.Namespace))
	return nil
}

// reloadKey reads the key file again.
func (l *Link) reloadKey() {
	if err := l.loadKey(); err != nil {
		l.node.Alarm("key", "file", "the fleet key cannot be read again, and the node keeps the one that it has: "+shorten(err.Error()))
		return
	}
	l.node.Calm("key", "file")
}

// judged is a record of the fleet with what this node makes of it.
type judged struct {
	record aggregator.Record
	trust  blocklist.Trust
	err    error
}

func (l *Link) check(prefix, record, mac string) judged {
	var j judged
	j.record, j.trust, j.err = l.judge.Load().Check(prefix, record, mac, l.node.Epoch(l.node.Now()))
	return j
}

// mark returns what the ledger keeps of it.
func (j *judged) mark() aggregator.Judged {
	return aggregator.Judged{Wrong: isWrong(j.err), Signed: j.trust.Signed, Newer: errors.Is(j.err, aggregator.ErrNewer)}
}

// housekeep is called each second: it replaces what is wrong, takes back marks
// without an unblock, looks again at totals in doubt, and raises and ends the alarms
// about unsigned records and those of a later version.
func (l *Link) housekeep(ctx context.Context) error {
	l.alarmUnsigned()
	if n := l.mirror.Newer(); n > 0 {
		l.node.Alarm("version", "record", fmt.Sprintf("%d records of the fleet's list are of a later version, and ignored here: upgrade this node", n))
	} else {
		l.node.Calm("version", "record")
	}
	l.calmRejected(l.mirror.Has)
	for _, k := range l.pusher.doubts.Report(l.node.Now(), l.node) {
		l.PushNow(k)
	}
	if err := l.refloor(ctx, time.Now()); err != nil {
		return err
	}
	return l.replaceWrong(ctx, time.Now())
}

func (l *Link) alarmUnsigned() {
	judge := l.judge.Load()
	switch {
	case l.unsigned() == 0:
		l.node.Calm("unsigned", "list")
	case judge.Requires():
		l.node.Alarm("unsigned", "list", "the fleet's list has records without a signature, which are ignored here (fleet.key_mode: require): find the nodes without the key, or who else writes to Redis")
	default:
		l.node.Alarm("unsigned", "list", "the fleet's list has records without a signature, which are accepted here (fleet.key_mode: accept): find the nodes without the key, or who else writes to Redis")
	}
}

// unsigned returns how many records of the fleet's list have no valid MAC; 0 on
// a node without a key.
func (l *Link) unsigned() int {
	if !l.judge.Load().Signs() {
		return 0
	}
	return l.mirror.Unsigned()
}

// SignAll has the list read in full, and the MAC of each record that this node's list
// vouches for published by the key that signs now: no node does that by itself, or
// the two halves of a fleet in a rotation would replace each other's MACs for ever.
func (l *Link) SignAll() {
	l.signAll.Store(true)
	l.Resync()
}

// Lead makes a step of a lease, in a fleet that this node has joined. It waits for Redis.
func (l *Link) Lead(ctx context.Context, x *Lease, spare bool) error {
	return x.Step(ctx, l.leases(), spare)
}

// Leave ends a lease that this node holds. It waits for Redis.
func (l *Link) Leave(ctx context.Context, x *Lease) error { return x.Release(ctx, l.leases()) }

func (l *Link) leases() LeaseWay {
	return LeaseWay{Client: l.client, Key: l.pusher.names.leases, Judge: l.judge.Load(), Now: l.fleetNow(), Timeout: l.config.Timeout}
}

// thresholdLoop keeps the fleet's thresholds, where the node requires signatures: else
// who can write to Redis could set them.
func (l *Link) thresholdLoop(ctx context.Context) error {
	if l.config.Thresholds == nil || !l.config.Require {
		<-ctx.Done()
		return ctx.Err()
	}
	sync := thresholdSync{
		Client: l.client, Key: l.pusher.names.thresholds, Timeout: l.config.Timeout, Monitor: l.config.Monitor, Node: l.config.Thresholds,
		Judge: l.judge.Load, Now: l.fleetNow, Nodes: l.stats.nodes.Load, Alarm: l.node.Alarm, Calm: l.node.Calm,
	}
	return sync.Run(ctx)
}
