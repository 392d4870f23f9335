package aggregator

import (
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Of what any node can do for all, such as proving a key, the node whose push gave the
// cause does it at once. The others leave it to that one for up to a second, and do it if
// nothing has come of it by then. Their waits are the backoff of RFC 5401, section 3.2.3:
// most are long, so that few fire before the first one's word has arrived, and yet of many
// nodes some are short, so that a node that stalls delays nobody for the whole second.

const (
	// longestBackoff bounds what a node that stalls can delay.
	longestBackoff = time.Second
	// mostBackoffs bounds the keys that wait. What finds no room does not wait.
	mostBackoffs = 10_000
)

// backoff returns how long a node leaves something to do with a key to the others: by a
// hash, so that each key has another order of the nodes.
func backoff(node [8]byte, k Key, nodes int) time.Duration {
	if nodes < 2 {
		return 0
	}
	var b [8 + 33]byte
	drawn := float64(xxhash.Sum64(k.Append(append(b[:0], node[:]...)))>>11) / (1 << 53)
	steep := math.Log(float64(nodes)) + 1
	return time.Duration(float64(longestBackoff) / steep * math.Log1p(drawn*math.Expm1(steep)))
}

// Backoff is what a node leaves to others for a moment, one thing a key. The zero value
// is ready. It is not safe for concurrent use.
type Backoff[T any] struct {
	waiting map[Key]delayed[T]
}

type delayed[T any] struct {
	what T
	from time.Time
	wait time.Duration
}

// Len returns how many keys wait.
func (b *Backoff[T]) Len() int { return len(b.waiting) }

// Has reports whether a key waits.
func (b *Backoff[T]) Has(k Key) bool { _, ok := b.waiting[k]; return ok }

// Forget forgets a key.
func (b *Backoff[T]) Forget(k Key) { delete(b.waiting, k) }

// Wait leaves something to the others, of a fleet with so many nodes. One that waits
// already is replaced, and waits no longer for that. It reports false if there is no room
// for it, or nobody to leave it to.
func (b *Backoff[T]) Wait(node [8]byte, k Key, what T, nodes int, now time.Time) bool {
	old, waits := b.waiting[k]
	switch {
	case waits:
		old.what = what
		b.waiting[k] = old
		return true
	case nodes < 2 || len(b.waiting) >= mostBackoffs:
		return false
	case b.waiting == nil:
		b.waiting = make(map[Key]delayed[T])
	}
	b.waiting[k] = delayed[T]{what, now, backoff(node, k, nodes)}
	return true
}

// TakeDue removes and returns what has waited for long enough at now, by key. After a step of
// the clock back nothing waits any longer.
func (b *Backoff[T]) TakeDue(now time.Time) (due []T) {
	var keys []Key
	for k, d := range b.waiting {
		if age := now.Sub(d.from); age >= d.wait || age < 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, Key.compare)
	for _, k := range keys {
		due = append(due, b.waiting[k].what)
		delete(b.waiting, k)
	}
	return due
}
