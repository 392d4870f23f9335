package pipeline

import (
	"sync"
	"sync/atomic"

	"edgeguard"
	"edgeguard/detector"
)

// Ruling is what verdicts and crossings are counted by.
type Ruling struct {
	Source  string
	Action  edgeguard.Action
	Rule    string
	Wide    uint8 // of a crossing, as Excused: see edgeguard.Crossing
	Excused bool
	// Unenforced is as of [edgeguard.Verdict].
	Unenforced bool
}

// Counts counts verdicts on requests since the start, each request once, except passes: sources
// count these themselves, so that they need not wait for each other here. The names of
// sources and rules are the config's, so that it stays small. It is safe for
// concurrent use; the zero value is ready.
type Counts struct {
	mu sync.RWMutex // guards by
	by map[Ruling]*atomic.Uint64
}

// Of returns the counter of a ruling.
func (r *Counts) Of(by Ruling) *atomic.Uint64 {
	r.mu.RLock()
	known := r.by[by]
	r.mu.RUnlock()
	if known != nil {
		return known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = make(map[Ruling]*atomic.Uint64)
	}
	n := r.by[by]
	if n == nil {
		n = new(atomic.Uint64)
		r.by[by] = n
	}
	return n
}

// Count returns how often there was a ruling.
func (r *Counts) Count(by Ruling) uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if n := r.by[by]; n != nil {
		return n.Load()
	}
	return 0
}

// batch counts the verdicts of a batch, in which equal ones often follow each
// other. Answers to requests that another source reports are none.
func (r *Counts) batch(source string, d *detector.Detector, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	var last Ruling
	var n *atomic.Uint64
	for i := range verdicts {
		v := &verdicts[i]
		if v.Action == edgeguard.ActionPass || d.IsAnswer(&events[i]) {
			continue
		}
		if by := (Ruling{Source: source, Action: v.Action, Rule: v.Rule, Unenforced: v.Unenforced}); n == nil || by != last {
			last, n = by, r.Of(by)
		}
		n.Add(1)
	}
}

// Each calls f with every count, in no order.
func (r *Counts) Each(f func(by Ruling, n uint64)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for by, n := range r.by {
		f(by, n.Load())
	}
}
