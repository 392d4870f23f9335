//go:build !race

package fulltest

const raced = false
