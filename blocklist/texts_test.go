package blocklist

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"edgeguard"
)

// Blocks that came with their own copies of a text have one after that, and reasons
// that are all different take no more memory than there is for shared ones.
func TestTexts(t *testing.T) {
	own := func(b edgeguard.Block) edgeguard.Block {
		b.Rule, b.Reason, b.Origin = strings.Clone(b.Rule), strings.Clone(b.Reason), strings.Clone(b.Origin)
		return b
	}
	blk := edgeguard.Block{Rule: "site", Reason: "over limit", Origin: "edge-2", Until: epoch.Add(time.Hour), Version: 1}
	l := New(Config{})
	l.Restore(func(yield func(edgeguard.Block, Trust) bool) {
		for i := range 2 {
			b := own(blk)
			if b.Prefix = host(i); !yield(b, Trust{}) {
				return
			}
		}
	}, epoch)
	merged := own(blk)
	merged.Prefix = host(2)
	if _, err := l.Merge(merged, epoch); err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(l.All(epoch))
	if len(all) != 3 {
		t.Fatalf("%d blocks", len(all))
	}
	for i, b := range all {
		for name, pair := range map[string][2]string{"rule": {b.Rule, all[0].Rule}, "reason": {b.Reason, all[0].Reason}, "origin": {b.Origin, all[0].Origin}} {
			if pair[0] != pair[1] || unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
				t.Errorf("block %d has its own %s %q", i, name, pair[0])
			}
		}
	}
	for i := range 5 * mostTexts {
		b := blk
		b.Prefix, b.Reason = host(10+i), fmt.Sprint("scraper ", i)
		if _, err := l.Merge(b, epoch); err != nil {
			t.Fatal(err)
		}
		if got := l.BlockOf(epoch, b.Prefix); got.Reason != b.Reason || got.Rule != "site" || got.Origin != "edge-2" {
			t.Fatalf("%+v", got)
		}
	}
	if len(l.texts) > mostTexts {
		t.Errorf("%d texts are shared", len(l.texts))
	}
}
