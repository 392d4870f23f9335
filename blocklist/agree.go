package blocklist

import (
	"time"

	"edgeguard"
)

// oneCrossing is by how much the ends of blocks may differ that several nodes
// made of one crossing, each by its own clock.
const oneCrossing = time.Second

// Agree is Merge for a record that all nodes of a fleet have; it may be wide if
// it was forced. Where this list has the same block (one version and one rule), and
// that ends later by no more than oneCrossing, the fleet's takes its place. Of nodes
// that cross together the first makes the block, and the lists of the others
// must not differ from it by milliseconds while it is active.
//
// Of one crossing, an unsigned record never replaces a signed one: whoever writes to
// Redis could otherwise take the signature off every block as it is made. Of a record
// that the list already has, Agree adds what t says more. t.Here is ignored: a block
// that was forced here stays so when a forced one that ends no later replaces it, such
// as that of an operator who confirmed it on another node. t.Elsewhere is ignored as well:
// all that comes is in force on others' word, unless this node has said the same itself,
// for as long.
func (l *List) Agree(b edgeguard.Block, t Trust, now time.Time) (changed bool, err error) {
	e := &entry{block: normalize(b), trust: t.compact() &^ (here | elsewhere)}
	if err := l.checkPrefix(e); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.unlockAndNotify()
	held := l.recordOf(e.block.Prefix)
	if goesOn(held, e, now) {
		e.trust |= here
	}
	if !e.block.Lifted && !saidHere(held, e, now) {
		e.trust |= elsewhere
	}
	if later, same := sameCrossing(held, e, now); same && l.checkExempt(e) == nil {
		switch {
		case held.trust.has(signed) && !e.trust.has(signed):
			return false, nil
		case later > 0:
			return l.replace(held, e, now), nil
		}
	}
	return l.mergeChecked(e, now)
}

// goesOn reports whether e says again what held, possibly nil, says, which was forced
// on this node. What asks for more is none of this node's operators' doing.
func goesOn(held, e *entry, now time.Time) bool {
	return held != nil && !held.remembered && held.binds(now, true) && e.trust.has(forced) &&
		!held.block.Allow && !e.block.Allow && !e.block.Lifted && !e.block.Until.After(held.block.Until)
}

// saidHere reports whether this node has said itself what e says, and for as long: held,
// possibly nil, is its own, or confirmed here. Of one crossing each node has another end.
func saidHere(held, e *entry, now time.Time) bool {
	return held != nil && !held.remembered && held.binds(now, false) && !held.trust.has(elsewhere) &&
		held.block.Allow == e.block.Allow && !e.block.Until.After(held.block.Until.Add(oneCrossing))
}

// Reword replaces the reason of an active block, if the list still has the
// record b, and returns the record that results. Otherwise it returns b. OnChange
// is not called: which addresses the block refuses, and until when, stays the same.
func (l *List) Reword(b edgeguard.Block, reason string, now time.Time) edgeguard.Block {
	b = normalize(b)
	l.mu.Lock()
	defer l.unlockAndNotify()
	held := l.recordOf(b.Prefix)
	if held == nil || held.remembered || !held.binds(now, false) {
		return b
	}
	was := b.Reason
	if b.Reason = held.block.Reason; b != held.block {
		b.Reason = was
		return b
	}
	if held.block.Reason != was {
		return b // another goroutine was first
	}
	b.Reason = reason
	l.stand(&entry{block: b, trust: held.trust}, held, now)
	l.publish()
	return b
}

// sameCrossing reports whether e is of the crossing that held, possibly nil, is of,
// and by how much held ends later.
func sameCrossing(held, e *entry, now time.Time) (later time.Duration, same bool) {
	if held == nil || held.remembered || (held.trust ^ e.trust).has(forced) {
		return 0, false
	}
	mine, theirs := &held.block, &e.block
	later = mine.Until.Sub(theirs.Until)
	return later, mine.Version == theirs.Version && mine.Rule == theirs.Rule &&
		!mine.Lifted && !theirs.Lifted && !mine.Allow && !theirs.Allow &&
		now.Before(theirs.Until) && later.Abs() <= oneCrossing
}
