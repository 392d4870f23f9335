package blocklist

import (
	"iter"
	"maps"
	"time"

	"edgeguard"
)

// Stats is the size of a list.
type Stats struct {
	V4, V6 int // standing blocks by family
	// Remembered is how many tombstones and ended blocks are kept against
	// older news.
	Remembered int
	// Rules counts the standing blocks by the rule that made them.
	Rules map[string]int
}

// Stats counts blocks that are over until a Sweep, as Len does.
func (l *List) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		V4:         l.current.blocks.Size4(),
		V6:         l.current.blocks.Size6(),
		Remembered: len(l.graves),
		Rules:      maps.Clone(l.rules),
	}
}

// All gives the blocks that are live at now in the order of their prefixes,
// IPv4 first, as they were when the iteration began: it holds no lock, and
// changes made meanwhile are not seen. Blocks that the allowlist or the
// protected prefixes overrule are among them.
func (l *List) All(now time.Time) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		v := l.view.Load()
		if v == nil {
			return
		}
		for _, e := range v.blocks.AllSorted() {
			if e.binds(now, false) && !yield(e.block) {
				return
			}
		}
	}
}
