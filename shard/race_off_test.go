//go:build !race

package shard

// floodPart is how much smaller the flood of the tests is than the full one.
const floodPart = 50

func rounds(n int) int { return n }
