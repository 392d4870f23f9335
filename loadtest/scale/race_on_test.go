//go:build race

package scale

const underRace = true
