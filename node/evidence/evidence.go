// Package evidence keeps what blocked keys had done. Of each block it has what was
// counted: the slots, the limit, and which node counted how much. Of keys that are
// blocked or near a limit it has some of the requests ([Samples]). It keeps the newest
// [mostKept] blocks, each for [keep] beyond its end. It is asked only when a block is
// made, changed or looked at, never for an event that crosses no limit.
package evidence

import (
	"container/list"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/safetext"
)

const (
	// mostKept is of how many blocks the evidence is kept.
	mostKept = 4096
	// keep is for how long it is kept after the block has ended: on the next day
	// an operator can still see why.
	keep = 24 * time.Hour
	// maxParts and maxWith bound what one block takes, whatever the fleet's size
	// and a client's text.
	maxParts, maxWith = 16, 256
)

// Kept is the evidence that a node keeps. It is safe for concurrent use. Make one
// with [NewKept].
type Kept struct {
	mu      sync.Mutex // guards the fields below
	of      map[netip.Prefix]*list.Element
	oldest  list.List // of *edgeguard.Evidence, the oldest first
	marked  int       // of them, those that may be customers
	changes uint64
}

// NewKept returns an empty one.
func NewKept() *Kept { return &Kept{of: make(map[netip.Prefix]*list.Element)} }

// Add keeps the evidence of a block that was made. It takes the place of that of
// an earlier block of the same prefix, and with [mostKept] of the oldest.
func (k *Kept) Add(e edgeguard.Evidence) {
	e.With = bounded(e.With)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	k.remove(k.of[e.Prefix])
	if len(k.of) >= mostKept {
		k.remove(k.oldest.Front())
	}
	k.of[e.Prefix] = k.oldest.PushBack(&e)
	if e.MayBeCustomer {
		k.marked++
	}
}

// bounded returns a client's text as a terminal may show it, cut to maxWith.
func bounded(text string) string {
	if len(text) > maxWith {
		text = text[:maxWith]
	}
	return strings.Clone(safetext.Strip(text))
}

// remove forgets one; nil for none. The caller holds the lock.
func (k *Kept) remove(at *list.Element) {
	if at != nil {
		e := k.oldest.Remove(at).(*edgeguard.Evidence)
		delete(k.of, e.Prefix)
		if e.MayBeCustomer {
			k.marked--
		}
	}
}

// Split adds which node counted how much to the evidence of a block that was made
// by the fleet's count, and reports whether it was not there already.
func (k *Kept) Split(prefix netip.Prefix, parts []aggregator.NodeCount) (added bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.find(prefix)
	if e == nil || !e.Fleet || e.Split != nil || len(parts) == 0 {
		return false
	}
	k.changes++
	parts = aggregator.SumByNode(parts)
	for _, p := range parts[:min(len(parts), maxParts)] {
		e.Split = append(e.Split, edgeguard.Part(p))
	}
	return true
}

// Changed notes the new end of a block: it was extended, shortened or lifted.
func (k *Kept) Changed(b edgeguard.Block, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.find(b.Prefix)
	if e == nil || b.Allow {
		return
	}
	if b.Lifted {
		b.Until = now
	}
	if !b.Until.Equal(e.Until) && now.Before(e.Until) {
		k.changes++
		e.Until = b.Until
	}
}

// find returns that of a prefix; nil for none. The caller holds the lock.
func (k *Kept) find(prefix netip.Prefix) *edgeguard.Evidence {
	if at := k.of[prefix]; at != nil {
		return at.Value.(*edgeguard.Evidence)
	}
	return nil
}

// Of returns the evidence of the last block of exactly a prefix that this node
// made; false if there is none.
func (k *Kept) Of(prefix netip.Prefix, now time.Time) (edgeguard.Evidence, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.find(prefix)
	if e == nil || gone(e, now) {
		return edgeguard.Evidence{}, false
	}
	return copied(e), true
}

// All returns all of it, the oldest first, and forgets what is no longer kept.
func (k *Kept) All(now time.Time) []edgeguard.Evidence {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]edgeguard.Evidence, 0, len(k.of))
	for at := k.oldest.Front(); at != nil; {
		e, next := at.Value.(*edgeguard.Evidence), at.Next()
		if gone(e, now) {
			k.remove(at)
		} else {
			all = append(all, copied(e))
		}
		at = next
	}
	return all
}

// Customers returns that of the newest blocks that last and may be customers', at most n.
func (k *Kept) Customers(now time.Time, n int) (newest []edgeguard.Evidence) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at, left := k.oldest.Back(), k.marked; left > 0 && len(newest) < n; at = at.Prev() {
		if e := at.Value.(*edgeguard.Evidence); e.MayBeCustomer {
			left--
			if now.Before(e.Until) {
				newest = append(newest, copied(e))
			}
		}
	}
	return newest
}

// Changes returns how often something was added or changed.
func (k *Kept) Changes() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changes
}

func gone(e *edgeguard.Evidence, now time.Time) bool { return now.Sub(e.Until) >= keep }

func copied(e *edgeguard.Evidence) edgeguard.Evidence {
	out := *e
	out.Split = slices.Clone(e.Split)
	return out
}

// Restore keeps evidence that was saved, the oldest first.
func (k *Kept) Restore(e *edgeguard.Evidence) { k.Add(*e) }
