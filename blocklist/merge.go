package blocklist

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"edgeguard"
)

// Why a block is refused. Merge and Force wrap them with the prefix and the fix.
var (
	ErrInvalid     = errors.New("invalid prefix")
	ErrUnspecified = errors.New("not a client's address")
	ErrTooWide     = errors.New("too wide without force")
	ErrAllowed     = errors.New("allowed")
	ErrProtected   = errors.New("protected")
	ErrExpired     = errors.New("already expired")
)

// Merge accepts a block, an allowance or a tombstone that was made on this node, and
// reports whether it changed the list. Of two records of one prefix the
// one with the greater version stays; of equal versions the allowance, then the
// one that ends later. An older record is not an error and changes nothing.
//
// Merge refuses, with the errors above, prefixes that are zero, unmasked or mapped
// IPv4; prefixes wider than [edgeguard.WidestV4] or [edgeguard.WidestV6]; blocks
// that begin at 0.0.0.0 or ::, or are inside an allowlisted or protected prefix;
// and blocks that have expired. An expired one that is newer than what is known is
// still remembered for the retention time, so that it ends what it replaced.
//
// A block inside a run-time allowance is accepted and sleeps. So is a block around
// an allowlisted or protected address, which Find exempts: refusing it would let
// one such address shield its whole network. A tombstone is refused only if its
// prefix is invalid or its retention has ended.
func (l *List) Merge(b edgeguard.Block, now time.Time) (changed bool, err error) {
	return l.merge(&entry{block: normalize(b)}, now)
}

// Force is Merge for an operator who insists: it also accepts wide prefixes and
// blocks of protected addresses. A block inside the allowlist is still refused.
func (l *List) Force(b edgeguard.Block, now time.Time) (changed bool, err error) {
	return l.merge(&entry{block: normalize(b), trust: forced | here}, now)
}

// Add makes a block or an allowance on this node: it is Merge, or Force if force is set,
// with the next version, or b's own if that is greater. An allowance, and a block
// by [edgeguard.ManualRule], skips many versions, so that it outranks what rules of
// other nodes do before they receive it. A block inside an active allowance is
// refused with ErrAllowed. Add returns the record, and whether it changed the list.
func (l *List) Add(b edgeguard.Block, force bool, now time.Time) (_ edgeguard.Block, changed bool, err error) {
	t := trust(0)
	if force {
		t = forced | here
	}
	return l.add(&entry{block: normalize(b), trust: t}, now)
}

// Confirm is Add for a record of the fleet that an operator of this node confirms.
// It is forced for all nodes, so that none asks for a second confirmation, but it
// does not override what is protected here: nobody insisted on that.
func (l *List) Confirm(b edgeguard.Block, now time.Time) (_ edgeguard.Block, changed bool, err error) {
	return l.add(&entry{block: normalize(b), trust: forced}, now)
}

func (l *List) add(e *entry, now time.Time) (_ edgeguard.Block, changed bool, err error) {
	return l.addUnless(e, now, func(*entry) bool { return false })
}

// addUnless is add, unless the block of the prefix that is in force stays: it is
// returned then.
func (l *List) addUnless(e *entry, now time.Time, stays func(*entry) bool) (_ edgeguard.Block, changed bool, err error) {
	if err := l.checkPrefix(e); err != nil {
		return e.block, false, err
	}
	l.mu.Lock()
	defer l.unlockAndNotify()
	if err := l.checkAllowance(e, now); err != nil {
		return e.block, false, err
	}
	if old, ok := l.blocks.Get(e.block.Prefix); ok && old.binds(now, false) && stays(old) {
		return old.block, false, nil
	}
	e.block.Version = max(e.block.Version, l.nextVersion(&e.block))
	e.trust = l.trustOfOwn(e.trust)
	changed, err = l.mergeChecked(e, now)
	return e.block, changed, err
}

// Lift takes back the block of exactly this prefix: it merges and returns its
// [Tombstone]. The tombstone's Since is the moment of the lift: nodes that receive
// it forget what they counted before. ok is false if no such block is in force.
func (l *List) Lift(prefix netip.Prefix, now time.Time, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	l.mu.Lock()
	defer l.unlockAndNotify()
	e, ok := l.blocks.Get(prefix)
	return l.liftEntry(e, ok, now, reason, origin, false)
}

// Withdraw merges the tombstone of a record of the fleet that never came into this list.
// It is forced if the record was: else no other node would accept a wide one.
func (l *List) Withdraw(tombstone edgeguard.Block, was Trust, now time.Time) error {
	_, err := l.merge(&entry{block: normalize(tombstone), trust: was.compact() & forced}, now)
	return err
}

// liftEntry merges an entry's tombstone, if the entry is there and has not ended. Where
// keep is set, no node forgets a count for one that no count made. It needs the lock.
func (l *List) liftEntry(e *entry, ok bool, now time.Time, reason, origin string, keep bool) (tombstone edgeguard.Block, _ bool) {
	if !ok || !e.binds(now, false) {
		return edgeguard.Block{}, false
	}
	tombstone = Tombstone(e.block, now, reason, origin)
	if owner := edgeguard.Owner(e.block.Rule); keep && owner != "" {
		tombstone.Rule = e.block.Rule
	} else if keep && e.block.Rule == edgeguard.ManualRule && !e.block.Allow {
		tombstone.Rule = edgeguard.OwnerRule(edgeguard.ManualRule) // an owner's forgets nothing: see [edgeguard.Block.Forgets]
	}
	l.replace(e, &entry{block: tombstone, trust: l.trustOfOwn(e.trust & forced)}, now) // forced, or no other node would accept a wide one
	return tombstone, true
}

