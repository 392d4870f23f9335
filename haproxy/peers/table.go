package peers

import "hash/maphash"

// countTable is what one table of a HAProxy had counted. The numbers of an entry are
// columns of them, at its index. Entries are in a ring, from the newest to the oldest
// and back to the first of entries' links, which is no entry.
type countTable struct {
	columns int
	keys    int // at most
	space   *space
	warm    bool
	index   map[[16]byte]int32
	entries []entry
	last    []uint32 // as HAProxy sent them last

	// In a handover, a counter that began at 0 may change to what another process
	// counted, which began at least at low and at most at high. Without a handover
	// both are nil.
	low, high []uint32
	run       uint32 // counts handovers

	newest, oldest int32
	floors         [2]*floors // of keys that were dropped since a resync was asked for, and before
	seed           maphash.Seed
	added          []uint32
}

type entry struct {
	key          [16]byte
	newer, older int32
	run          uint32 // in which it was seen
	settled      uint32 // the run in which it was seen after the other process had ended
}

const none int32 = -1

func newTable(columns, keys int, all *space, inHandover bool) *countTable {
	t := &countTable{columns: columns, keys: keys, space: all, index: map[[16]byte]int32{}, newest: none, oldest: none, seed: maphash.MakeSeed()}
	if inHandover {
		t.low, t.high = []uint32{}, []uint32{}
	}
	return t
}

// valuesOf returns the numbers of an entry.
func (t *countTable) valuesOf(of []uint32, i int32) []uint32 {
	return of[int(i)*t.columns : (int(i)+1)*t.columns]
}

// enter returns the place of a key, which is the newest then, and whether it was
// there before.
func (t *countTable) enter(key [16]byte, stats *TallyStats) (i int32, known bool) {
	if i, known = t.index[key]; known {
		if t.newest != i {
			t.unlink(i)
			t.link(i)
		}
		return i, true
	}
	if len(t.entries) < t.keys && t.space.takeKey(len(t.entries) < leastKeys) {
		i = int32(len(t.entries))
		t.entries = append(t.entries, entry{})
		t.last = grown(t.last, t.columns)
		if t.low != nil {
			t.low, t.high = grown(t.low, t.columns), grown(t.high, t.columns)
		}
	} else {
		i = t.oldest
		t.dropEntry(i)
		stats.Dropped++
	}
	t.entries[i].key, t.entries[i].run, t.entries[i].settled = key, t.run, t.run-1
	t.index[key] = i
	t.link(i)
	t.start(i)
	return i, false
}

func grown(s []uint32, by int) []uint32 {
	for range by {
		s = append(s, 0)
	}
	return s
}

// start gives a new entry the values that it may have been dropped with.
func (t *countTable) start(i int32) {
	key := t.entries[i].key
	last := t.valuesOf(t.last, i)
	for c := range last {
		floor := t.floor(key, c)
		last[c] = floor
		if t.low != nil {
			t.valuesOf(t.low, i)[c], t.valuesOf(t.high, i)[c] = 0, floor
		}
	}
}

func (t *countTable) link(i int32) {
	t.entries[i].newer, t.entries[i].older = none, t.newest
	if t.newest != none {
		t.entries[t.newest].newer = i
	} else {
		t.oldest = i
	}
	t.newest = i
}

func (t *countTable) unlink(i int32) {
	e := &t.entries[i]
	if e.newer != none {
		t.entries[e.newer].older = e.older
	} else {
		t.newest = e.older
	}
	if e.older != none {
		t.entries[e.older].newer = e.newer
	} else {
		t.oldest = e.newer
	}
}

// rebase makes values the last ones without counting them. What was seen of a known key before
// the keys of a table were all known is what an earlier process may teach yet.
func (t *countTable) rebase(i int32, known bool, values []uint32) {
	t.entries[i].run = t.run
	copy(t.valuesOf(t.last, i), values)
	if t.low == nil {
		return
	}
	low, high := t.valuesOf(t.low, i), t.valuesOf(t.high, i)
	for c, v := range values {
		switch {
		case !t.warm && !known:
			low[c], high[c] = v, max(high[c], v)
		case !t.warm:
			high[c] = max(high[c], v)
		default:
			low[c], high[c] = min(low[c], v), max(high[c], v)
		}
	}
}

