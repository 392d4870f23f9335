//go:build !race

package node

// underRace says that the race detector slows everything.
const underRace = false
