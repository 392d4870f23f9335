package redis

import (
	"context"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/clockguard"
	"edgeguard/internal/redistest"
	"edgeguard/ring"
)

// TestSplitOfSlots: a node asks for the slots, and with functions of before, which know none,
// is answered with sums, and no error.
func TestSplitOfSlots(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	m, p := pusherOf(t, s, "edge-a", nil)
	ctx := context.Background()
	m.see("192.0.2.1", 7)
	if err := p.Round(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	look := aggregator.SplitLook{Key: key("192.0.2.1"), Slots: true}
	look.Heads = []uint32{clockguard.Slot(time.Now(), p.node.Width(look.Key.Meter))}
	read := func(when string, slots int) {
		t.Helper()
		splits, err := p.splits(ctx, []aggregator.SplitLook{look})
		if err != nil || len(splits[0][0]) != 1 {
			t.Fatalf("%s: %v, %v", when, splits, err)
		}
		if f := splits[0][0][0]; f.Count != 7 || len(f.Slots) != slots {
			t.Errorf("%s: %d in %d slots, want 7 in %d", when, f.Count, len(f.Slots), slots)
		}
	}
	read("functions of today", ring.Slots)
	const stands = "#args > 2 or not whole(args[1], 2 ^ 32) or args[2] and args[2] ~= 'slots'"
	if strings.Count(LibrarySource, stands) != 1 {
		t.Fatal("the library is another")
	}
	if err := s.Client().FunctionLoadReplace(ctx, strings.Replace(LibrarySource, stands, "#args > 1", 1)).Err(); err != nil {
		t.Fatal(err)
	}
	read("functions of before", 0)
	read("again", 0)
}
