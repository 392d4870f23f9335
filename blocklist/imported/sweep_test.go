package imported

import (
	"testing"
	"time"

	"edgeguard/blocklist"
)

// While a list is merged, a sweep does not wait for it.
func TestSweepDoesNotWait(t *testing.T) {
	s := New(Config{Own: blocklist.New(blocklist.Config{})})
	s.mu.Lock()
	s.Sweep(time.Unix(1_800_000_000, 0))
	s.mu.Unlock()
}
