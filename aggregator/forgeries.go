package aggregator

import (
	"sync"
	"time"
)

const (
	// markStays is after how long a mark that no unblock explains is a forgery:
	// the unblock may be on its way.
	markStays = 5 * time.Second
	// mostMarks bounds those that are remembered; others are looked at later.
	mostMarks = 1024
)

// Forgery is something in Redis that no node of the fleet wrote.
type Forgery struct {
	Key Key
	// Mark says that it is a cleared-before mark; else counts in this node's
	// name.
	Mark bool
	// At is the local time at which it was last found, and Found how many were
	// found in all.
	At    time.Time
	Found uint64
}

// forgeries are those that answers showed.
type forgeries struct {
	mu    sync.Mutex // guards the fields below
	last  Forgery
	marks map[Key]unexplained
}

// unexplained is a mark without an unblock.
type unexplained struct {
	floor uint32
	since time.Time
}

// note records what an answer about a key showed.
func (f *forgeries) note(k Key, out *Outcome, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if out.Forged {
		f.last = Forgery{k, false, now, f.last.Found + 1}
	}
	m, known := f.marks[k]
	switch {
	case out.Floor == 0:
		delete(f.marks, k)
	case !known && len(f.marks) == mostMarks:
	case !known || m.floor != out.Floor || now.Before(m.since):
		if f.marks == nil {
			f.marks = make(map[Key]unexplained)
		}
		f.marks[k] = unexplained{out.Floor, now}
	case now.Sub(m.since) >= markStays:
		f.last = Forgery{k, true, now, f.last.Found + 1}
	}
}

// sweep drops the marks of keys that were not answered about for long.
func (f *forgeries) sweep(now time.Time, window time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, m := range f.marks {
		if now.Sub(m.since) > 2*window {
			delete(f.marks, k)
		}
	}
}

// Forgery returns the last forgery that was found; Found is 0 if there was none.
func (n *Totals) Forgery() Forgery {
	n.forgeries.mu.Lock()
	defer n.forgeries.mu.Unlock()
	return n.forgeries.last
}
