package blocklist

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"edgeguard"
)

// Why a block is refused. Merge and Force wrap them with the prefix and the
// mend.
var (
	ErrInvalid     = errors.New("not a prefix that can be blocked")
	ErrUnspecified = errors.New("nobody's address")
	ErrTooWide     = errors.New("too wide without force")
	ErrAllowed     = errors.New("on the allowlist")
	ErrProtected   = errors.New("protected")
	ErrExpired     = errors.New("already over")
)

// Merge takes in a block, an allowance or a tombstone, made here or on another
// node, and reports whether the list is different for it. Of two records of one
// prefix the one with the greater version stays; of equal versions the
// allowance, and then the one that ends later. A record that is older than what
// is known is no error: it changes nothing.
//
// Refused, with the errors above, are prefixes that are zero, unmasked or
// mapped IPv4; what is wider than [edgeguard.WidestV4] or [edgeguard.WidestV6]; blocks that begin at
// 0.0.0.0 or ::, or are inside anything allowlisted or protected; and what is
// over. A block inside an allowance made at run time is taken, and sleeps. A
// block around an allowlisted or protected address is taken, since Find spares
// that address: refusing it would make one friend in a network the shield of
// all the others. (One that is over is still remembered for the retention time
// if it is newer than what is known, so that it ends what it replaced
// elsewhere.) A tombstone takes a block back and is refused only where the
// prefix is invalid or the retention is over.
func (l *List) Merge(b edgeguard.Block, now time.Time) (changed bool, err error) {
	return l.merge(&entry{block: normalize(b)}, now)
}

// Force is Merge on an operator's word: it blocks and allows wide prefixes, and
// blocks protected addresses too. What is allowlisted stays refused: take it off
// the allowlist first.
func (l *List) Force(b edgeguard.Block, now time.Time) (changed bool, err error) {
	return l.merge(&entry{block: normalize(b), forced: true}, now)
}

// Add makes a block or an allowance of this node's own, by force where forced:
// it is Merge or Force with the next version, or b's own if that is greater. An
// allowance, and a block by [edgeguard.ManualRule], takes many versions at once, so
// that it outlasts what rules of other nodes do before they hear of it. Where the prefix is inside a live allowance a
// block is refused with ErrAllowed. It returns the record as it stands, and
// whether the list is different for it.
func (l *List) Add(b edgeguard.Block, forced bool, now time.Time) (_ edgeguard.Block, changed bool, err error) {
	e := &entry{block: normalize(b), forced: forced}
	if err := l.checkPrefix(e); err != nil {
		return e.block, false, err
	}
	l.mu.Lock()
	defer l.unlockAndNotify()
	if !b.Allow {
		if a := l.current.allowance(now, b.Prefix); a != nil {
			return e.block, false, fmt.Errorf("%s: %w: the allowance of %s holds it", b.Prefix, ErrAllowed, a.block.Prefix)
		}
	}
	e.block.Version = max(e.block.Version, l.nextVersion(&e.block))
	changed, err = l.take(e, now)
	return e.block, changed, err
}

// Lift takes back the block of exactly this prefix: it merges its [Tombstone], and
// returns that. Since it is the moment of the lift, what was counted before it is
// forgotten wherever the tombstone comes. ok is false if no such block stands.
func (l *List) Lift(prefix netip.Prefix, now time.Time, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	l.mu.Lock()
	defer l.unlockAndNotify()
	e, ok := l.blocks.Get(prefix)
	return l.lift(e, ok, now, reason, origin)
}

// lift merges an entry's tombstone, if the entry is there and has not ended. It
// needs the lock.
func (l *List) lift(e *entry, ok bool, now time.Time, reason, origin string) (tombstone edgeguard.Block, _ bool) {
	if !ok || !e.binds(now, false) {
		return edgeguard.Block{}, false
	}
	tombstone = Tombstone(e.block, now, reason, origin)
	l.replace(e, &entry{block: tombstone, forced: e.forced}, now) // or no other node would believe a wide one
	return tombstone, true
}

// Version is the greatest version known of this prefix, tombstones and
// remembered records included; 0 if there is none.
func (l *List) Version(prefix netip.Prefix) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.known(prefix); e != nil {
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
	return l.take(e, now)
}

// take is merge behind the checks of the prefix. It needs the lock.
func (l *List) take(e *entry, now time.Time) (changed bool, err error) {
	held, news, err := l.weigh(e, now)
	if !news {
		return false, err
	}
	if full := l.checkRoom(e, held, now); full != nil {
		return false, full
	}
	return l.replace(held, e, now), err
}

// weigh compares a record with what is held of its prefix, possibly nil, and
// reports whether it is to replace that. It needs the lock.
func (l *List) weigh(e *entry, now time.Time) (held *entry, news bool, err error) {
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
	held = l.known(e.block.Prefix)
	return held, held == nil || l.forgotten(held, now) || compare(e, held) > 0, err
}

// checkPrefix refuses what no list may hold.
func (l *List) checkPrefix(e *entry) error {
	p := e.block.Prefix
	switch {
	case !p.IsValid():
		return fmt.Errorf("a block without a prefix: %w", ErrInvalid)
	case p.Addr().Is4In6():
		return fmt.Errorf("%s: %w: write it as IPv4", p, ErrInvalid)
	case p != p.Masked():
		return fmt.Errorf("%s: %w: it has host bits; write %s", p, ErrInvalid, p.Masked())
	case e.block.Lifted:
		return nil
	case e.block.Version == math.MaxUint64:
		return fmt.Errorf("%s: %w: version %d leaves none to lift it with", p, ErrInvalid, e.block.Version)
	case p.Addr().IsUnspecified() && !e.block.Allow:
		return fmt.Errorf("%s: %w: a client never comes from %s", p, ErrUnspecified, p.Addr())
	case e.forced:
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
		return fmt.Errorf("%s: %w: take it off the allowlist first", p, ErrAllowed)
	case !e.forced && l.current.protected.LookupPrefix(p):
		return fmt.Errorf("%s: %w: it is an address of this host or of one that it relies on", p, ErrProtected)
	}
	return nil
}

// forgotten reports whether a record is too old even to be remembered.
func (l *List) forgotten(e *entry, now time.Time) bool {
	return !now.Before(e.block.Until.Add(l.retention))
}

// known is the record of exactly this prefix, nil if there is none.
func (l *List) known(p netip.Prefix) *entry {
	if e := l.current.index.exact(p); e != nil {
		return e
	}
	if e, ok := l.current.allowances.Get(p); ok {
		return e
	}
	return l.remembered[p]
}

// replace puts e where old (possibly nil) was, and reports whether that
// matters to anyone but the next merge. An allowance that a block replaces is
// told of as ended now.
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
