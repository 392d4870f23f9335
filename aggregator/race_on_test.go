//go:build race

package aggregator_test

// raceEnabled: the race detector slows the runs down, and virtual time has no
// races.
const raceEnabled = true
