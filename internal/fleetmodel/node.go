package fleetmodel

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/ring"
	"edgeguard/shard"
)

// Node is one process: a restart makes another of the same name.
type Node struct {
	Name   string
	ID     [8]byte // of its boot
	Totals *aggregator.Totals
	Tables []*shard.Table // by meter
	// Since is, by meter, the first slot of the epoch that its boot pushes.
	Since []uint32
	// Skew is how far its clock is ahead, Offset by how much it takes Redis' to be
	// ahead of its own.
	Skew, Offset time.Duration
	// Learns is when it learns of a step of Redis' clock; zero: it knows.
	Learns time.Time
	// Cut says that Redis cannot be reached. A caller who ends it calls
	// [Fleet.Rejoin].
	Cut bool
	// MaxSuspects bounds what it reports, from its next reload or start on; 0: the
	// default.
	MaxSuspects int
	// Heard is how many nodes it was told of, and when, by its own clock.
	Heard []Heard

	began  time.Time // local
	saved  []saved   // its newest snapshot
	read   int       // of the watch list
	ended  bool      // another process may have its name
	doubts *aggregator.Doubts
	// looks and watches are left to other nodes for a moment.
	looks   aggregator.Backoff[aggregator.SplitLook]
	watches aggregator.Backoff[aggregator.Key]
}

// Heard is from when on a node knew of so many nodes.
type Heard struct {
	Nodes int
	From  time.Time
}

// saved is a window in a snapshot.
type saved struct {
	meter  int
	prefix netip.Prefix
	with   uint64
	head   uint32
	counts ring.Counts
}

// config is a node's; a restart and a reload add to it.
func (f *Fleet) config(n *Node) aggregator.Config {
	c := aggregator.Config{
		Boot: n.began, Offset: n.Offset, Quiet: f.Quiet, MaxNodes: f.MaxNodes, Share: f.Share, Nodes: max(len(f.Nodes), 1),
		MaxSuspects: n.MaxSuspects, Seed: f.Seed | 1,
	}
	for i, m := range f.Meters {
		m.Table = n.Tables[i]
		c.Meters = append(c.Meters, m)
	}
	return c
}

// Join starts nodes of new names, with clocks that are ahead by these skews.
func (f *Fleet) Join(skews ...time.Duration) {
	for _, skew := range skews {
		n := &Node{Name: fmt.Sprintf("node-%d", f.boots+1), Skew: skew, Offset: f.Ahead, Tables: f.newTables(), doubts: new(aggregator.Doubts)}
		f.newBoot(n)
		f.Nodes = append(f.Nodes, n)
		n.Totals = aggregator.New(f.config(n))
		f.enter(n)
	}
	f.TellNodes()
}

func (f *Fleet) newTables() []*shard.Table {
	memory := shard.NewMemory(f.Memory)
	var tables []*shard.Table
	for i := range f.Meters {
		tables = append(tables, shard.New(memory, shard.Config{Seed: f.Seed, With: f.Meters[i].With}))
	}
	return tables
}

// newBoot gives a node a boot of its own, whose first slot is the present one.
func (f *Fleet) newBoot(n *Node) {
	f.boots++
	n.ID = aggregator.NodeID(n.Name, fmt.Sprint(f.Seed, f.boots))
	f.ids[n.ID] = true
	n.began = f.Local(n)
	n.Since = n.Since[:0:0]
	for i := range f.Meters {
		n.Since = append(n.Since, slot(&f.Meters[i], f.Epoch(n)))
	}
}

// enter lets a node read the watches of the last window, and the tombstones in
// the list.
func (f *Fleet) enter(n *Node) {
	for n.read = 0; n.read < len(f.stream) && f.Now.Sub(f.stream[n.read].at) > window(&f.Meters[0]); n.read++ {
	}
	for _, t := range f.tombs {
		n.Totals.Forget(t.prefix, t.at)
	}
}

// Leave ends a node: what it had not pushed is lost.
func (f *Fleet) Leave(n *Node) {
	n.ended = true
	f.Nodes = slices.DeleteFunc(f.Nodes, func(x *Node) bool { return x == n })
	f.TellNodes()
}

// TellNodes tells each node how many there are, as heartbeats do.
func (f *Fleet) TellNodes() {
	for _, n := range f.Nodes {
		f.tell(n)
	}
}

func (f *Fleet) tell(n *Node) {
	now := f.Local(n)
	n.Totals.SetNodes(len(f.Nodes), now)
	n.Heard = append(n.Heard, Heard{len(f.Nodes), now})
}

// Rejoin is a node's new connection: no answer comes any more on the one before, and
// Redis may have lost something.
func (f *Fleet) Rejoin(n *Node) {
	n.Totals.ReconcileAll()
	f.Late = slices.DeleteFunc(f.Late, func(d Delivery) bool { return d.Node == n && d.Answers != nil })
}

// Count counts an operation at a node. It returns the node's own count, and what the
// rest of the fleet counted as far as the node knows: together they are compared with
// the limit.
func (f *Fleet) Count(n *Node, meter int, op *shard.Op) (here shard.Count, rest uint32) {
	here = n.Tables[meter].Add(op)
	return here, n.Totals.Count(meter, op, here.Count)
}
