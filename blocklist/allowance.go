package blocklist

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
)

// Allowance returns the longest live allowance made at run time that covers all of
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

// Allowances returns the live allowances made at run time in the order of their
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
// time: it merges its [Tombstone], and returns that. ok is false if no such
// allowance is in force.
func (l *List) Disallow(prefix netip.Prefix, now time.Time, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	l.mu.Lock()
	defer l.unlockAndNotify()
	e, ok := l.current.allowances.Get(prefix)
	return l.liftEntry(e, ok, now, reason, origin, false)
}
