package blocklist

import (
	"iter"
	"math"
	"net/netip"
	"time"

	"edgeguard"
)

const (
	// byHand is how many versions an allowance is ahead of all that are known of
	// its prefix. A node that is cut off from its fleet may go on blocking the
	// prefix, one version a block; an operator's word must not lose to these when
	// they are heard of.
	byHand = 1 << 20
	// rememberAllowance bounds how long an allowance that was taken back is
	// remembered: one that was for ever would be for ever. A node that was away
	// for longer brings its old allowances along.
	rememberAllowance = 366 * 24 * time.Hour
)

// Allowance gives the longest live allowance made at run time that covers all of
// a prefix; ok is false if there is none. The allowlist of SetAllow is not asked.
func (l *List) Allowance(now time.Time, prefix netip.Prefix) (_ edgeguard.Block, ok bool) {
	v := l.view.Load()
	prefix, ok = clean(prefix)
	if v == nil || v.allowances == nil || !ok {
		return edgeguard.Block{}, false
	}
	e := v.allowance(now, prefix)
	if e == nil {
		return edgeguard.Block{}, false
	}
	return e.block, true
}

// Allowances gives the live allowances made at run time in the order of their
// prefixes, as they were when the iteration began.
func (l *List) Allowances(now time.Time) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		v := l.view.Load()
		if v == nil || v.allowances == nil {
			return
		}
		for _, e := range v.allowances.AllSorted() {
			if e.binds(now, false) && !yield(e.block) {
				return
			}
		}
	}
}

// Disallow takes back the allowance of exactly this prefix that was made at run
// time: it merges a tombstone one version above it, and returns that. It ends
// with the allowance or after 366 days, whichever is sooner. ok is false if no
// such allowance stands.
func (l *List) Disallow(prefix netip.Prefix, now time.Time, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	l.mu.Lock()
	defer l.unlockAndTell()
	e, ok := l.current.allowances.Get(prefix)
	if !ok || !e.binds(now, false) {
		return edgeguard.Block{}, false
	}
	lifted := e.lifted(now, reason, origin)
	if latest := lifted.block.Since.Add(rememberAllowance); lifted.block.Until.After(latest) {
		lifted.block.Until = latest
	}
	l.replace(e, lifted, now)
	return lifted.block, true
}

// nextVersion is that of a new record of this node's own. It needs the lock.
func (l *List) nextVersion(b *edgeguard.Block) uint64 {
	known := uint64(0)
	if e := l.known(b.Prefix); e != nil {
		known = e.block.Version
	}
	if b.Allow && known < math.MaxUint64-byHand {
		return known + byHand
	}
	return known + 1
}
