package cleared

import (
	"sync"
	"time"

	"edgeguard/aggregator"
)

const (
	// explains is how long the unblock that belongs to a mark may take to arrive.
	explains = 5 * time.Second
	// again is the least time between two tries to take back the marks of a key: who
	// else writes to Redis can set them again.
	again = time.Minute
	// mostFloors bounds the keys that are remembered.
	mostFloors = 4096
)

// Floors are the marks in Redis that no unblock known here explains, and the keys
// of which it has counts that no node made. It is safe for concurrent use. The
// zero value is ready.
type Floors struct {
	mu    sync.Mutex // guards known
	known map[aggregator.Key]floor
}

type floor struct {
	Mark
	first, last, tried time.Time
	forged             bool
}

// See records that Redis answered with this mark for a key.
func (f *Floors) See(k aggregator.Key, m Mark, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.known[k]
	if !ok && len(f.known) >= mostFloors {
		return
	}
	if f.known == nil {
		f.known = map[aggregator.Key]floor{}
	}
	if one.Mark != m {
		one.Mark, one.first = m, now
	}
	one.last = now
	f.known[k] = one
}

// Forged records that Redis has counts of a key that no node made, and reports
// whether that is new.
func (f *Floors) Forged(k aggregator.Key, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, known := f.known[k]
	if !known && len(f.known) >= mostFloors {
		return false
	}
	if f.known == nil {
		f.known = map[aggregator.Key]floor{}
	}
	first := !one.forged
	one.forged, one.last = true, now
	f.known[k] = one
	return first
}

// Due returns the marks that have been there for so long that no unblock can
// explain them, and are to be taken back now. marks and forged report whether
// there is a key of which a mark was taken back, or counts were forged, within a
// minute.
func (f *Floors) Due(now time.Time) (due []Item, marks, forged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, one := range f.known {
		switch {
		case now.Sub(one.last) >= again:
			delete(f.known, k)
			continue
		case one.Slot != 0 && one.last.Sub(one.first) >= explains && (one.tried.IsZero() || now.Sub(one.tried) >= again):
			one.tried = now
			f.known[k] = one
			due = append(due, Item{Key: k, Mark: one.Mark})
		}
		marks, forged = marks || !one.tried.IsZero(), forged || one.forged
	}
	return due, marks, forged
}
