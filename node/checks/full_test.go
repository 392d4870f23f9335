package checks

import (
	"testing"
	"time"

	"edgeguard/internal/lobby"
)

// A listener is full until half a minute after the last connection that had to
// go, and says how many went since it is.
func TestFull(t *testing.T) {
	var f Full
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, step := range []struct {
		after           time.Duration
		stats           lobby.Stats
		closed, refused uint64
		full            bool
	}{
		{0, lobby.Stats{}, 0, 0, false},
		{time.Second, lobby.Stats{Closed: 5}, 5, 0, true},
		{time.Second, lobby.Stats{Closed: 7, Refused: 1}, 7, 1, true},
		{fullLasts, lobby.Stats{Closed: 7, Refused: 1}, 7, 1, true},
		{time.Second, lobby.Stats{Closed: 7, Refused: 1}, 7, 1, false},
		{time.Second, lobby.Stats{Closed: 9, Refused: 1}, 2, 0, true},
		{time.Second, lobby.Stats{Closed: 1}, 1, 0, true}, // opened again
	} {
		now = now.Add(step.after)
		closed, refused, full := f.look(now, step.stats)
		if full != step.full || full && (closed != step.closed || refused != step.refused) {
			t.Errorf("%+v: %d %d %v", step, closed, refused, full)
		}
	}
}
