package node

import (
	"net/netip"
	"testing"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/snapshot"
)

// A restart keeps what is known of a record, and what a state file of an earlier
// version says to be forced was forced here.
func TestTrustIsSaved(t *testing.T) {
	for i := range 8 {
		want := blocklist.Trust{Forced: i&1 != 0, Signed: i&2 != 0, Here: i&5 == 5}
		if got := trusted(saved(edgeguard.Block{}, want)); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	if got := trusted(&snapshot.Block{Block: edgeguard.Block{}, Forced: true}); got != (blocklist.Trust{Forced: true, Here: true}) {
		t.Errorf("of an earlier version: %+v", got)
	}
}

// An unblock changes the list, which has the state saved, and then clears the counts: a
// state that was saved in between is not the last for a minute, or a kill would bring
// them back, and with them the block.
func TestClearedCountsAreSaved(t *testing.T) {
	u := newNode(t, t.TempDir(), tuned)
	u.pipeline.Clear(u.clock.Now(), netip.MustParsePrefix("203.0.113.7/32"))
	select {
	case <-u.store.changed:
	default:
		t.Error("nothing has the state saved")
	}
}
