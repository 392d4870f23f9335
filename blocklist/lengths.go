package blocklist

import (
	"slices"
	"sync/atomic"
)

// lengths are the prefix lengths that the blocks of one family have. There are
// few, mostly one or two, and they seldom change: readers get a slice that is
// replaced and never written to.
type lengths struct {
	counts [129]int // blocks by length; the writer's
	used   atomic.Pointer[[]uint8]
}

// longestFirst may be called by any reader.
func (l *lengths) longestFirst() []uint8 {
	if used := l.used.Load(); used != nil {
		return *used
	}
	return nil
}

func (l *lengths) add(length uint8) {
	if l.counts[length]++; l.counts[length] == 1 {
		l.replace()
	}
}

func (l *lengths) remove(length uint8) {
	if l.counts[length]--; l.counts[length] == 0 {
		l.replace()
	}
}

func (l *lengths) replace() {
	var used []uint8
	for length, n := range slices.Backward(l.counts[:]) {
		if n > 0 {
			used = append(used, uint8(length))
		}
	}
	l.used.Store(&used)
}
