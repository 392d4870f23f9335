package aggregator

import (
	"sync"
)

// The keys that were unblocked and are still to be forgotten in Redis, and those that Redis
// forgot without an unblock.

// mostCleared bounds the keys that wait. The counts of a key that does not fit expire in
// Redis 70 slots after its last push.
const mostCleared = 1 << 16

// ClearedMark is the first slot of a key that counts, and its meter's width in seconds.
type ClearedMark struct{ Slot, Width uint32 }

// Cleared is a key whose slots below the mark no longer count.
type Cleared struct {
	Key Key
	ClearedMark
}

// ClearedQueue has the keys that wait. It is safe for concurrent use. Make one with
// [NewClearedQueue].
type ClearedQueue struct {
	// Waiting is signalled when there are some.
	Waiting chan struct{}

	mu    sync.Mutex // guards marks
	marks map[Key]ClearedMark
}

// NewClearedQueue returns an empty queue.
func NewClearedQueue() *ClearedQueue { return &ClearedQueue{Waiting: make(chan struct{}, 1)} }

// Add queues keys. Of two marks of a key the higher one is kept.
func (q *ClearedQueue) Add(keys []Cleared) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range keys {
		known, waits := q.marks[one.Key]
		if !waits && len(q.marks) >= mostCleared {
			continue
		}
		if q.marks == nil {
			q.marks = map[Key]ClearedMark{}
		}
		one.Slot = max(one.Slot, known.Slot)
		q.marks[one.Key] = one.ClearedMark
	}
	q.signal()
}

// TakeAll empties the queue and returns what was in it.
func (q *ClearedQueue) TakeAll() map[Key]ClearedMark {
	q.mu.Lock()
	defer q.mu.Unlock()
	owed := q.marks
	q.marks = nil
	return owed
}

// PutBack queues again what [ClearedQueue.TakeAll] returned and is still to be done.
func (q *ClearedQueue) PutBack(owed map[Key]ClearedMark) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, one := range q.marks {
		one.Slot = max(one.Slot, owed[k].Slot)
		owed[k] = one
	}
	q.marks = owed
	q.signal()
}

func (q *ClearedQueue) signal() {
	select {
	case q.Waiting <- struct{}{}:
	default:
	}
}
