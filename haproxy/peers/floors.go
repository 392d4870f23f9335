package peers

import "hash/maphash"

// places is how many places for dropped keys a column has.
const places = 1 << 14

// floors are the highest values that keys were dropped with, by a hash of the key.
type floors struct {
	values []uint32
}

// dropEntry makes room of an entry, and remembers its values.
func (t *countTable) dropEntry(i int32) {
	e := &t.entries[i]
	if t.floors[0] == nil {
		t.floors[0] = &floors{values: make([]uint32, places*t.columns)}
	}
	for c, v := range t.valuesOf(t.last, i) {
		if t.low != nil {
			v = max(v, t.valuesOf(t.high, i)[c])
		}
		floor := &t.floors[0].values[t.place(e.key, c)]
		*floor = max(*floor, v)
	}
	delete(t.index, e.key)
	t.unlink(i)
}

func (t *countTable) place(key [16]byte, column int) int {
	return int(maphash.Comparable(t.seed, key)%places)*t.columns + column
}

// floor returns what a key may have been dropped with.
func (t *countTable) floor(key [16]byte, column int) (highest uint32) {
	for _, f := range t.floors {
		if f != nil {
			highest = max(highest, f.values[t.place(key, column)])
		}
	}
	return highest
}

func (t *countTable) hasDropped() bool { return t.floors[0] != nil || t.floors[1] != nil }

// noteResync notes that a resync is asked for. Keys that were dropped before and that it does
// not have are forgotten by HAProxy, too.
func (t *countTable) noteResync() {
	if t.floors[0] == nil {
		return
	}
	if t.floors[1] == nil {
		t.floors[1] = t.floors[0]
	} else {
		for i, v := range t.floors[0].values {
			t.floors[1].values[i] = max(t.floors[1].values[i], v)
		}
	}
	t.floors[0] = nil
}

// resynced forgets what was dropped before the resync was asked for.
func (t *countTable) resynced() { t.floors[1] = nil }
