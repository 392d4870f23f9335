package fleet

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// most is how many rounds of pushes the node that has done the fewest may have
// done since a fault ended when a look begins that still finds something wrong.
// It is counted in rounds, since a busy machine is slow in these, too, and is no
// fault. Most faults heal in one or two, those that only a beat tells of in six:
// the rest is for a machine that does not give all goroutines the same share.
// At full length, where a look at 50,000 keys takes seconds itself, it is three
// times as many.
var most = map[string]uint64{
	"a restart of Redis": 12,
	"Redis came":         12,
	"there was room":     12,
	"the fault's end":    12,
	"FLUSHALL":           16,
	"the fail-over":      16,
	"the partition":      24,
}

// healing is how long a fleet took from a fault's end until every total was
// exact and every list the same.
type healing struct {
	took   time.Duration
	rounds uint64 // of the node with the fewest, before the last look
}

// rounds are those that each node has done.
func (f *fleet) rounds() (all []uint64) {
	for _, n := range f.nodes {
		all = append(all, n.link.Stats().Rounds)
	}
	return all
}

// since is how many rounds the node with the fewest has done since before.
func (f *fleet) since(before []uint64) uint64 {
	fewest := ^uint64(0)
	for i, now := range f.rounds() {
		fewest = min(fewest, now-before[i])
	}
	return fewest
}

// healings are those of all tests, by the fault.
var healings healingsByFault

type healingsByFault struct {
	mu sync.Mutex // guards the fields below
	of map[string][]healing
}

func (h *healingsByFault) add(after string, one healing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string][]healing{}
	}
	h.of[after] = append(h.of[after], one)
}

// tell prints, for each fault, the figures that docs/benchmarks.md holds.
func (h *healingsByFault) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, after := range slices.Sorted(maps.Keys(h.of)) {
		var took []float64
		var rounds []uint64
		for _, one := range h.of[after] {
			took = append(took, one.took.Seconds()/pushEvery.Seconds())
			rounds = append(rounds, one.rounds)
		}
		slices.Sort(took)
		slices.Sort(rounds)
		middle, last := (len(took)-1)/2, len(took)-1
		fmt.Printf("exact after %s, %d times: p50 %.1f, most %.1f push intervals; p50 %d, most %d rounds of the slowest node\n",
			after, len(took), took[middle], took[last], rounds[middle], rounds[last])
	}
}
