package fleetmodel

import (
	"net/netip"
	"slices"

	"edgeguard/aggregator"
	"edgeguard/ring"
)

// Reload replaces what a node knows, as a new config does.
func (f *Fleet) Reload(n *Node) {
	c := f.config(n)
	c.Previous, c.Offset = n.Totals, 0
	n.Totals = aggregator.New(c)
	f.tell(n)
}

// Restart ends a node cleanly and starts it again with all that it had counted.
// With keep it goes on with its boot. What it last pushed may still be on its
// way.
func (f *Fleet) Restart(n *Node, keep bool) *Node {
	f.PushRound(n)
	after := *n
	after.saved = f.snapshot(n)
	f.restore(&after)
	c := f.config(&after)
	if keep {
		c.Boot, c.Since = f.Local(n), n.Totals.Since()
	}
	f.start(n, &after, c, keep)
	return &after
}

// Kill ends a node as a power failure does, and starts it with its newest
// snapshot.
func (f *Fleet) Kill(n *Node) *Node {
	after := *n
	f.restore(&after)
	f.start(n, &after, f.config(&after), believesMarkers)
	return &after
}

// believesMarkers is the mistake of a node that goes on with a boot of which
// it has not all that was pushed; a mutant sets it.
const believesMarkers = false

// start puts after in the place of a node that has ended.
func (f *Fleet) start(before, after *Node, c aggregator.Config, keep bool) {
	if keep {
		if c.Since == nil {
			c.Since = before.Totals.Since()
		}
	} else {
		f.newBoot(after)
		c.Boot = after.began
		for i := range f.Meters {
			after.Since[i] = slot(&f.Meters[i], f.Epoch(after))
		}
	}
	after.Totals = aggregator.New(c)
	if !keep {
		after.Totals.Restored(f.Local(after))
	}
	before.ended = true
	f.Nodes[slices.Index(f.Nodes, before)] = after
	f.enter(after)
	after.Heard = []Heard{{len(f.Nodes), after.began}}
	f.tell(after)
	if !after.Cut {
		f.Rejoin(after)
	}
}

// Snapshot has a node save what its tables hold.
func (f *Fleet) Snapshot(n *Node) { n.saved = f.snapshot(n) }

func (f *Fleet) snapshot(n *Node) (all []saved) {
	for i := range f.Meters {
		n.Tables[i].Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
			all = append(all, saved{i, prefix, with, head, *counts})
			return true
		})
	}
	return all
}

// restore gives a node new tables, with what its snapshot holds.
func (f *Fleet) restore(n *Node) {
	n.Tables = f.newTables()
	for i := range n.saved {
		w := &n.saved[i]
		n.Tables[w.meter].Restore(w.prefix, w.with, w.head, &w.counts)
	}
}
