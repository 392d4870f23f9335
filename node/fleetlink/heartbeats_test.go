package fleetlink

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator"
)

// Heartbeats are kept: of a name that is alive the runs that are, of one that is
// gone its last, for an hour.
func TestHeartbeats(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	beat := func(name, boot string) aggregator.Heartbeat {
		return aggregator.Heartbeat{Node: name, Boot: boot, Version: "1.2", AheadMS: 2, PushLagMS: 250, Changes: 7, Digest: "ab"}
	}
	var h heartbeats
	shown := func(now time.Time) string {
		var words []string
		for _, n := range h.nodes(now) {
			state := "gone"
			if n.Alive {
				state = "alive"
			}
			words = append(words, n.Name+"/"+n.Boot+" "+state)
		}
		return strings.Join(words, ", ")
	}
	for _, step := range []struct {
		at    time.Duration
		beats []aggregator.Heartbeat
		want  string
	}{
		{0, []aggregator.Heartbeat{beat("b", "1"), beat("a", "1")}, "a/1 alive, b/1 alive"},
		{staleBeats, nil, "a/1 gone, b/1 gone"},
		{time.Minute, []aggregator.Heartbeat{beat("a", "1"), beat("a", "2")}, "a/1 alive, a/2 alive, b/1 gone"},
		{2 * time.Minute, []aggregator.Heartbeat{beat("a", "2")}, "a/2 alive, b/1 gone"},
		{goneNodes, []aggregator.Heartbeat{beat("a", "2")}, "a/2 alive"},
	} {
		now := start.Add(step.at)
		if step.beats != nil {
			h.update(step.beats, now)
		}
		if got := shown(now); got != step.want {
			t.Errorf("after %v: %s, want %s", step.at, got, step.want)
		}
	}
	got := h.nodes(start.Add(goneNodes))[0]
	if want := (admin.FleetNode{Name: "a", Boot: "2", Version: "1.2", Alive: true, Ahead: 0.002, PushLag: 0.25, List: 7, Digest: "ab"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// The longest fan-out is returned to every client, for up to two minutes.
func TestFanOut(t *testing.T) {
	var h heartbeats
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h.fanOut(0, now)
	for _, step := range []struct {
		at, most, want time.Duration
	}{
		{time.Second, 5, 5}, {2 * time.Second, 0, 5}, {3 * time.Second, 3, 5},
		{time.Minute, 0, 5}, {time.Minute + time.Second, 1, 5}, {2 * time.Minute, 0, 5}, {2*time.Minute + time.Second, 0, 1},
	} {
		if got := h.fanOut(step.most, now.Add(step.at)); got != step.want {
			t.Errorf("after %v: %d, want %d", step.at, got, step.want)
		}
	}
}
