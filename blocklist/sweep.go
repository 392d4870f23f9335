package blocklist

import "time"

// SweepStep is the most records that one Sweep handles, so that a million
// blocks that end together never hold up a Merge for longer than about a
// millisecond.
const SweepStep = 256

// Sweep removes blocks and allowances that are over, and forgets tombstones and
// what has ended when its retention is over: at most SweepStep of them. It
// returns how many it handled; call it again while that is SweepStep. Nobody is
// told by OnChange of a block, since whoever heard of it knows its end, but of
// the end of an allowance, since blocks that slept in it are in force again.
// Find never needs a Sweep to be right.
func (l *List) Sweep(now time.Time) int {
	l.mu.Lock()
	defer l.unlockAndTell()
	handled, instant := 0, nanos(now)
	for handled < SweepStep {
		e := l.expiries.first()
		if e == nil || e.due > instant {
			break
		}
		ended := !e.buried && !l.forgotten(e, now)
		if !e.buried && e.block.Allow {
			l.tell.add(e.block)
		}
		l.remove(e)
		if ended { // as a copy: readers may still have e
			l.bury(&entry{block: e.block, forced: e.forced})
		}
		handled++
	}
	if handled > 0 {
		l.publish()
	}
	return handled
}

// stand, bury and remove keep the tables, the counts and the expiries in
// step. They need the lock, and a publish after them.

// stand puts e among the blocks or the allowances, in the place of old if that
// is not nil: a reader finds the one or the other.
func (l *List) stand(e, old *entry) {
	old = l.makeWay(old, e)
	if e.block.Allow {
		l.allow(e, old)
		return
	}
	l.current.blocks = l.current.blocks.InsertPersist(e.block.Prefix, e)
	l.stood(e, old)
}

// makeWay removes old if e is to stand elsewhere, and gives what e then replaces.
func (l *List) makeWay(old, e *entry) *entry {
	if old != nil && !old.buried && old.block.Allow != e.block.Allow {
		l.remove(old)
		return nil
	}
	return old
}

// allow puts an allowance where it stands.
func (l *List) allow(e, old *entry) {
	l.current.allowances = l.current.allowances.InsertPersist(e.block.Prefix, e)
	e.due = nanos(e.block.Until)
	if old == nil || old.buried {
		l.current.filter.add(e.block.Prefix)
	}
	if old != nil {
		l.unbook(old)
	}
	l.expiries.push(e)
}

// stood does what belongs to a block that was put into the ordered table.
func (l *List) stood(e, old *entry) {
	e.network, e.length = split(e.block.Prefix)
	e.due = nanos(e.block.Until)
	if old == nil || old.buried {
		l.current.filter.add(e.block.Prefix)
	}
	l.current.index.put(e)
	if old != nil {
		l.unbook(old)
	}
	l.rules[e.block.Rule]++
	l.expiries.push(e)
}

func (l *List) bury(e *entry) {
	l.graves[e.block.Prefix] = e
	e.buried = true
	e.due = nanos(e.block.Until.Add(l.retention))
	l.expiries.push(e)
}

// remove takes a record out, wherever it is.
func (l *List) remove(e *entry) {
	l.unbook(e)
	if e.buried {
		return
	}
	if e.block.Allow {
		l.current.allowances = l.current.allowances.DeletePersist(e.block.Prefix)
	} else {
		l.current.blocks = l.current.blocks.DeletePersist(e.block.Prefix)
		l.current.index.remove(e)
	}
	l.current.filter.remove(e.block.Prefix)
}

// unbook takes a record out of what only the writer knows.
func (l *List) unbook(e *entry) {
	l.expiries.remove(e)
	if e.buried {
		delete(l.graves, e.block.Prefix)
		return
	}
	if e.block.Allow {
		return
	}
	if l.rules[e.block.Rule]--; l.rules[e.block.Rule] == 0 {
		delete(l.rules, e.block.Rule)
	}
}
