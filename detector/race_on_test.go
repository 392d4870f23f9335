//go:build race

package detector_test

// underRace: a sync.Pool under the race detector drops what it holds at
// random, so that allocations say nothing.
const underRace = true
