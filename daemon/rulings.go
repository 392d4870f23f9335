package daemon

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

// ruling is what verdicts and crossings are counted by.
type ruling struct {
	source string
	action edgeguard.Action
	rule   string
}

// rulings counts by ruling since the start. Passes are none: whoever asks counts
// them, and they must not wait for each other here. The names of sources and
// rules are the config's, so that it stays small. Safe for concurrent use; the zero value
// is ready.
type rulings struct {
	mu sync.RWMutex
	by map[ruling]*atomic.Uint64
}

// of gives the counter of a ruling.
func (r *rulings) of(by ruling) *atomic.Uint64 {
	r.mu.RLock()
	known := r.by[by]
	r.mu.RUnlock()
	if known != nil {
		return known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = make(map[ruling]*atomic.Uint64)
	}
	n := r.by[by]
	if n == nil {
		n = new(atomic.Uint64)
		r.by[by] = n
	}
	return n
}

// count gives how often there was this ruling.
func (r *rulings) count(by ruling) uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if n := r.by[by]; n != nil {
		return n.Load()
	}
	return 0
}

// batch counts the verdicts of a batch, in which the same often follow each
// other.
func (r *rulings) batch(source string, verdicts []edgeguard.Verdict) {
	var last ruling
	var n *atomic.Uint64
	for i := range verdicts {
		v := &verdicts[i]
		if v.Action == edgeguard.ActionPass {
			continue
		}
		if by := (ruling{source, v.Action, v.Rule}); n == nil || by != last {
			last, n = by, r.of(by)
		}
		n.Add(1)
	}
}

// figures gives the counts, in a fixed order.
func (r *rulings) figures() []admin.Decisions {
	r.mu.RLock()
	out := make([]admin.Decisions, 0, len(r.by))
	for by, n := range r.by {
		out = append(out, admin.Decisions{Protocol: by.source, Action: by.action.String(), Rule: by.rule, Count: n.Load()})
	}
	r.mu.RUnlock()
	slices.SortFunc(out, func(a, b admin.Decisions) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// timeEvery is how many decisions are made for each whose duration is measured:
// two looks at the clock and a histogram cost as much as a decision.
const timeEvery = 16

// observed gives a decider that counts what decide said and measures how long
// every timeEvery-th decision took.
func (n *Node) observed(source string, decide edgeguard.Decider) edgeguard.Decider {
	took := n.latency.Of(source)
	var decisions atomic.Uint64
	return func(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
		var begun time.Time
		measured := decisions.Add(1)%timeEvery == 0
		if measured {
			begun = time.Now()
		}
		verdict := decide(now, event)
		if measured {
			took(time.Since(begun))
		}
		if verdict.Action != edgeguard.ActionPass {
			n.rulings.of(ruling{source, verdict.Action, verdict.Rule}).Add(1)
		}
		return verdict
	}
}
