//go:build race

package replay_test

// raceEnabled: a replay decides on one goroutine, and the long ones show the
// race detector nothing.
const raceEnabled = true
