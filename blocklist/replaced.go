package blocklist

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
)

// What another record took the place of, as an import's block does of a rule's, is remembered as
// long as the other stands: who takes that back can put the first in force again. The last few
// are, of each maker one: a rule, or a change of many. An allowance remembers only as one of many.

// mostReplaced is how many are remembered of one prefix.
const mostReplaced = 4

// Lifted is a block that was taken back, and what it left: its tombstone, or in force again the
// block that it had replaced.
type Lifted struct {
	Was, Left edgeguard.Block

	trust trust // of Was
}

// isByMakerOf reports whether one rule, operator or change of many made both.
func (e *entry) isByMakerOf(other *entry) bool {
	return e.block.Rule == other.block.Rule && e.block.Batch == other.block.Batch
}

// succeeds notes which record e replaces. It needs the lock.
func (l *List) succeeds(e, old *entry, now time.Time) {
	if old == nil || old.remembered || old.isByMakerOf(e) || !old.binds(now, false) {
		return
	}
	under := l.replaced[e.block.Prefix]
	again := func(x *entry) bool { return x.isByMakerOf(e) && e.block.Until.Sub(x.block.Until).Abs() < time.Second }
	if i := slices.IndexFunc(under, again); i >= 0 { // another node took back what stood over it; clocks differ
		l.remains(e.block.Prefix, under[:i])
		return
	}
	under = slices.DeleteFunc(under, func(x *entry) bool { return x.isByMakerOf(e) || x.isByMakerOf(old) })
	under = append(under, old)
	l.remains(e.block.Prefix, under[max(0, len(under)-mostReplaced):])
}

// remains sets which records stood before the present one of a prefix. It needs the lock.
func (l *List) remains(p netip.Prefix, under []*entry) {
	if len(under) > 0 {
		l.replaced[p] = under
		l.replacements++
	} else if _, ok := l.replaced[p]; ok {
		delete(l.replaced, p)
		l.replacements++
	}
}

// ForgetReplaced forgets the records that another took the place of and that are to go: else they
// would come back when that is lifted.
func (l *List) ForgetReplaced(goes func(*edgeguard.Block) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, under := range l.replaced {
		if slices.ContainsFunc(under, func(e *entry) bool { return goes(&e.block) }) {
			l.remains(p, slices.DeleteFunc(under, func(e *entry) bool { return goes(&e.block) }))
		}
	}
}

// same returns the record that is b's, by its rule and version, if it is still in force, and the
// one to stand again when it is taken back, nil if none is, with what remains below that. It needs
// the lock.
func (l *List) same(b *edgeguard.Block, goes func(*edgeguard.Block) bool, now time.Time) (e, next *entry, under []*entry) {
	e = l.recordOf(b.Prefix)
	if e == nil || e.remembered || !e.binds(now, false) || e.block.Version != b.Version || e.block.Rule != b.Rule {
		return nil, nil, nil
	}
	under = l.replaced[b.Prefix]
	for i := len(under) - 1; i >= 0; i-- {
		old := under[i]
		if !old.binds(now, false) || goes(&old.block) {
			continue
		}
		next = &entry{block: old.block, trust: l.trustOfOwn(old.trust &^ elsewhere)}
		if l.checkExempt(next) == nil && (e.block.Allow || l.checkAllowance(next, now) == nil) {
			return e, next, under[:i]
		}
	}
	return e, nil, nil
}

// LiftSame takes back a block or an allowance if it is still the very one given, by its rule and
// version. What it replaced is in force again, unless goes says that it is to go, too.
// As with an owner that takes back its own, no node forgets a count unless a rule made the block.
func (l *List) LiftSame(b edgeguard.Block, goes func(*edgeguard.Block) bool, now time.Time, reason, origin string) (x Lifted, ok bool) {
	l.mu.Lock()
	defer l.unlockAndNotify()
	e, next, under := l.same(&b, goes, now)
	if e == nil {
		return x, false
	}
	x.Was, x.trust = e.block, e.trust
	if next == nil {
		x.Left, _ = l.liftEntry(e, true, now, reason, origin, true)
		return x, true
	}
	next.block.Since, next.block.Origin = now.Round(0).UTC(), origin
	next.block.Version = ahead(e.block.Version, aheadBlock)
	l.replace(e, next, now)
	l.remains(b.Prefix, under)
	x.Left = next.block
	return x, true
}

// WouldLift returns what LiftSame would do, and changes nothing.
func (l *List) WouldLift(b edgeguard.Block, goes func(*edgeguard.Block) bool, now time.Time) (x Lifted, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, next, _ := l.same(&b, goes, now)
	if e == nil {
		return x, false
	}
	x = Lifted{Was: e.block, Left: edgeguard.Block{Prefix: b.Prefix, Lifted: true}}
	if next != nil {
		x.Left = next.block
	}
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
	for _, under := range l.replaced {
		all = append(all, under...)
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
	if under := l.replaced[e.block.Prefix]; l.checkPrefix(e) == nil && !b.Lifted && len(under) < mostReplaced {
		l.replaced[e.block.Prefix] = append(under, e)
	}
}

// settleReplaced forgets the records in whose place no other stands. It needs the lock.
func (l *List) settleReplaced() {
	for p, under := range l.replaced {
		e := l.recordOf(p)
		l.remains(p, slices.DeleteFunc(under, func(old *entry) bool { return e == nil || e.remembered || old.isByMakerOf(e) }))
	}
}
