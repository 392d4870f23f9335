//go:build !race

package peers

// runs is how many random runs of each kind there are.
const runs = 30
