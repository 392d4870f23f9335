// Package recent keeps the last things that happened, and returns them page by page.
package recent

import "sync"

// most is how many are kept.
const most = 1000

// Ring keeps the last thousand. It is safe for concurrent use; the zero value is
// ready.
type Ring[T any] struct {
	mu   sync.Mutex // guards the fields below
	ring [most]T
	next uint64 // the number of the next one; the first is 1
}

// Add adds one, and forgets the oldest if there is no room.
func (a *Ring[T]) Add(one T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = max(a.next, 1)
	a.ring[a.next%most] = one
	a.next++
}

// Page returns the newest ones before a number, 0 for all, and the number of the
// last of them, 0 if there are no more before it.
func (a *Ring[T]) Page(before uint64, limit int) (page []T, next uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	page = []T{}
	if before == 0 || before > a.next {
		before = a.next
	}
	for n := before; n > 1 && a.next-(n-1) <= most; n-- {
		if len(page) == limit {
			return page, n
		}
		page = append(page, a.ring[(n-1)%most])
	}
	return page, 0
}
