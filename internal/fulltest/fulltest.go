// Package fulltest leaves a test to the one run of the suite that is full: `make test`. The
// suite runs under the race detector and on a bare system, too.
package fulltest

import "testing"

// Only skips a test that computes in one goroutine: it has nothing to race with, takes ten
// times as long under the race detector, and has the same result on every machine.
func Only(tb testing.TB) {
	tb.Helper()
	if raced || testing.Short() {
		tb.Skip("computes in one goroutine: only in a full run, without the race detector")
	}
}
