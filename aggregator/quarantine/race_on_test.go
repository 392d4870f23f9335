//go:build race

package quarantine

// underRace says that the race detector slows everything.
const underRace = true
