//go:build !race

package tuned

const raceEnabled = false