// Version is the greatest version known of this prefix, tombstones and
// remembered records included; 0 if there is none.
func (l *List) Version(prefix netip.Prefix) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.recordOf(prefix); e != nil {
		return e.block.Version
	}
	return 0
}

func (l *List) merge(e *entry, now time.Time) (changed bool, err error) {
	if err := l.checkPrefix(e); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.unlockAndNotify()
	e.trust = l.trustOfOwn(e.trust)
	return l.mergeChecked(e, now)
}

// mergeChecked is merge behind the checks of the prefix. It needs the lock.
func (l *List) mergeChecked(e *entry, now time.Time) (changed bool, err error) {
	held, news, err := l.replacesKnown(e, now)
	switch {
	case !news && held != nil && compare(e, held) == 0:
		return l.vouch(held, e, now), err
	case !news:
		return false, err
	}
	if full := l.checkRoom(e, held, now); full != nil {
		return false, full
	}
	return l.replace(held, e, now), err
}

// replacesKnown compares a record with the known one of its prefix, possibly nil, and
// reports whether it replaces that. It needs the lock.
func (l *List) replacesKnown(e *entry, now time.Time) (held *entry, news bool, err error) {
	if err := l.checkExempt(e); err != nil {
		return nil, false, err
	}
	over := !now.Before(e.block.Until)
	if over && (!e.block.Lifted || l.forgotten(e, now)) {
		err = fmt.Errorf("%s until %s: %w", e.block.Prefix, e.block.Until.Format(time.RFC3339), ErrExpired)
	}
	if l.forgotten(e, now) {
		return nil, false, err
	}
	held = l.recordOf(e.block.Prefix)
	return held, held == nil || l.forgotten(held, now) || compare(e, held) > 0, err
}

// checkPrefix refuses what no list may contain.
func (l *List) checkPrefix(e *entry) error {
	p := e.block.Prefix
	switch {
	case !p.IsValid():
		return fmt.Errorf("block without a prefix: %w", ErrInvalid)
	case p.Addr().Is4In6():
		return fmt.Errorf("%s: %w: use its IPv4 form", p, ErrInvalid)
	case p != p.Masked():
		return fmt.Errorf("%s: %w: it has host bits, use %s", p, ErrInvalid, p.Masked())
	case e.block.Lifted:
		return nil
	case e.block.Version == math.MaxUint64:
		return fmt.Errorf("%s: %w: no version after %d is left to lift it", p, ErrInvalid, e.block.Version)
	case p.Addr().IsUnspecified() && !e.block.Allow:
		return fmt.Errorf("%s: %w: no client comes from %s", p, ErrUnspecified, p.Addr())
	case e.trust.has(forced):
		return nil
	case p.Addr().Is4() && p.Bits() < edgeguard.WidestV4:
		return fmt.Errorf("%s: %w: /%d is the widest", p, ErrTooWide, edgeguard.WidestV4)
	case !p.Addr().Is4() && p.Bits() < edgeguard.WidestV6:
		return fmt.Errorf("%s: %w: /%d is the widest", p, ErrTooWide, edgeguard.WidestV6)
	}
	return nil
}

// checkExempt refuses what this list must not block. It needs the lock.
func (l *List) checkExempt(e *entry) error {
	p := e.block.Prefix
	switch {
	case e.block.Lifted, e.block.Allow:
		return nil
	case l.current.allow.LookupPrefix(p):
		return fmt.Errorf("%s: %w: remove it from the allowlist first", p, ErrAllowed)
	case !e.trust.has(here) && l.current.protected.LookupPrefix(p):
		return fmt.Errorf("%s: %w: it is an address of this host or of one that it relies on", p, ErrProtected)
	case !e.trust.has(here) && l.current.peers.LookupPrefix(p):
		return fmt.Errorf("%s: %w: it is an address of another node of the fleet", p, ErrProtected)
	}
	return nil
}

// checkAllowance refuses a block inside an active allowance. It needs the lock.
func (l *List) checkAllowance(e *entry, now time.Time) error {
	b := &e.block
	if b.Allow || b.Lifted {
		return nil
	}
	if a := l.current.allowance(now, b.Prefix); a != nil {
		return fmt.Errorf("%s: %w: it is inside the allowance of %s", b.Prefix, ErrAllowed, a.block.Prefix)
	}
	return nil
}

// forgotten reports whether a record is too old even to be remembered.
func (l *List) forgotten(e *entry, now time.Time) bool {
	return !now.Before(e.block.Until.Add(l.retention))
}

// recordOf is the record of exactly this prefix, nil if there is none.
func (l *List) recordOf(p netip.Prefix) *entry {
	if e := l.current.index.exact(p); e != nil {
		return e
	}
	if e, ok := l.current.allowances.Get(p); ok {
		return e
	}
	return l.remembered[p]
}

// replace puts e in the place of old, possibly nil, and reports whether that
// matters except for the next merge. For an allowance that a block replaces, it
// also notifies that the allowance has ended.
func (l *List) replace(old, e *entry, now time.Time) (changed bool) {
	bound := old != nil && !old.remembered && old.binds(now, false)
	if bound && old.block.Allow && !e.block.Allow {
		ended := old.block
		ended.Until = now.Round(0).UTC()
		l.notify.add(ended)
	}
	over := !now.Before(e.block.Until)
	if over || e.block.Lifted {
		if old != nil {
			why := EndedInTime
			if e.block.Lifted {
				why = EndedByLift
			}
			l.notify.addEnded(old, why)
			l.remove(old)
		}
		l.remember(e)
	} else {
		l.stand(e, old, now)
	}
	l.publish()
	changed = bound || e.block.Lifted || !over
	if changed {
		l.notify.add(e.block)
	}
	return changed
}
