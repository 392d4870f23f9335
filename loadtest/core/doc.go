// Package core has the benchmarks that compare parts of edgeguard that may not
// import each other: a verdict beside one count, and every single decision while a
// table grows and forgets:
//
//	go test -run '^$' -bench 'Decide|Count' ./loadtest/core
//	go test -run '^$' -bench Growth -benchtime 1x ./loadtest/core
package core
