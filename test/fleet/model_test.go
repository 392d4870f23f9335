package fleet

import "sync"

// window and remembered are in slots: a window, and how far back the model
// knows what was counted.
const (
	window     = 60
	remembered = 256
)

// model is what one node counted, by key and slot: the truth that Redis is
// compared with. It does not use rings, pushes and answers.
type model struct {
	mu    sync.Mutex // guards the fields below
	slots [remembered]modelSlot
}

type modelSlot struct {
	slot   uint32
	counts []uint32 // by key
}

// add adds counts of one slot; counts are by key.
func (m *model) add(slot uint32, keys []int, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.slots[slot%remembered]
	if s.slot != slot {
		*s = modelSlot{slot: slot, counts: make([]uint32, all)}
	}
	for _, k := range keys {
		s.counts[k]++
	}
}

// sums adds up the n slots that end at end, for each key.
func (m *model) sums(end uint32, n, all int) []uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]uint32, all)
	for slot := end - uint32(n) + 1; slot != end+1; slot++ {
		if s := &m.slots[slot%remembered]; s.slot == slot {
			for k, count := range s.counts[:min(all, len(s.counts))] {
				out[k] += count
			}
		}
	}
	return out
}

// forget drops everything.
func (m *model) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slots = [remembered]modelSlot{}
}
