// Package loadtest measures edgeguard from outside, against its own parts and
// against its peers:
//
//	traffic       the logs and captures that everything is measured on
//	gen           writes them: go run ./loadtest/gen log > access.log
//	peers         the table against other tables; a separate module
//	instructions  what one operation costs the processor, counted and not timed
//	report        runs the rest and prints each figure beside its goal
//
// The benchmarks of this package compare parts of edgeguard that may not
// import each other. Nothing of edgeguard imports it.
package loadtest
