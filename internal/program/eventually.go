package program

import (
	"testing"
	"time"
)

// Eventually waits until done reports true, and fails the test if that does not come. It
// asks less often the longer that takes: what is asked may be a busy process.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(patience); !done(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
		time.Sleep(pause)
	}
}
