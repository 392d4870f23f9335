//go:build race

package tuned

// raceEnabled: a replay decides on one goroutine, and the long ones show the
// race detector nothing.
const raceEnabled = true
