package node

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/haproxy/peers"
)

// A restart keeps what is known of a record.
func TestTrustIsSaved(t *testing.T) {
	for i := range 8 {
		want := blocklist.Trust{Forced: i&1 != 0, Signed: i&2 != 0, Here: i&5 == 5}
		if got := trustOfSaved(blockToSave(edgeguard.Block{}, want)); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
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

// A state that is gone or broken takes what its blocks had replaced with it: else who lifts a block that is made later
// would have one in force again that it never replaced.
func TestReplacedGoesWithTheState(t *testing.T) {
	for name, end := range map[string]func(file string) error{
		"gone":   os.Remove,
		"broken": func(file string) error { return os.WriteFile(file, []byte("no state"), 0o600) },
	} {
		u := newNode(t, t.TempDir(), "\nstate: $DIR\nrules: [{name: site, threshold: 300}]\n")
		now := u.clock.Now()
		for _, rule := range []string{"site", edgeguard.ManualRule} {
			b := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Rule: rule, Since: now, Until: now.Add(time.Hour), Origin: "n1"}
			if _, _, err := u.list.Add(b, false, now); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := u.store.write(); err != nil {
			t.Fatal(err)
		}
		if err := end(u.store.path); err != nil {
			t.Fatal(err)
		}
		u = newNode(t, u.folder, "\nstate: $DIR\nrules: [{name: site, threshold: 300}]\n")
		u.store.restore()
		for b := range u.list.ReplacedRecords() {
			t.Errorf("%s: %+v is remembered", name, b)
		}
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

// counterOf is what HAProxy's only counter of the client says.
func counterOf(addr netip.Addr, value uint64) *peers.Update {
	table := &peers.Definition{ID: 1, Name: "/counts", Key: peers.IPv6, KeyBytes: 16, Expire: time.Hour, Stored: []peers.Stored{{Type: peers.GPC, Elements: 1}}}
	key := addr.As16()
	return &peers.Update{Table: table, Key: key[:], Numbers: []uint64{value}}
}

// A restart counts what HAProxy counted meanwhile, once: also after a save that failed,
// and with more keys than fit into one note.
func TestHAProxyCountersOfRestart(t *testing.T) {
	const rules = `
state: $DIR
rules: [{name: all, threshold: 10000}]
`
	addr := netip.MustParseAddr("203.0.113.7")
	counted := func(u *underTest) uint32 {
		return u.pipeline.Current().Detector.Explain(u.clock.Now(), addr).Rules[0].Count
	}
	connect := func(u *underTest) func(netip.Addr, uint64) {
		now := u.clock.Now()
		session := u.store.tally.Kept.Begin("ha1", 7, now)
		count := u.pipeline.Increases("haproxy a", false)
		return func(addr netip.Addr, value uint64) {
			session.Round(u.clock.Now(), 100)
			count(u.clock.Now(), u.pipeline.Current().Columns.Table(), session.Add(counterOf(addr, value), nil))
			session.Resynced(true)
			session.Resynced(true) // nothing was inherited in the middle of this one
		}
	}
	u := newNode(t, t.TempDir(), rules)
	is := connect(u)
	is(addr, 500) // the baseline
	is(addr, 540)
	for other, n := addr, 0; n < 1000; n++ {
		other = other.Next()
		is(other, 1)
	}
	if _, err := u.store.write(); err != nil || counted(u) != 40 {
		t.Fatalf("%v, counted %d", err, counted(u))
	}
	is(addr, 550) // lost by a kill

	u = newNode(t, u.folder, rules)
	u.store.restore()
	connect(u)(addr, 570)
	if got, keys := counted(u), u.store.tally.Kept.Stats("ha1").Keys; got != 70 || keys != 1001 {
		t.Errorf("after a restart: counted %d, want 70, of %d keys", got, keys)
	}

	u.store.path = filepath.Join(u.folder, "no", "folder")
	if _, err := u.store.write(); err == nil {
		t.Error("the state is saved in no folder")
	}
	u = newNode(t, u.folder, rules)
	u.store.restore()
	connect(u)(addr, 580)
	if got := counted(u); got != 80 {
		t.Errorf("after a save that failed: counted %d, want 80", got)
	}

	was := u.store.tally.Kept
	if err := u.store.tally.restore([]byte("another version's")); err == nil || u.store.tally.Kept != was {
		t.Errorf("a state of another version: %v", err)
	}
	if err := u.store.tally.restore(nil); err != nil || u.store.tally.Kept != was {
		t.Errorf("no state: %v", err)
	}
}
