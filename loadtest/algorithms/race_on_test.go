//go:build race

package algorithms

// raceEnabled: the limiters of one scenario run beside each other, and more
// scenarios show the race detector nothing.
const raceEnabled = true
