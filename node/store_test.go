package node

import (
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
