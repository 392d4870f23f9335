//go:build race

package peers

// runs is how many random runs of each kind there are: one goroutine uses a session,
// and the race detector takes ten times as long.
const runs = 1
