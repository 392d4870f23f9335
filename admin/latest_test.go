package admin

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/eventlog"
	"edgeguard/internal/words"
)

// The latest changes are found beside any number of blocks, that of many prefixes as long as it is among the newest
// events or in the time that is asked for; guests have none.
func TestLatestChanges(t *testing.T) {
	log := eventlog.New(eventlog.Config{Folder: t.TempDir(), Bytes: 64 << 20, Keep: time.Hour})
	if err := log.Open(); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	events := NewEvents("n1", log, func(string, string) (none words.Measure) { return none })
	v := NewView(&watching{}, events)
	var many []netip.Prefix
	for i := range 100 {
		many = append(many, netip.MustParsePrefix(fmt.Sprintf("203.0.113.%d/32", i)))
	}
	events.Change(Audit{Time: start, Action: "allow", Target: "198.51.100.7", Result: "ok"})
	events.Change(Audit{Time: start.Add(time.Minute), Action: "unblock many", Result: "ok", Prefixes: many})
	latest := func(v *View, from, until time.Time) (actions []string) {
		for _, e := range v.LatestChanges(t.Context(), from, until, 10) {
			actions = append(actions, e.Change.Action)
		}
		return actions
	}
	none := time.Time{}
	if got := latest(v, none, none); !slices.Equal(got, []string{"unblock many", "allow"}) {
		t.Errorf("%q", got)
	}
	for i := range 2 * fewEvents {
		events.Block(start.Add(2*time.Minute), edgeguard.Block{Prefix: many[i%100], Rule: "site", Since: start, Until: start.Add(time.Hour)}, nil, false)
	}
	if got := latest(v, none, none); !slices.Equal(got, []string{"allow"}) {
		t.Errorf("beside blocks: %q", got)
	}
	if got := latest(v, start, start.Add(time.Hour)); !slices.Equal(got, []string{"unblock many", "allow"}) {
		t.Errorf("of an hour: %q", got)
	}
	if got := latest(v.ForGuests(), none, none); len(got) != 0 {
		t.Errorf("a guest sees %q", got)
	}
}
