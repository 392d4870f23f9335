package aggregator

import (
	"slices"
	"sync"
	"time"

	"edgeguard/ring"
)

// mostNodes bounds by how many times MaxNodes the share may become smaller:
// whoever can forge heartbeats makes a fleet push four times as much at worst.
const mostNodes = 4

// aliveNodes is how many nodes were alive in the longest window.
type aliveNodes struct {
	mu   sync.Mutex // guards past
	past []nodesAt  // ever fewer nodes; the last is the present number
}

// nodesAt is how many nodes there were, and when for the last time.
type nodesAt struct {
	nodes int
	last  time.Time
}

// set records how many nodes there are now, and returns the greatest number of
// the window that ends now. A node that has left holds what it had not pushed,
// so it counts for a window.
func (a *aliveNodes) set(nodes int, now time.Time, window time.Duration) (most int) {
	if len(a.past) > 0 {
		a.past[len(a.past)-1].last = now // until now
	}
	for len(a.past) > 0 && a.past[len(a.past)-1].nodes <= nodes {
		a.past = a.past[:len(a.past)-1]
	}
	a.past = append(a.past, nodesAt{nodes, now})
	for !a.past[0].last.Add(window).After(now) {
		a.past = slices.Delete(a.past, 0, 1)
	}
	return a.past[0].nodes
}

// SetNodes sets how many nodes the fleet has; now is local time. The greatest
// number of the longest window takes the place of MaxNodes where it is above it,
// up to four times. So a share grows only when a window has passed, and the
// tables are searched for keys that reach a smaller one once for each step, not
// at each node that comes and goes.
func (n *Totals) SetNodes(nodes int, now time.Time) {
	n.alive.mu.Lock()
	defer n.alive.mu.Unlock()
	n.setShares(n.alive.set(nodes, now, n.window()))
}

// window returns the longest of the meters that are reported.
func (n *Totals) window() time.Duration {
	width := uint32(1)
	for i := range n.meters {
		if m := &n.meters[i]; m.Limit > 0 {
			width = max(width, m.Width)
		}
	}
	return time.Duration(width) * ring.Slots * time.Second
}

// setShares sets the shares for so many nodes. The caller holds the lock of
// alive.
func (n *Totals) setShares(nodes int) {
	n.sharedBy.Store(int64(nodes))
	nodes = max(n.config.MaxNodes, min(nodes, mostNodes*n.config.MaxNodes))
	for i := range n.meters {
		if n.meters[i].setShare(n.config.Quiet, n.config.Share, nodes) {
			n.scan.Store(true)
		}
	}
}

// takeNodes takes over how many nodes there were before a reload.
func (n *Totals) takeNodes(old *Totals) {
	old.alive.mu.Lock()
	past := slices.Clone(old.alive.past)
	old.alive.mu.Unlock()
	n.alive.mu.Lock()
	defer n.alive.mu.Unlock()
	n.alive.past = past
	n.setShares(past[0].nodes)
}
