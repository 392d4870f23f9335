package authority

import "sync"

// mostAlarmed bounds the prefixes that raise an alarm of their own.
const mostAlarmed = 1024

// Once is a set of prefixes that had an alarm about a rejected record, so that
// each raises one. It is safe for concurrent use. The zero value is ready.
type Once struct {
	mu   sync.Mutex // guards seen
	seen map[string]bool
}

// First reports whether prefix is new; when the set is full, none is.
func (o *Once) First(prefix string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[prefix] || len(o.seen) >= mostAlarmed {
		return false
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	o.seen[prefix] = true
	return true
}
