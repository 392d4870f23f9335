package blocklist

import (
	"time"

	"edgeguard"
)

// OneCrossing is by how much the ends of blocks may differ that several nodes
// made of one crossing, each by its own clock.
const OneCrossing = time.Second

// Agree is Merge, or Force where forced, for a record that all nodes of a fleet
// have. Where this list has the same block (one version and one rule), and that
// ends later by no more than OneCrossing, the fleet's takes its place. Of nodes
// that cross together the first makes the block, and the lists of the others
// must not differ from it by milliseconds while it is active.
func (l *List) Agree(b edgeguard.Block, forced bool, now time.Time) (changed bool, err error) {
	e := &entry{block: normalize(b), forced: forced}
	if err := l.checkPrefix(e); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.unlockAndNotify()
	if held := l.known(e.block.Prefix); held != nil && sameCrossing(held, e, now) && l.checkExempt(e) == nil {
		return l.replace(held, e, now), nil
	}
	return l.take(e, now)
}

// Reword replaces the reason of an active block, if the list still has the
// record b, and returns the record that results. Otherwise it returns b. OnChange
// is not called: which addresses the block refuses, and until when, stays the same.
func (l *List) Reword(b edgeguard.Block, reason string, now time.Time) edgeguard.Block {
	b = normalize(b)
	l.mu.Lock()
	defer l.unlockAndNotify()
	held := l.known(b.Prefix)
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
	l.stand(&entry{block: b, forced: held.forced}, held, now)
	l.publish()
	return b
}

// sameCrossing reports whether e is of the crossing that held is of, and first.
func sameCrossing(held, e *entry, now time.Time) bool {
	mine, theirs := &held.block, &e.block
	later := mine.Until.Sub(theirs.Until)
	return !held.remembered && mine.Version == theirs.Version && mine.Rule == theirs.Rule &&
		!mine.Lifted && !theirs.Lifted && !mine.Allow && !theirs.Allow && held.forced == e.forced &&
		now.Before(theirs.Until) && later > 0 && later <= OneCrossing
}
