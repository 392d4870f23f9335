//go:build !race

package aggregator_test

const raceEnabled = false