// beyond returns how much values are more than the last ones.
func (t *countTable) beyond(i int32, values []uint32) (n uint64) {
	for c, last := range t.valuesOf(t.last, i) {
		n += uint64(over(values[c], last))
	}
	return n
}

// addCounters makes values the last ones, and returns what they are more than before; and
// whether another process may have counted that, since the handover began. The answer
// is valid until the next call.
func (t *countTable) addCounters(i int32, known bool, values []uint32) (added []uint32, inherited bool) {
	if cap(t.added) < t.columns {
		t.added = make([]uint32, t.columns)
	}
	added = t.added[:t.columns]
	last := t.valuesOf(t.last, i)
	switch {
	case t.low != nil:
		inherited = t.inHandover(added, i, values, last) || !known
	case !known: // last is what it may have been dropped with
		for c, v := range values {
			added[c] = over(v, last[c])
		}
	case isLess(values, last): // HAProxy forgot the key, and counts it again
		copy(added, values)
	default:
		for c, v := range values {
			added[c] = v - last[c]
		}
	}
	t.entries[i].run = t.run
	copy(last, values)
	return added, inherited
}

// inHandover fills added where values may be those of another process. An entry with
// any counter below low began at 0 in this run: all in it is new. Any other may have
// begun at high, and what was seen of it before that is in it or is lost: HAProxy
// overwrites one with the other, and does not add them up.
func (t *countTable) inHandover(added []uint32, i int32, values, last []uint32) (inherited bool) {
	low, high := t.valuesOf(t.low, i), t.valuesOf(t.high, i)
	seen := t.entries[i].run == t.run
	fresh, back := isLess(values, low), seen && isLess(values, last)
	for c, v := range values {
		from := uint32(0)
		if seen {
			from = last[c]
		}
		switch {
		case fresh && back: // which of two processes counted it is not known
			from = v
		case !fresh && (!seen || from < high[c]):
			inherited = true
			from = max(from, high[c])
		}
		added[c] = over(v, from)
	}
	return inherited
}

func isLess(values, than []uint32) bool {
	for c, v := range values {
		if v < than[c] {
			return true
		}
	}
	return false
}

func over(v, from uint32) uint32 {
	if v > from {
		return v - from
	}
	return 0
}

// isFirst reports whether an entry is seen for the first time after the other processes have
// ended: they may have counted it.
func (t *countTable) isFirst(i int32, ended bool) bool {
	e := &t.entries[i]
	if !ended || t.low == nil || e.settled == t.run {
		return false
	}
	e.settled = t.run
	return true
}

// begin begins a handover. If one is not over, what the process now may inherit is
// what was seen of the one before, or what that one might have inherited.
func (t *countTable) begin(inOne bool) {
	if !inOne || t.low == nil {
		t.low = append(t.low[:0], t.last...)
		t.high = append(t.high[:0], t.last...)
	}
	for i := range t.entries {
		if t.entries[i].run != t.run {
			continue
		}
		low, high := t.valuesOf(t.low, int32(i)), t.valuesOf(t.high, int32(i))
		for c, last := range t.valuesOf(t.last, int32(i)) {
			low[c], high[c] = min(low[c], last), max(high[c], last)
		}
	}
	t.run++
	t.noteResync()
}

// settle ends a handover.
func (t *countTable) settle() { t.low, t.high = nil, nil }

// forget notes that HAProxy does not have the keys that were not seen in this run: what it
// counts of them begins at 0.
func (t *countTable) forget() {
	for i := range t.entries {
		if t.entries[i].run != t.run {
			clear(t.valuesOf(t.last, int32(i)))
		}
	}
}
