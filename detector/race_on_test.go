//go:build race

package detector_test

// underRace: a sync.Pool under the race detector drops what it holds at
// random, so that allocations say nothing.
const underRace = true

// rounds returns how many of n rounds beside an oracle to run: one goroutine has
// nothing to race with, and under the detector each takes ten times as long.
func rounds(n int) int { return n / 5 }
