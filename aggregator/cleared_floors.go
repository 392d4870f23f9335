package aggregator

import (
	"sync"
	"time"
)

const (
	// explains is how long the unblock that belongs to a mark may take to arrive.
	explains = 5 * time.Second
	// clearAgain is the least time between two tries to take back the marks of a key: who
	// else writes to Redis can set them again.
	clearAgain = time.Minute
	// mostFloors bounds the keys that are remembered.
	mostFloors = 4096
)

// ClearedFloors are the marks in Redis that no unblock known here explains, and the keys
// of which it has counts that no node made. It is safe for concurrent use. The
// zero value is ready.
type ClearedFloors struct {
	mu    sync.Mutex // guards known
	known map[Key]floor
}

type floor struct {
	ClearedMark
	first, last, tried time.Time
	forged             bool
}

// NoteMark records that Redis answered with this mark for a key.
func (f *ClearedFloors) NoteMark(k Key, m ClearedMark, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.known[k]
	if !ok && len(f.known) >= mostFloors {
		return
	}
	if f.known == nil {
		f.known = map[Key]floor{}
	}
	if one.ClearedMark != m {
		one.ClearedMark, one.first = m, now
	}
	one.last = now
	f.known[k] = one
}

// Forged records that Redis has counts of a key that no node made, and reports
// whether that is new.
func (f *ClearedFloors) Forged(k Key, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, known := f.known[k]
	if !known && len(f.known) >= mostFloors {
		return false
	}
	if f.known == nil {
		f.known = map[Key]floor{}
	}
	first := !one.forged
	one.forged, one.last = true, now
	f.known[k] = one
	return first
}

// DueMarks returns the marks that have been there for so long that no unblock can
// explain them, and are to be taken back now. marks and forged report whether
// there is a key of which a mark was taken back, or counts were forged, within a
// minute.
func (f *ClearedFloors) DueMarks(now time.Time) (due []Cleared, marks, forged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, one := range f.known {
		switch {
		case now.Sub(one.last) >= clearAgain:
			delete(f.known, k)
			continue
		case one.Slot != 0 && one.last.Sub(one.first) >= explains && (one.tried.IsZero() || now.Sub(one.tried) >= clearAgain):
			one.tried = now
			f.known[k] = one
			due = append(due, Cleared{Key: k, ClearedMark: one.ClearedMark})
		}
		marks, forged = marks || !one.tried.IsZero(), forged || one.forged
	}
	return due, marks, forged
}
