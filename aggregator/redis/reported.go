package redis

import "sync"

// reported are the prefixes whose poison was alarmed, so that each is once.
type reported struct {
	mu   sync.Mutex
	seen map[string]bool
}

// first reports whether prefix is new; past a bound nothing is.
func (r *reported) first(prefix string) bool {
	const most = 1024
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[prefix] || len(r.seen) >= most {
		return false
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[prefix] = true
	return true
}
