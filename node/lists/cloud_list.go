package lists

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/enforce"
	"edgeguard/internal/sleep"
)

const (
	// joining is how long a node that starts waits for its fleet before it says that
	// nobody can be chosen.
	joining = 15 * time.Second
	// A node that failed so often lets another keep the list, for so long.
	mostFailures, rest = 3, 10 * time.Minute
	// leaving bounds the giving up of a lease.
	leaving = 2 * time.Second
	// cloudsEmptying is how long a node waits for another that wants a list it is to empty.
	cloudsEmptying = 3 * redis.LeaseLasts
)

// keeper is a list of either kind.
type keeper interface {
	enforce.Enforcer
	Left() int
	Refuses() func(netip.Prefix) bool
	Look(ctx context.Context) ([]string, error)
}

// keptCloud is a list that one node of a fleet keeps at a time. It is safe for concurrent use.
type keptCloud struct {
	keeper
	name  string
	deps  CloudDeps
	lease *redis.Lease

	mu       sync.Mutex // guards all below
	spare    bool       // it is not this node's to keep now
	joined   bool       // the fleet has answered once, or there is none
	failures int        // since the last success
	failed   error      // the last failure while it rests
	left     int
}

// The runner has the list watched, and so its lease kept.
var _ enforce.Watched = (*keptCloud)(nil)

func newKept(name, leased string, k keeper, deps CloudDeps) *keptCloud {
	return &keptCloud{keeper: k, name: name, deps: deps, lease: redis.NewLease(leased, deps.Node)}
}

// Replace makes the list hold these entries, if it is this node's to keep.
func (l *keptCloud) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	state, until, err := l.mine(ctx)
	l.mu.Lock()
	l.spare = state != alone && state != holdsLease
	failed := l.failed
	l.mu.Unlock()
	switch {
	case err != nil:
		return fmt.Errorf("no node of the fleet can be chosen to keep this list: %w", err)
	case state == standby && failed != nil && l.lease.Holder() == "":
		return fmt.Errorf("no other node of the fleet keeps this list: %w", failed)
	case state == standby:
		return nil
	case state == holdsLease:
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	err = l.keeper.Replace(ctx, now, entries)
	l.note(ctx, state, err)
	return err
}

// The states of a list.
const (
	alone      = "alone"
	holdsLease = "held"
	standby    = "standby"
	cutOff     = "cut off"
)

// mine returns whether this node keeps the list, and until when. A node that starts waits
// for its fleet.
func (l *keptCloud) mine(ctx context.Context) (state string, until time.Time, err error) {
	for since := time.Now(); ; {
		if until, is := l.lease.Until(time.Now()); is {
			return holdsLease, until, nil
		}
		if state, err = l.step(ctx); err == nil {
			until, _ = l.lease.Until(time.Now())
			return state, until, nil
		}
		l.mu.Lock()
		joined := l.joined || time.Since(since) > joining
		l.joined = joined
		l.mu.Unlock()
		if joined || !sleep.For(ctx, time.Second) {
			return cutOff, time.Time{}, err
		}
	}
}

// step makes a step of the lease, and returns the state after it.
func (l *keptCloud) step(ctx context.Context) (state string, err error) {
	isAlone, err := l.deps.Lead(ctx, l.lease, l.deps.Monitor())
	_, is := l.lease.Until(time.Now())
	switch {
	case isAlone:
		state = alone
	case is:
		state = holdsLease
	case err != nil:
		return cutOff, err
	default:
		state = standby
	}
	l.mu.Lock()
	l.joined = true
	l.mu.Unlock()
	return state, nil
}

// note notes how a push ended. A node that fails lets another try.
func (l *keptCloud) note(ctx context.Context, state string, err error) {
	left := l.keeper.Left()
	l.mu.Lock()
	before := l.left
	l.failures++
	tired := err != nil && l.failures >= mostFailures && state == holdsLease
	l.failed = err
	if err == nil {
		l.failures, l.left = 0, left
	}
	if tired {
		l.failures = 0
	}
	l.mu.Unlock()
	switch {
	case tired:
		l.lease.AbstainUntil(time.Now().Add(rest))
		_ = l.deps.Leave(ctx, l.lease)
	case err == nil && left > 0 && before == 0:
		l.deps.Log.Warn("blocks are left out of a list that has no room for them, or cannot hold them", "enforcer", l.name, "left_out", left)
	case err == nil && left == 0 && before > 0:
		l.deps.Log.Info("no block is left out of the list any more", "enforcer", l.name)
	}
}

// Watch keeps the lease until ctx is done, and calls changed when the list becomes this
// node's, or ceases to be.
func (l *keptCloud) Watch(ctx context.Context, changed func()) {
	last := ""
	for sleep.For(ctx, redis.LeaseEvery) {
		state, _ := l.step(ctx)
		if last != "" && state != last {
			changed()
		}
		last = state
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	_ = l.deps.Leave(ctx, l.lease) // otherwise it ends by itself
}

// Left returns how many blocks are left out of the list; 0 where another node keeps it.
func (l *keptCloud) Left() int {
	if _, others := l.KeptBy(); others {
		return 0
	}
	return l.keeper.Left()
}

// Refuses returns a function that reports whether all of a prefix is in the list, as this
// node wrote it.
func (l *keptCloud) Refuses() func(netip.Prefix) bool {
	if _, others := l.KeptBy(); others {
		return func(netip.Prefix) bool { return false }
	}
	return l.keeper.Refuses()
}

// KeptBy returns the other node that keeps the list, and whether it is not this one's to
// keep.
func (l *keptCloud) KeptBy() (node string, others bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.spare {
		return "", false
	}
	return l.lease.Holder(), true
}

// errShared is of a list that other nodes may keep, of a fleet that this node has left.
var errShared = errors.New("other nodes of the fleet may keep it: if none does, run `edgeguard enforce empty --shared`")

// emptyCloudAlone empties a recorded list that this node's config no longer has, unless
// another node keeps it: then it returns [enforce.ErrInUse].
func emptyCloudAlone(ctx context.Context, o *enforce.Owned, deps CloudDeps) error {
	list, leased, err := opened(o)
	if err != nil {
		return err
	}
	l := newKept(o.Path, leased, list, deps)
	l.deps.Monitor = func() bool { return true } // whoever wants it comes first
	for since := time.Now(); ; {
		state, err := l.step(ctx)
		switch {
		case state == alone && IsShared(o):
			return errShared
		case state == alone || state == holdsLease:
			defer func() { _ = deps.Leave(context.WithoutCancel(ctx), l.lease) }()
			return emptied(ctx, list)
		case err == nil && l.lease.Holder() != "":
			return enforce.ErrInUse
		case time.Since(since) > cloudsEmptying:
			return errors.Join(errors.New("the fleet does not say whether another node keeps it"), err)
		}
		if !sleep.For(ctx, redis.LeaseEvery/2) {
			return ctx.Err()
		}
	}
}
