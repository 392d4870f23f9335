package node

import (
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard/config"
	"edgeguard/internal/lobby"
)

// What is shared out fits, and forward auth never gets less than three quarters
// where it wants them.
func TestShareFits(t *testing.T) {
	for range 10_000 {
		want := places{auth: rand.IntN(5000), others: rand.IntN(5000)}
		files := rand.IntN(6000)
		got := want.share(files)
		switch {
		case got.auth+got.others > files, got.auth > want.auth, got.others > want.others:
			t.Fatalf("%d files for %+v: %+v", files, want, got)
		case got.auth < min(want.auth, files-files/4):
			t.Fatalf("%d files for %+v: forward auth gets %+v", files, want, got)
		case want.auth+want.others <= files && got != want:
			t.Fatalf("%d files for %+v: %+v", files, want, got)
		}
	}
}

// The packaged unit's limit is enough for the defaults.
func TestUnitsLimitIsEnough(t *testing.T) {
	want, own := wantedPlaces(config.Default())
	if need := want.auth + want.others + own; need > 65536 {
		t.Errorf("%d", need)
	}
}

// A listener is full until half a minute after the last connection that had to
// go, and says how many went since it is.
func TestCrowd(t *testing.T) {
	var c crowd
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
		{crowdLasts, lobby.Stats{Closed: 7, Refused: 1}, 7, 1, true},
		{time.Second, lobby.Stats{Closed: 7, Refused: 1}, 7, 1, false},
		{time.Second, lobby.Stats{Closed: 9, Refused: 1}, 2, 0, true},
		{time.Second, lobby.Stats{Closed: 1}, 1, 0, true}, // opened again
	} {
		now = now.Add(step.after)
		closed, refused, full := c.look(now, step.stats)
		if full != step.full || full && (closed != step.closed || refused != step.refused) {
			t.Errorf("%+v: %d %d %v", step, closed, refused, full)
		}
	}
}
