package aggregator

import (
	"sync"
	"time"
)

const (
	// again is after how long a key is added to the watch list again: a node may
	// have missed it.
	again = 15 * time.Second
	// most bounds the keys that are remembered for this.
	most = 1024
)

// RecentWatches are the keys that were added to the watch list, and when. The zero value is
// ready. It is safe for concurrent use.
type RecentWatches struct {
	mu   sync.Mutex // guards last
	last map[Key]time.Time
}

// New returns the keys that were not asked for lately, and remembers them.
func (a *RecentWatches) New(keys []Key, now time.Time) []Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil || len(a.last)+len(keys) > most {
		a.last = make(map[Key]time.Time)
	}
	var out []Key
	for _, k := range keys {
		if last, ok := a.last[k]; !ok || now.Sub(last) >= again {
			a.last[k] = now
			out = append(out, k)
		}
	}
	return out
}
