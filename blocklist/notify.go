package blocklist

import "edgeguard"

// notifier passes changes to one function, in the order in which they were made
// and one at a time. It holds no lock then and starts no goroutine: a change made
// while another goroutine is notifying is left to that one. The list's lock guards
// it.
type notifier struct {
	changed func(edgeguard.Block)
	evicted func(edgeguard.Block)
	ended   func(Ended)
	pending []change
	busy    bool
}

// change is a block that changed, that was evicted, or that has ended.
type change struct {
	block   edgeguard.Block
	evicted bool
	ended   *Ended
}

// Ended is a block that is in force no more, with what this node refused because of it since
// it started.
type Ended struct {
	edgeguard.Block
	Refused uint32
	Became
	Why EndReason
}

// EndReason is a word for why a block has ended.
type EndReason string

// Why a block has ended.
const (
	EndedInTime    EndReason = "time"
	EndedByLift    EndReason = "lifted"
	EndedByRoom    EndReason = "evicted" // it made room for another
	EndedByAllowed EndReason = "allowed" // an allowance of the same prefix took its place
)

func (t *notifier) add(b edgeguard.Block) {
	if t.changed != nil {
		t.pending = append(t.pending, change{block: b})
	}
}

func (t *notifier) addEvicted(b edgeguard.Block) {
	if t.evicted != nil {
		t.pending = append(t.pending, change{block: b, evicted: true})
	}
}

// addEnded adds a standing block that is about to be removed.
func (t *notifier) addEnded(e *entry, why EndReason) {
	if t.ended != nil && !e.block.Allow && !e.remembered {
		t.pending = append(t.pending, change{ended: &Ended{e.block, e.seat.refused.Load(), e.seat.became(), why}})
	}
}

func (t *notifier) send(c change) {
	switch {
	case c.ended != nil:
		t.ended(*c.ended)
	case c.evicted:
		t.evicted(c.block)
	default:
		t.changed(c.block)
	}
}

// OnChange sets the function that receives every change by Merge, Force, Add,
// Lift or Disallow: the block or allowance, or the tombstone (Lifted) of one that
// was taken back. For an allowance that has ended or that a block replaced, it
// receives the record with an Until that has passed. Calls follow the changes, in
// their order, one at a time and without the lock, on a goroutine that made a
// change. The function may call any method of the list. Nil disables it.
func (l *List) OnChange(changed func(edgeguard.Block)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify.changed = changed
	if changed == nil {
		l.notify.pending = nil
	}
}

// OnEvict sets the function that receives every evicted block, for a caller that
// keeps a copy of the list. The calls are in one order with those of OnChange and
// made in the same way. An eviction is a matter of this node: it must not be sent
// to others.
func (l *List) OnEvict(evicted func(edgeguard.Block)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify.evicted = evicted
}

// OnEnd sets the function that receives every block that has ended, in one order with those
// of OnChange and in the same way: that of a lift just before its tombstone.
func (l *List) OnEnd(ended func(Ended)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify.ended = ended
}

// unlockAndNotify releases the lock and then sends what is pending. Its unlocks
// are not deferred: if the function panics, the lock is free.
func (l *List) unlockAndNotify() {
	if l.notify.busy {
		l.mu.Unlock()
		return
	}
	l.notify.busy = true
	for len(l.notify.pending) > 0 {
		sending := l.notify
		l.notify.pending = nil
		l.mu.Unlock()
		for _, c := range sending.pending {
			sending.send(c)
		}
		l.mu.Lock()
	}
	l.notify.busy = false
	l.mu.Unlock()
}
