// Package cleared keeps the keys that were unblocked and are still to be forgotten
// in Redis, and those that Redis forgot without an unblock.
package cleared

import (
	"sync"

	"edgeguard/aggregator"
)

// most bounds the keys that wait. The counts of a key that does not fit expire in
// Redis 70 slots after its last push.
const most = 1 << 16

// Mark is the first slot of a key that counts, and its meter's width in seconds.
type Mark struct{ Slot, Width uint32 }

// Item is a key whose slots below the mark no longer count.
type Item struct {
	Key aggregator.Key
	Mark
}

// Queue has the keys that wait. It is safe for concurrent use. Make one with
// [NewQueue].
type Queue struct {
	// Waiting is signalled when there are some.
	Waiting chan struct{}

	mu    sync.Mutex // guards marks
	marks map[aggregator.Key]Mark
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{Waiting: make(chan struct{}, 1)} }

// Add queues keys. Of two marks of a key the higher one is kept.
func (q *Queue) Add(keys []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range keys {
		known, waits := q.marks[one.Key]
		if !waits && len(q.marks) >= most {
			continue
		}
		if q.marks == nil {
			q.marks = map[aggregator.Key]Mark{}
		}
		one.Slot = max(one.Slot, known.Slot)
		q.marks[one.Key] = one.Mark
	}
	q.signal()
}

// Take empties the queue and returns what was in it.
func (q *Queue) Take() map[aggregator.Key]Mark {
	q.mu.Lock()
	defer q.mu.Unlock()
	owed := q.marks
	q.marks = nil
	return owed
}

// PutBack queues again what [Queue.Take] returned and is still to be done.
func (q *Queue) PutBack(owed map[aggregator.Key]Mark) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, one := range q.marks {
		one.Slot = max(one.Slot, owed[k].Slot)
		owed[k] = one
	}
	q.marks = owed
	q.signal()
}

func (q *Queue) signal() {
	select {
	case q.Waiting <- struct{}{}:
	default:
	}
}
