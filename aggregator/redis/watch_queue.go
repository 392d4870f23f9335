package redis

import (
	"sync"

	"edgeguard/aggregator"
)

// watchQueue has the keys that are to be pushed now, each once however often the fleet asks
// for it, in the order in which they came. It is safe for concurrent use. Make one with
// newWatchQueue.
type watchQueue struct {
	news chan struct{} // there are some

	mu      sync.Mutex // guards the fields below
	keys    []aggregator.Key
	waiting map[aggregator.Key]bool
}

func newWatchQueue() *watchQueue {
	return &watchQueue{news: make(chan struct{}, 1), waiting: make(map[aggregator.Key]bool)}
}

// addKey queues a key. It reports false if there is no room for it.
func (q *watchQueue) addKey(k aggregator.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[k] {
		return true
	}
	if len(q.keys) >= maxWatched {
		return false
	}
	q.keys, q.waiting[k] = append(q.keys, k), true
	signal(q.news)
	return true
}

// takeFirst removes and returns the first keys, at most most.
func (q *watchQueue) takeFirst(most int) []aggregator.Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(most, len(q.keys))
	taken := q.keys[:n:n]
	if q.keys = q.keys[n:]; len(q.keys) == 0 {
		q.keys = nil // the memory of a flood
		q.waiting = make(map[aggregator.Key]bool)
		return taken
	}
	for _, k := range taken {
		delete(q.waiting, k)
	}
	signal(q.news)
	return taken
}

func (q *watchQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.keys)
}
