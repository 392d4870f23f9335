package fleet

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// most is how many rounds after a fault's end a comparison may still find
// something wrong, by the rounds of the node that did the fewest: a busy
// machine is slow in these, too, and that is not a fault. Most faults heal in
// one or two rounds, those that only a heartbeat shows in six; the rest is for
// a machine that does not give all goroutines the same share. At full length,
// where comparing 50,000 keys takes seconds itself, it is three times as many.
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

// rounds returns how many rounds each node has done.
func (f *fleet) rounds() (all []uint64) {
	for _, n := range f.nodes {
		all = append(all, n.link.Stats().Rounds)
	}
	return all
}

// since returns how many rounds the node with the fewest has done since before.
func (f *fleet) since(before []uint64) uint64 {
	fewest := ^uint64(0)
	for i, now := range f.rounds() {
		fewest = min(fewest, now-before[i])
	}
	return fewest
}

// healings are those of all tests, by fault.
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

// print prints, for each fault, how long it took to heal.
func (h *healingsByFault) print() {
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
