package aggregator

import "sync/atomic"

// watchFilter is a filter over the keys that the fleet watches: it has all
// watched keys and may match others. A lookup costs a load or two, so that
// ordinary visitors are recognized without a lock. Keys are only added; Sweep
// makes a new filter.
type watchFilter struct {
	count atomic.Int32 // 0: nothing is watched
	bits  [1 << 10]atomic.Uint64
}

func (w *watchFilter) has(hash uint64) bool {
	return w.bits[hash>>6%uint64(len(w.bits))].Load()>>(hash%64)&1 == 1
}

func (w *watchFilter) add(hash uint64) {
	w.bits[hash>>6%uint64(len(w.bits))].Or(1 << (hash % 64))
	w.count.Add(1)
}
