package blocklist

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
)

// newestStep is how many blocks are read under the lock at a time.
const newestStep = 512

// Place is a place in the order in which [List.Newest] returns blocks. The zero
// one is before all.
type Place struct {
	Since  time.Time
	Prefix netip.Prefix
}

// PlaceOf returns the place of a block.
func PlaceOf(b *edgeguard.Block) Place { return Place{b.Since, b.Prefix} }

// Only says that blocks of a rule, of an origin, or of both are looked for; the zero
// one, all.
type Only struct{ Rule, Origin string }

type arrivalIndex = orderIndex[*entry]

// arrivals are the active blocks in the order in which they began: all, by rule, and
// by origin. The list's lock guards them.
type arrivals struct {
	all            *arrivalIndex
	rules, origins map[string]*arrivalIndex
	common         map[Common]int // how many there are of each
}

func newArrivals() arrivals {
	return arrivals{newArrivalIndex(), make(map[string]*arrivalIndex), make(map[string]*arrivalIndex), make(map[Common]int)}
}

func newArrivalIndex() *arrivalIndex {
	return newOrderIndex(func(a, b *entry) int { return a.block.Prefix.Compare(b.block.Prefix) })
}

func (a *arrivals) add(e *entry) {
	since := nanos(e.block.Since)
	a.all.Add(since, e)
	a.common[commonOf(&e.block)]++
	addTo(a.rules, e.block.Rule, since, e)
	addTo(a.origins, e.block.Origin, since, e)
}

func addTo(indexes map[string]*arrivalIndex, name string, since int64, e *entry) {
	index := indexes[name]
	if index == nil {
		index = newArrivalIndex()
		indexes[name] = index
	}
	index.Add(since, e)
}

func (a *arrivals) remove(e *entry) {
	since := nanos(e.block.Since)
	a.all.Remove(since, e)
	if of := commonOf(&e.block); a.common[of] == 1 {
		delete(a.common, of)
	} else {
		a.common[of]--
	}
	removeFrom(a.rules, e.block.Rule, since, e)
	removeFrom(a.origins, e.block.Origin, since, e)
}

func removeFrom(indexes map[string]*arrivalIndex, name string, since int64, e *entry) {
	index := indexes[name]
	if index.Remove(since, e); index.Len() == 0 {
		delete(indexes, name)
	}
}

// of returns the shortest index that has all that are looked for; nil if there are
// none.
func (a *arrivals) of(only Only) *arrivalIndex {
	shortest := a.all
	if only.Rule != "" {
		shortest = a.rules[only.Rule]
	}
	if only.Origin != "" && shortest != nil {
		if index := a.origins[only.Origin]; index == nil || index.Len() < shortest.Len() {
			return index
		}
	}
	return shortest
}

// counts returns how many blocks each rule has.
func (a *arrivals) counts() map[string]int {
	counts := make(map[string]int, len(a.rules))
	for name, rule := range a.rules {
		counts[name] = rule.Len()
	}
	return counts
}

// Newest returns the blocks that are live at now and that are looked for, the newest
// first by their Since and of one instant the greatest prefix first. If a rule and an
// origin are asked for, it returns the blocks of one of them, whichever has fewer: how
// many it may look at is for the caller to say. It begins behind a place, so that pages of a long list can be asked for
// one by one. The lock is held for a short step at a time: blocks that come, go or change
// meanwhile may or may not be among them, and those that stay are returned once.
func (l *List) Newest(now time.Time, only Only, after Place) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		var buf [newestStep]*entry
		for {
			found := l.newestStep(buf[:0], only, after)
			for _, e := range found {
				if e.binds(now, false) && !yield(e.block) {
					return
				}
			}
			if len(found) < newestStep {
				return
			}
			after = PlaceOf(&found[newestStep-1].block)
		}
	}
}

// newestStep appends the blocks behind a place, as far as there is room.
func (l *List) newestStep(into []*entry, only Only, after Place) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	index := l.newest.of(only)
	if index == nil {
		return into
	}
	entries := index.All()
	if after.Prefix.IsValid() {
		entries = index.Before(nanos(after.Since), &entry{block: edgeguard.Block{Prefix: after.Prefix}})
	}
	for e := range entries {
		if into = append(into, e); len(into) == cap(into) {
			break
		}
	}
	return into
}
