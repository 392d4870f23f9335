//go:build !race

package detector_test

const underRace = false

func rounds(n int) int { return n }
