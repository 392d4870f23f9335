package program

import (
	"testing"
	"time"
)

// mostPause is the longest time between two looks at what must come.
const mostPause = 50 * time.Millisecond

// Eventually waits until done reports true, and fails the test if that does not come. It
// looks less often the longer that takes: who is asked works for each answer.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	pause := time.Millisecond
	for deadline := time.Now().Add(patience); !done(); pause = min(2*pause, mostPause) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
		time.Sleep(pause)
	}
}
