package blocklist

import "time"

// SweepStep is the most records that one Sweep handles, so that a million
// blocks that end together never hold up a Merge for longer than about a
// millisecond.
const SweepStep = 256

// Sweep removes blocks that are over, and forgets tombstones and ended blocks
// whose retention is over: at most SweepStep of them. It returns how many it
// handled; call it again while that is SweepStep. Nobody is told by OnChange:
// whoever heard of a block knows its end. Find never needs a Sweep to be
// right.
func (l *List) Sweep(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	handled, ms := 0, now.UnixMilli()
	for handled < SweepStep {
		e := l.expiries.first()
		if e == nil || e.due > ms {
			break
		}
		ended := !e.buried && !l.forgotten(e, now)
		l.remove(e)
		if ended {
			l.bury(e)
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

func (l *List) stand(e *entry) {
	l.current.blocks = l.current.blocks.InsertPersist(e.block.Prefix, e)
	l.stood(e)
}

// stood does what belongs to a block that was put into the table.
func (l *List) stood(e *entry) {
	l.current.filter.add(e.block.Prefix)
	l.rules[e.block.Rule]++
	e.buried = false
	e.due = dueAt(e.block.Until)
	l.expiries.push(e)
}

func (l *List) bury(e *entry) {
	l.graves[e.block.Prefix] = e
	e.buried = true
	e.due = dueAt(e.block.Until.Add(l.retention))
	l.expiries.push(e)
}

func (l *List) remove(e *entry) {
	l.expiries.remove(e)
	if e.buried {
		delete(l.graves, e.block.Prefix)
		return
	}
	l.current.blocks = l.current.blocks.DeletePersist(e.block.Prefix)
	l.gone = append(l.gone, e.block.Prefix)
	if l.rules[e.block.Rule]--; l.rules[e.block.Rule] == 0 {
		delete(l.rules, e.block.Rule)
	}
}
