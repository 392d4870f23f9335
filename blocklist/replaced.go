package blocklist

import (
	"iter"
	"time"

	"edgeguard"
)

// A block that another took the place of, as an import does of a rule's, is remembered as long
// as the other stands: who takes that back can put the first in force again. Only the last
// one is, and none that the same rule made.

// Lifted is a block that was taken back, and what it left: its tombstone, or in force again the
// block that it had replaced.
type Lifted struct {
	Was, Left edgeguard.Block

	trust trust // of Was
}

// succeeds notes which block e replaces. It needs the lock.
func (l *List) succeeds(e, old *entry, now time.Time) {
	if old != nil && !old.remembered && old.block.Rule != e.block.Rule && old.binds(now, false) {
		l.replaced[e.block.Prefix] = old
		l.replacements++
	}
}

// unsucceed forgets which block stood before the present one of a prefix. It needs the lock.
func (l *List) unsucceed(e *entry) {
	if _, ok := l.replaced[e.block.Prefix]; ok {
		delete(l.replaced, e.block.Prefix)
		l.replacements++
	}
}

// Replaced returns the block that the one of b's prefix replaced, if it would still be in force.
func (l *List) Replaced(b *edgeguard.Block, now time.Time) (was edgeguard.Block, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.replaced[b.Prefix]; e != nil && e.binds(now, false) {
		return e.block, true
	}
	return was, false
}

// LiftSame takes back a block if it is still the very one given, by its rule and version. The
// block that it replaced is in force again, unless goes says that it is to go, too.
// As with an owner that takes back its own, no node forgets a count unless a rule made the block.
func (l *List) LiftSame(b edgeguard.Block, goes func(*edgeguard.Block) bool, now time.Time, reason, origin string) (x Lifted, ok bool) {
	l.mu.Lock()
	defer l.unlockAndNotify()
	e, ok := l.blocks.Get(b.Prefix)
	if !ok || !e.binds(now, false) || e.block.Version != b.Version || e.block.Rule != b.Rule {
		return x, false
	}
	x.Was, x.trust = e.block, e.trust
	if old := l.replaced[b.Prefix]; old != nil && old.binds(now, false) && !goes(&old.block) {
		next := &entry{block: old.block, trust: l.trustOfOwn(old.trust &^ elsewhere)}
		next.block.Since, next.block.Origin = now.Round(0).UTC(), origin
		next.block.Version = ahead(e.block.Version, aheadBlock)
		if l.checkExempt(next) == nil && l.checkAllowance(next, now) == nil {
			l.replace(e, next, now)
			l.unsucceed(next)
			x.Left = next.block
			return x, true
		}
	}
	x.Left, _ = l.liftEntry(e, true, now, reason, origin, true)
	return x, true
}

// PutBack puts a block in force again that LiftSame took back, if nothing has happened to its
// prefix since; ok is false where something has. The errors are those of Add.
func (l *List) PutBack(x Lifted, now time.Time, origin string) (b edgeguard.Block, ok bool, err error) {
	e := &entry{block: x.Was, trust: x.trust &^ elsewhere}
	l.mu.Lock()
	defer l.unlockAndNotify()
	if held := l.recordOf(x.Was.Prefix); held != nil && (held.block.Version != x.Left.Version || held.block.Rule != x.Left.Rule) {
		return b, false, nil
	}
	if !now.Before(x.Was.Until) { // merged, it would end what stands there now
		return b, true, ErrExpired
	}
	if err := l.checkAllowance(e, now); err != nil {
		return b, true, err
	}
	e.block.Since, e.block.Origin = now.Round(0).UTC(), origin
	e.block.Version = max(ahead(x.Left.Version, 1), l.nextVersion(&e.block))
	e.trust = l.trustOfOwn(e.trust)
	_, err = l.mergeChecked(e, now)
	return e.block, true, err
}

// Replacements is how often what [List.ReplacedRecords] returns has changed.
func (l *List) Replacements() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.replacements
}

// ReplacedRecords returns the blocks that others took the place of.
func (l *List) ReplacedRecords() iter.Seq2[edgeguard.Block, Trust] {
	l.mu.Lock()
	all := make([]*entry, 0, len(l.replaced))
	for _, e := range l.replaced {
		all = append(all, e)
	}
	l.mu.Unlock()
	return func(yield func(edgeguard.Block, Trust) bool) {
		for _, e := range all {
			if !yield(e.block, e.trust.public()) {
				return
			}
		}
	}
}

// RestoreReplaced remembers such a block of an earlier list, until [List.Restore] finds no
// other in its place.
func (l *List) RestoreReplaced(b edgeguard.Block, t Trust) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &entry{block: normalize(b), trust: t.compact(), due: nanos(b.Until)}
	if l.checkPrefix(e) == nil && !b.Lifted && !b.Allow {
		l.replaced[e.block.Prefix] = e
	}
}

// settleReplaced forgets the blocks in whose place no other stands. It needs the lock.
func (l *List) settleReplaced() {
	for p, old := range l.replaced {
		if e := l.current.index.exact(p); e == nil || e.block.Rule == old.block.Rule {
			delete(l.replaced, p)
		}
	}
}
