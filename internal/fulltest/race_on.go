//go:build race

package fulltest

const raced = true
