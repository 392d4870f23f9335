package node

import (
	"math/rand/v2"
	"testing"

	"edgeguard/config"
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
