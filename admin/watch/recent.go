package watch

import (
	"slices"
	"sync"
)

// MostRecent is how many are kept.
const MostRecent = 1000

// Ring keeps the last thousand. It is safe for concurrent use; the zero value is
// ready.
type Ring[T any] struct {
	mu   sync.Mutex // guards the fields below
	ring [MostRecent]T
	next uint64 // the number of the next one; the first is 1
}

// Add adds one, and forgets the oldest if there is no room.
func (a *Ring[T]) Add(one T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(one)
}

func (a *Ring[T]) add(one T) {
	a.next = max(a.next, 1)
	a.ring[a.next%MostRecent] = one
	a.next++
}

// Restore puts what happened earlier, the oldest first, before what was added.
func (a *Ring[T]) Restore(earlier []T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var added []T
	for n := max(1, a.next-min(a.next, MostRecent)); n < a.next; n++ {
		added = append(added, a.ring[n%MostRecent])
	}
	a.next = 0
	for _, one := range append(slices.Clip(earlier), added...) {
		a.add(one)
	}
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
	for n := before; n > 1 && a.next-(n-1) <= MostRecent; n-- {
		if len(page) == limit {
			return page, n
		}
		page = append(page, a.ring[(n-1)%MostRecent])
	}
	return page, 0
}

// Added returns how many were ever added.
func (a *Ring[T]) Added() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.next, 1) - 1
}
