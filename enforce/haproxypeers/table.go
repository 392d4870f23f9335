package haproxypeers

import (
	"time"

	"edgeguard/haproxy"
)

// slot is an entry at its place. A place does not change, so that followers find it
// again; it is used for another key when HAProxy has forgotten the one before.
type slot struct {
	key    haproxy.BlockKey
	value  uint32    // 0: lifted, or empty
	until  time.Time // of an entry that was lifted: when HAProxy has forgotten it
	spared bool      // the last value but 0 was haproxy.Spared
	used   bool
}

// table is all entries, with those that were lifted not long ago: a HAProxy that was away
// has them still.
type table struct {
	slots  []slot
	index  map[haproxy.BlockKey]int32
	free   []int32
	lifted []int32 // in the order of their times
}

// turn is when a changed entry is taught. What is spared comes before blocks around it,
// and is lifted after them.
type turn int

const (
	first turn = iota
	second
	third
	turns
)

// setEntry changes an entry. It returns its place and when to teach it.
func (t *table) setEntry(k haproxy.BlockKey, n haproxy.BlockEntry) (at int32, when turn, changed bool) {
	at, known := t.index[k]
	if !known {
		if n.Value == 0 || len(t.index) >= most {
			return 0, 0, false
		}
		at = t.place(k)
	}
	s := &t.slots[at]
	if s.value == n.Value && (n.Value == 0 || s.until.Equal(n.Until)) {
		return at, 0, false
	}
	wasSpared := s.value == haproxy.Spared
	s.value, s.until = n.Value, n.Until
	if n.Value == 0 {
		s.spared = wasSpared
		t.lifted = append(t.lifted, at)
	}
	switch {
	case n.Value == haproxy.Spared:
		return at, first, true
	case wasSpared:
		return at, third, true
	}
	return at, second, true
}

// foreign makes an entry that is lifted of one that a HAProxy has and this node does not
// know, as after a restart.
func (t *table) foreign(k haproxy.BlockKey, value uint32, until time.Time) (at int32, ok bool) {
	if len(t.index) >= most {
		return 0, false
	}
	at = t.place(k)
	t.slots[at].spared, t.slots[at].until = value == haproxy.Spared, until
	t.lifted = append(t.lifted, at)
	return at, true
}

// turnOf returns when an entry is taught to a HAProxy that knows nothing of it.
func (s *slot) turnOf() turn {
	switch {
	case s.value == haproxy.Spared:
		return first
	case s.value == 0 && s.spared:
		return third
	}
	return second
}

// place returns the place of a new key.
func (t *table) place(k haproxy.BlockKey) (at int32) {
	if last := len(t.free) - 1; last >= 0 {
		at, t.free = t.free[last], t.free[:last]
	} else {
		at = int32(len(t.slots))
		t.slots = append(t.slots, slot{})
	}
	t.slots[at] = slot{key: k, used: true}
	t.index[k] = at
	return at
}

// freeForgotten empties the places of entries that every HAProxy has forgotten.
func (t *table) freeForgotten(now time.Time) {
	n := 0
	for _, at := range t.lifted {
		s := &t.slots[at]
		if s.used && s.value == 0 && s.until.After(now) {
			break
		}
		n++
		if s.used && s.value == 0 { // else it is blocked again
			delete(t.index, s.key)
			*s = slot{}
			t.free = append(t.free, at)
		}
	}
	t.lifted = t.lifted[n:]
}
