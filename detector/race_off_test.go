//go:build !race

package detector_test

const underRace = false
