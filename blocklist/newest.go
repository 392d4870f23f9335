package blocklist

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist/order"
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

// arrivals are the active blocks in the order in which they began, all and by
// rule. The list's lock guards them.
type arrivals struct {
	all   *order.Index[*entry]
	rules map[string]*order.Index[*entry]
}

func newArrivals() arrivals {
	return arrivals{newArrivalIndex(), make(map[string]*order.Index[*entry])}
}

func newArrivalIndex() *order.Index[*entry] {
	return order.New(func(a, b *entry) int { return a.block.Prefix.Compare(b.block.Prefix) })
}

func (a *arrivals) add(e *entry) {
	since, rule := nanos(e.block.Since), a.rules[e.block.Rule]
	if rule == nil {
		rule = newArrivalIndex()
		a.rules[e.block.Rule] = rule
	}
	a.all.Add(since, e)
	rule.Add(since, e)
}

func (a *arrivals) remove(e *entry) {
	since, rule := nanos(e.block.Since), a.rules[e.block.Rule]
	a.all.Remove(since, e)
	if rule.Remove(since, e); rule.Len() == 0 {
		delete(a.rules, e.block.Rule)
	}
}

// counts returns how many blocks each rule has.
func (a *arrivals) counts() map[string]int {
	counts := make(map[string]int, len(a.rules))
	for name, rule := range a.rules {
		counts[name] = rule.Len()
	}
	return counts
}

// Newest returns the blocks that are live at now, or those of one rule unless it
// is empty, the newest first by their Since and of one instant the greatest prefix
// first. It begins behind a place, so that pages of a long list can be asked for
// one by one. The lock is held for a short step at a time: blocks that come, go or change
// meanwhile may or may not be among them, and those that stay are returned once.
func (l *List) Newest(now time.Time, rule string, after Place) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		var buf [newestStep]*entry
		for {
			found := l.newestStep(buf[:0], rule, after)
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
func (l *List) newestStep(into []*entry, rule string, after Place) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	index := l.newest.all
	if rule != "" {
		index = l.newest.rules[rule]
	}
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
