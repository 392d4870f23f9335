//go:build !race

package tally

// runs is how many random runs of each kind there are.
const runs = 60
