package aggregator

import "time"

// eachSecond bounds how many splits a node reads of keys that it has looked at
// before: who raises the counts of many clients has each looked at again and
// again. A key that finds no room is tried with its next push.
const eachSecond = 1000

// SplitBudget is what is left of a second's splits. The zero value is full. It is not
// safe for concurrent use.
type SplitBudget struct {
	begun time.Time
	used  int
}

// Take reports whether so many more splits may be read at now.
func (b *SplitBudget) Take(splits int, now time.Time) bool {
	if age := now.Sub(b.begun); age >= time.Second || age < 0 {
		b.begun, b.used = now, 0
	}
	if b.used+splits > eachSecond {
		return false
	}
	b.used += splits
	return true
}
