package fleet

import "sync"

// mostAlarmed bounds the prefixes that raise an alarm of their own.
const mostAlarmed = 1024

// Rejected is a set of prefixes that have an alarm about a rejected record, so
// that each raises one and ends it. It is safe for concurrent use. The zero value
// is ready.
type Rejected struct {
	mu   sync.Mutex // guards seen
	seen map[string]bool
}

// First reports whether prefix is new; when the set is full, none is.
func (r *Rejected) First(prefix string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[prefix] || len(r.seen) >= mostAlarmed {
		return false
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[prefix] = true
	return true
}

// DropPrefix drops a prefix, and reports whether it was there.
func (r *Rejected) DropPrefix(prefix string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.seen[prefix]
	delete(r.seen, prefix)
	return was
}

// PrefixesGone returns the prefixes of which the fleet's list has no record any more.
func (r *Rejected) PrefixesGone(has func(prefix string) bool) (gone []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for prefix := range r.seen {
		if !has(prefix) {
			gone = append(gone, prefix)
		}
	}
	return gone
}
