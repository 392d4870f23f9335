//go:build race

package shard

// floodPart: the race detector checks every pointer into a page, which makes a
// flood thirty times slower, and one goroutine has nothing to race with.
const floodPart = 400

// rounds returns how many of n events to hold against an oracle: see floodPart.
func rounds(n int) int { return n / 5 }
