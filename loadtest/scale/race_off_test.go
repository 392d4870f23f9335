//go:build !race

package scale

const underRace = false
