package aggregator

import "time"

// eachSecond bounds how many splits a node reads in a second of keys that it has looked
// at before: who raises the counts of many clients has each looked at again and
// again. A key that finds no room is tried with its next push.
const eachSecond = 1000

// What a split costs Redis, and each node's field in it (BenchmarkSplit in
// aggregator/redis).
const splitCost, fieldCost = 6 * time.Microsecond, 1100 * time.Nanosecond

// SplitsFor returns how many splits a node may read in a second where each has so many
// fields: of keys that it looks at for the first time, and of others. Each node that has
// counted something of a key reads its split, so all of them together take half of Redis'
// time for the first, and an eighth for the others.
func SplitsFor(fields int) (first, again int) {
	n := time.Duration(max(fields, 1))
	first = max(1, int(time.Second/2/(n*(splitCost+n*fieldCost))))
	return first, max(SplitWindows, min(first/4, eachSecond))
}

// SplitBudget is what is left of a second's splits. The zero value is full. It is not
// safe for concurrent use.
type SplitBudget struct {
	begun time.Time
	used  int
}

// TakeReads returns how many more of some splits may be read at now, of most in a second.
func (b *SplitBudget) TakeReads(splits, most int, now time.Time) (taken int) {
	if age := now.Sub(b.begun); age >= time.Second || age < 0 {
		b.begun, b.used = now, 0
	}
	taken = max(0, min(splits, most-b.used))
	b.used += taken
	return taken
}
