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

// A restart keeps counts and blocks, and begins at zero where different values are counted:
// the state does not say which they were, and they would count twice.
func TestDistinctBeginsAtZero(t *testing.T) {
	const rules = `
state: $DIR
rules:
  - {name: all, threshold: 100}
  - {name: paths, threshold: 3, count: {distinct: path}}
`
	addr := netip.MustParseAddr("203.0.113.7")
	counts := func(u *underTest) (all, paths uint32) {
		x := u.pipeline.Current().Detector.Explain(u.clock.Now(), addr)
		return x.Rules[0].Count, x.Rules[1].Count
	}
	u := newNode(t, t.TempDir(), rules)
	for _, path := range []string{"/a", "/b", "/a", "/c", "/d"} {
		ev := edgeguard.Event{Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: path, Time: u.clock.Now()}
		u.pipeline.Current().Detector.Decide(u.clock.Now(), &ev)
	}
	if all, paths := counts(u); all != 5 || paths != 4 {
		t.Fatalf("before: %d requests, %d paths", all, paths)
	}
	if _, err := u.store.write(); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, u.folder, rules)
	u.store.restore()
	if all, paths := counts(u); all != 5 || paths != 0 {
		t.Errorf("after: %d requests, %d paths", all, paths)
	}
	if standing, _ := u.list.Find(u.clock.Now(), addr); standing != blocklist.Blocked {
		t.Errorf("after: %v", standing)
	}
}
