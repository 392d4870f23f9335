package aggregator

import (
	"testing"
	"time"
)

// share returns the share of the bench's one meter, of limit 100 and for at
// most 5 nodes: 10.
func (b *bench) share() uint32 { return b.meters[0].share.Load() }

// TestMoreNodesThanExpected: the share follows the number of nodes, for the
// longest window, and not further than to a quarter.
func TestMoreNodesThanExpected(t *testing.T) {
	const window = 60 * width * time.Second
	b := newBench(t, nil)
	for _, c := range []struct {
		at    time.Duration
		nodes int
		share uint32
	}{
		{0, 1, 10}, {0, 5, 10},
		{time.Second, 6, 9}, // 50/6
		{2 * time.Second, 10, 5}, {3 * time.Second, 5, 5},
		{2*time.Second + window, 5, 5}, {3*time.Second + window, 5, 10}, // those that left held their counts until then
		{2 * window, 20, 3}, {2*window + 1, 21, 3}, {2*window + 2, 10000, 3}, // forged
		{2*window + 3, 8, 3}, {3*window + 2, 8, 3}, {3*window + 3, 8, 7},
		{3*window + 4, 6, 7}, {3*window + 5, 7, 7}, {4*window + 4, 7, 8},
	} {
		b.SetNodes(c.nodes, boot.Add(c.at))
		if b.share() != c.share {
			t.Errorf("%v later %d nodes: share %d, want %d", c.at, c.nodes, b.share(), c.share)
		}
	}
}

// TestASmallerShareFindsWhatIsThere: keys that reach it are pushed without an
// event, and the tables are not searched again while nodes come and go.
func TestASmallerShareFindsWhatIsThere(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 5)
	one(t, b.Collect(boot, false), 0, 0)
	b.SetNodes(10, boot)
	p := one(t, b.Collect(boot, false), slotOf(boot), 5, 5)
	b.Answered(&p, Answer{Peak: 5, Total: 5}, boot)
	for i := range 10 {
		b.SetNodes(9+i%2, boot.Add(time.Duration(i)*time.Second))
		if b.scan.Load() {
			t.Fatalf("a search at flap %d", i)
		}
	}
	if s := b.Stats(); !s.Quiet || s.Nodes != 10 || s.MaxNodes != 5 {
		t.Errorf("%+v", s)
	}
}

// TestAReloadKeepsTheNumberOfNodes, or keys between the two shares would go
// unreported until the next heartbeat.
func TestAReloadKeepsTheNumberOfNodes(t *testing.T) {
	b := newBench(t, nil)
	b.SetNodes(10, boot)
	b.Totals = New(Config{Meters: []Meter{b.meters[0].Meter}, Boot: boot, Quiet: true, MaxNodes: 5, Nodes: 1, Previous: b.Totals})
	if b.share() != 5 {
		t.Errorf("share %d, want 5", b.share())
	}
	b.SetNodes(1, boot.Add(61*width*time.Second))
	b.SetNodes(1, boot.Add(122*width*time.Second))
	if b.share() != 10 {
		t.Errorf("share %d, want 10", b.share())
	}
}
