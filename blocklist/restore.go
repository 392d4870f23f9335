package blocklist

import (
	"iter"
	"time"

	"edgeguard"
)

// Records returns all that the list remembers, allowances, tombstones and what
// has ended included, each with its trust: what a snapshot keeps. They are as they were when
// the iteration began; no lock is held.
func (l *List) Records() iter.Seq2[edgeguard.Block, Trust] {
	return func(yield func(edgeguard.Block, Trust) bool) {
		l.mu.Lock()
		blocks, allowances := l.walkInOrder(), l.current.allowances
		remembered := make([]*entry, 0, len(l.remembered))
		for _, e := range l.remembered {
			remembered = append(remembered, e)
		}
		l.mu.Unlock()
		defer l.walked()
		for _, e := range blocks.All() {
			if !yield(e.block, e.trust.public()) {
				return
			}
		}
		for _, e := range allowances.All() {
			if !yield(e.block, e.trust.public()) {
				return
			}
		}
		for _, e := range remembered {
			if !yield(e.block, e.trust.public()) {
				return
			}
		}
	}
}

// Restore accepts the records of an earlier list as Merge or Force would, but in
// bulk and without calling OnChange's function. It accepts operators' blocks even
// if they are more than half of Config.Most. It returns how many records were
// refused or too old.
func (l *List) Restore(records iter.Seq2[edgeguard.Block, Trust], now time.Time) (refused int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for block, known := range records {
		e := &entry{block: normalize(block), trust: known.compact()}
		if l.checkPrefix(e) != nil || l.checkExempt(e) != nil || l.forgotten(e, now) {
			refused++
			continue
		}
		held := l.recordOf(e.block.Prefix)
		if held != nil && compare(e, held) <= 0 {
			continue
		}
		if e.block.Lifted || !now.Before(e.block.Until) {
			if held != nil {
				l.remove(held)
			}
			l.remember(e)
			continue
		}
		l.makeRoom(e, held, now)
		held = l.makeWay(held, e)
		if e.block.Allow {
			l.allow(e, held)
			continue
		}
		l.order(e)
		l.stood(e, held, now)
	}
	l.settleReplaced()
	l.publish()
	return refused
}
