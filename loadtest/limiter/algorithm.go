package limiter

import (
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// Algorithm is one way to limit a rate.
type Algorithm struct {
	Name string // one word with dashes
	What string // a sentence for the reader
	// New returns one that limits every client to limit in a window of 60 slots.
	New func(limit uint32, window time.Duration) Local
	// Since is from when on the count of a decision at now holds all that was
	// allowed; it holds nothing from before the window. Nil where nothing is
	// certain.
	Since func(now, window time.Duration) time.Duration
}

// Guards of the ring that are compared: none, and the default.
const (
	guardNone    = rules.Guard(1_000_000)
	guardDefault = rules.Guard(950_000)
)

// Algorithms returns all of them, the plainest first.
func Algorithms() []Algorithm {
	ring := func(guard rules.Guard) func(uint32, time.Duration) Local {
		return func(limit uint32, window time.Duration) Local { return NewRing(limit, guard, window) }
	}
	slots := func(now, window time.Duration) time.Duration {
		slot := window / edgeguard.Slots
		return now.Truncate(slot) - window + slot
	}
	return []Algorithm{
		{Name: "fixed-window", What: "one counter, emptied at each boundary of the window",
			New:   func(limit uint32, window time.Duration) Local { return NewFixedWindow(limit, window) },
			Since: func(now, window time.Duration) time.Duration { return now.Truncate(window) }},
		{Name: "two-counters", What: "the window's counter, and the last one's by its part of the sliding window",
			New: func(limit uint32, window time.Duration) Local { return NewTwoCounters(limit, window) }},
		{Name: "sliding-log", What: "the time and cost of each request that was allowed",
			New:   func(limit uint32, window time.Duration) Local { return NewSlidingLog(limit, window) },
			Since: func(now, window time.Duration) time.Duration { return now - window + 1 }},
		{Name: "gcra", What: "a token bucket as one time (GCRA): a whole limit at once, then one by one",
			New: func(limit uint32, window time.Duration) Local { return NewGCRA(limit, window) }},
		{Name: "60-buckets", What: "the 60 buckets of the document, its pseudo-code taken literally",
			New:   func(limit uint32, window time.Duration) Local { return NewBuckets(limit, window) },
			Since: slots},
		{Name: "ring-1", What: "edgeguard's 60 slots, guard 1", New: ring(guardNone), Since: slots},
		{Name: "ring-0.95", What: "edgeguard's 60 slots, guard 0.95: the default", New: ring(guardDefault), Since: slots},
	}
}
