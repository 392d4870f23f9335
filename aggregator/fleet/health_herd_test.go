package fleet

import (
	"testing"
	"time"
)

// Nodes that lost Redis for long return spread out, by how many there were; a
// short outage, a start, and a node alone are not spread.
func TestSpread(t *testing.T) {
	for _, test := range []struct {
		nodes int
		away  time.Duration
		want  time.Duration
	}{
		{0, time.Hour, 0},
		{1, time.Hour, 5 * time.Millisecond},
		{50, 2 * time.Second, 0},
		{50, 2*time.Second + 1, 250 * time.Millisecond},
		{1000, time.Minute, 5 * time.Second},
		{5000, time.Minute, 10 * time.Second},
	} {
		n := newNode()
		n.Joined(n.now)
		n.now = n.now.Add(steady)
		n.Lasts(n.now, test.nodes)
		if got := n.Spread(n.now); got != 0 {
			t.Errorf("while joined: %v", got)
		}
		n.Failed(n.now, unreachable)
		n.now = n.now.Add(test.away)
		n.Failed(n.now, unreachable)
		if got := n.Spread(n.now); got != test.want {
			t.Errorf("%d nodes, away for %v: %v, want %v", test.nodes, test.away, got, test.want)
		}
	}
}

// The size of the fleet is that of before the outage until a session has lasted:
// who joins first sees few others.
func TestNodesOfBefore(t *testing.T) {
	n := newNode()
	n.Joined(n.now)
	n.now = n.now.Add(steady)
	n.Lasts(n.now, 1000)
	n.Failed(n.now, unreachable)
	n.now = n.now.Add(time.Minute)
	n.Joined(n.now)
	n.Lasts(n.now, 3)
	var p JoinPace
	if got := p.TakeComparisons(n.now, n.Health, 3200); got != 100 { // half a second of 200 a second
		t.Errorf("just joined it may compare %d sums, want 100", got)
	}
	n.now = n.now.Add(steady)
	n.Lasts(n.now, 3)
	if got := p.TakeComparisons(n.now, n.Health, 3200); got != 3200 {
		t.Errorf("with three nodes it may compare %d sums, want 3200", got)
	}
}

// All nodes together compare at most 200,000 sums a second, whatever the rhythm
// in which each asks, and each at least 100.
func TestHealthPace(t *testing.T) {
	for _, nodes := range []int{1, 3, 50, 1000, 5000} {
		n := newNode()
		n.Lasts(n.now, nodes)
		want := max(100, 200_000/nodes)
		for _, every := range []time.Duration{time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond} {
			var p JoinPace
			sums := p.TakeComparisons(n.now, n.Health, want) // the burst
			if sums > want/2 {
				t.Errorf("%d nodes: %d sums at first, want %d at most", nodes, sums, want/2)
			}
			sums = 0
			for at := every; at <= 10*time.Second; at += every {
				sums += p.TakeComparisons(n.now.Add(at), n.Health, want)
			}
			if sums > 10*want || sums < 10*want-want/10 {
				t.Errorf("%d nodes, asked each %v: %d sums in 10 s, want %d", nodes, every, sums, 10*want)
			}
		}
	}
}
