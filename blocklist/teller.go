package blocklist

import "edgeguard"

// teller hands changes to one function, in the order in which they were made
// and one at a time, without a lock held and without a goroutine: whoever
// makes a change while another is telling leaves it to that one. It is part
// of the list's state and guarded by its lock.
type teller struct {
	hear    func(edgeguard.Block)
	evicted func(edgeguard.Block)
	pending []change
	busy    bool
}

// change is a block that changed, or that was evicted.
type change struct {
	block   edgeguard.Block
	evicted bool
}

func (t *teller) add(b edgeguard.Block) {
	if t.hear != nil {
		t.pending = append(t.pending, change{block: b})
	}
}

func (t *teller) addEvicted(b edgeguard.Block) {
	if t.evicted != nil {
		t.pending = append(t.pending, change{b, true})
	}
}

func (t *teller) tell(c change) {
	if c.evicted {
		t.evicted(c.block)
	} else {
		t.hear(c.block)
	}
}

// OnChange sets the function that hears of every change that Merge, Force, Add,
// Lift or Disallow made: the block or allowance, or the tombstone (Lifted) of
// one that was taken back. Of an allowance that is over, by its time or because
// a block replaced it, it hears the record with an Until that has come. It is called after the change, outside the lock, one call at a time and in
// the order of the changes, from whichever goroutine made one; it may call
// any method of the list. nil stops it.
func (l *List) OnChange(hear func(edgeguard.Block)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell.hear = hear
	if hear == nil {
		l.tell.pending = nil
	}
}

// OnEvict sets the function that hears of every block that was evicted, in one
// order with what OnChange's function hears and on the same terms: for who keeps
// a copy of the list. The block is no less deserved for it, and no other node is
// to hear.
func (l *List) OnEvict(hear func(edgeguard.Block)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell.evicted = hear
}

// unlockAndTell releases the lock and then tells what is pending. Its unlocks
// are not deferred: where hear panics, the lock is free.
func (l *List) unlockAndTell() {
	if l.tell.busy {
		l.mu.Unlock()
		return
	}
	l.tell.busy = true
	for len(l.tell.pending) > 0 {
		telling := l.tell
		l.tell.pending = nil
		l.mu.Unlock()
		for _, c := range telling.pending {
			telling.tell(c)
		}
		l.mu.Lock()
	}
	l.tell.busy = false
	l.mu.Unlock()
}
