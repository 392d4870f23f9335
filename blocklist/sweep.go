package blocklist

import (
	"cmp"
	"time"
)

// SweepStep is the most records that one Sweep handles, so that a million
// blocks that end together never hold up a Merge for longer than about a
// millisecond.
const SweepStep = 256

// Sweep removes blocks and allowances that have ended, and forgets tombstones and
// ended records after their retention: at most SweepStep of them. It returns how
// many it handled; call it again while that is SweepStep. OnChange is not called
// for the end of a block, which its receiver knows. It is called for the end of
// an allowance, since blocks that slept in it are in force again.
// Find never needs a Sweep to be right. Where SetMost left too many blocks, it
// evicts them.
func (l *List) Sweep(now time.Time) int {
	l.mu.Lock()
	defer l.unlockAndNotify()
	handled := 0
	for handled < SweepStep && (l.sweepOne(now, nil) || l.evictOne(l.budget.isOver())) {
		handled++
	}
	if handled > 0 {
		l.publish()
	}
	return handled
}

// sweepOne removes the first record that has ended, if there is one and it is not
// spared. It needs the lock, and a publish after it.
func (l *List) sweepOne(now time.Time, spared *entry) bool {
	e := l.firstDue()
	if e == nil || e == spared || e.due > nanos(now) {
		return false
	}
	ended := !e.remembered && !l.forgotten(e, now)
	if !e.remembered && e.block.Allow {
		l.notify.add(e.block)
	}
	l.notify.addEnded(e, EndedInTime)
	l.remove(e)
	if ended { // as a copy: readers may still have e
		l.remember(&entry{block: e.block, trust: e.trust})
	}
	return true
}

// stand, remember and remove keep the tables, the counts and the expiries in
// step. They need the lock, and a publish after them.

// stand puts e among the blocks or the allowances, in the place of old if that
// is not nil: a reader finds the one or the other.
func (l *List) stand(e, old *entry, now time.Time) {
	l.makeRoom(e, old, now)
	was, under := old, l.replaced[e.block.Prefix]
	old = l.makeWay(old, e)
	if e.block.Allow {
		l.allow(e, old)
		if e.block.Batch != 0 {
			l.remains(e.block.Prefix, under)
			l.succeeds(e, was, now)
		}
		return
	}
	l.order(e)
	l.stood(e, old, now)
}

// makeWay removes old if e belongs to the other table, and returns what e then
// replaces.
func (l *List) makeWay(old, e *entry) *entry {
	if old != nil && !old.remembered && old.block.Allow != e.block.Allow {
		l.notify.addEnded(old, EndedByAllowed)
		l.remove(old)
		return nil
	}
	return old
}

// allow puts an allowance into its table.
func (l *List) allow(e, old *entry) {
	l.current.allowances = l.current.allowances.InsertPersist(e.block.Prefix, e)
	e.due = nanos(e.block.Until)
	if old == nil || old.remembered {
		l.current.filter.add(e.block.Prefix)
	}
	if old != nil {
		l.unbook(old)
	}
	l.elsewhere.add(e)
	l.expiries.pushEntry(e)
}

// stood does what belongs to a block that was put into the ordered table.
func (l *List) stood(e, old *entry, now time.Time) {
	l.texts.share(&e.block)
	e.network, e.length = split(e.block.Prefix)
	e.due = nanos(e.block.Until)
	if old == nil || old.remembered {
		l.current.filter.add(e.block.Prefix)
		l.budget.enter(e, nanos(now))
	} else {
		l.budget.passSeat(old, e)
	}
	l.current.index.putBlock(e)
	if old != nil {
		l.succeeds(e, old, now)
		l.unbook(old)
	}
	l.newest.add(e)
	l.elsewhere.add(e)
	l.expiries.pushEntry(e)
}

// remember keeps a tombstone or an ended record: as many ended ones as there may be
// blocks, and twice as many with the tombstones. A new tombstone evicts another.
func (l *List) remember(e *entry) {
	if most := l.budget.most; most > 0 && e.block.Lifted {
		for range 2 { // more than one only after SetMost: step by step
			l.forgetOne(len(l.remembered) >= 2*most)
		}
	} else if most > 0 && len(l.remembered) >= most {
		l.budget.forgotten++
		return
	}
	l.remembered[e.block.Prefix] = e
	e.remembered = true
	e.due = nanos(e.block.Until.Add(l.retention))
	l.queue(e).pushEntry(e)
}

// forgetOne drops, if full, the ended record that is due first, or such a tombstone.
func (l *List) forgetOne(full bool) {
	e := cmp.Or(l.ended.nextDue(), l.lifted.nextDue())
	if !full || e == nil {
		return
	}
	l.remove(e)
	l.budget.forgotten++
}

// queue is where a record waits for its end.
func (l *List) queue(e *entry) *expiries {
	switch {
	case !e.remembered:
		return &l.expiries
	case e.block.Lifted:
		return &l.lifted
	}
	return &l.ended
}

// firstDue is the record that Sweep has to act on next, nil if there is none.
func (l *List) firstDue() *entry {
	first := l.expiries.nextDue()
	for _, e := range [...]*entry{l.ended.nextDue(), l.lifted.nextDue()} {
		if first == nil || e != nil && e.due < first.due {
			first = e
		}
	}
	return first
}

// remove takes a record out, wherever it is.
func (l *List) remove(e *entry) {
	l.unbook(e)
	if e.remembered {
		return
	}
	l.remains(e.block.Prefix, nil)
	if e.block.Allow {
		l.current.allowances = l.current.allowances.DeletePersist(e.block.Prefix)
	} else {
		l.disorder(e)
		l.current.index.remove(e)
		l.budget.leave(e)
	}
	l.current.filter.remove(e.block.Prefix)
}

// unbook takes a record out of what only the writer knows.
func (l *List) unbook(e *entry) {
	l.queue(e).remove(e)
	if e.remembered {
		delete(l.remembered, e.block.Prefix)
		return
	}
	l.elsewhere.remove(e)
	if !e.block.Allow {
		l.newest.remove(e)
	}
}
