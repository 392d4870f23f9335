package aggregator_test

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/ring"
	"edgeguard/shard"
)

// simNode is one process.
type simNode struct {
	name   string
	id     [8]byte
	fleet  *aggregator.Totals
	tables []*shard.Table // by meter
	since  []uint32       // by meter: the first slot of the epoch that its boot pushes
	began  time.Time      // local
	saved  []simSaved     // its newest snapshot
	read   int            // of the stream
	phase  int
	most   int // suspects; 0: the default
	skew   time.Duration
	offset time.Duration // by which it takes Redis' time to be ahead of its own
	learns time.Time     // when it learns of a step of Redis' clock; zero: it knows
	cut    bool          // Redis cannot be reached
	heard  []simHeard    // how many nodes there are
	// shareBy is the number of nodes by which it computes its share.
	shareBy int
	doubts  *aggregator.Doubts
}

// simSaved is a window in a snapshot.
type simSaved struct {
	meter  int
	prefix netip.Prefix
	with   uint64
	head   uint32
	counts ring.Counts
}

// local is what a node takes for now, epoch what it takes for Redis' time.
func (s *sim) local(n *simNode) time.Time { return s.now.Add(n.skew - s.ahead) }
func (s *sim) epoch(n *simNode) time.Time { return s.local(n).Add(n.offset) }

// config is a node's; a restart and a reload add to it.
func (s *sim) config(n *simNode) aggregator.Config {
	c := aggregator.Config{
		Boot: n.began, Offset: n.offset, Quiet: s.quiet, MaxNodes: s.maxNodes, Nodes: max(len(s.nodes), 1),
		MaxSuspects: n.most, Seed: s.seed | 1,
	}
	for i, m := range s.meters {
		c.Meters = append(c.Meters, aggregator.Meter{Fingerprint: m.id, Width: m.width, Limit: m.limit, With: m.with, Table: n.tables[i]})
	}
	return c
}

// join starts a node of a new name.
func (s *sim) join() {
	n := &simNode{phase: s.rnd.IntN(2), skew: time.Duration(s.rnd.Int64N(int64(2*simSkew))) - simSkew, offset: s.ahead, tables: s.newTables(), doubts: new(aggregator.Doubts)}
	s.newBoot(n)
	n.name = fmt.Sprintf("node-%d", s.boots)
	s.nodes = append(s.nodes, n)
	n.fleet = aggregator.New(s.config(n))
	s.enter(n)
	s.tellNodes()
}

// newBoot gives a node a boot of its own, whose first slot is the present one.
func (s *sim) newBoot(n *simNode) {
	s.boots++
	n.id = aggregator.NodeID(n.name, fmt.Sprint(s.seed, s.boots))
	s.ids[n.id] = true
	n.began = s.local(n)
	n.since = n.since[:0:0]
	for _, m := range s.meters {
		n.since = append(n.since, m.slot(s.epoch(n)))
	}
}

// enter lets a node read the watches of the last window, and the tombstones in
// the list.
func (s *sim) enter(n *simNode) {
	for n.read = 0; n.read < len(s.stream) && s.now.Sub(s.when[n.read]) > s.meters[0].span(ring.Slots); n.read++ {
	}
	for _, c := range s.clients {
		if c.cleared > 0 {
			n.fleet.Forget(c.prefix, c.clearedAt())
		}
	}
}

// leave ends a node: what it had not pushed is lost.
func (s *sim) leave(n *simNode) {
	s.nodes = slices.DeleteFunc(s.nodes, func(x *simNode) bool { return x == n })
	for _, c := range s.clients {
		c.gone(n)
	}
	s.tellNodes()
}

func (s *sim) tellNodes() {
	for _, n := range s.nodes {
		s.tell(n)
	}
}

// tell sets how many nodes a node knows of, and what its share goes by: the
// greatest number that it knew of in the longest window.
func (s *sim) tell(n *simNode) {
	now := s.local(n)
	n.fleet.SetNodes(len(s.nodes), now)
	n.heard = append(n.heard, simHeard{len(s.nodes), now})
	n.shareBy = s.maxNodes
	for i, h := range n.heard {
		if i == len(n.heard)-1 || now.Sub(n.heard[i+1].from) < s.longest() {
			n.shareBy = max(n.shareBy, min(h.nodes, 4*s.maxNodes))
		}
	}
}

// simHeard is from when on there were so many nodes.
type simHeard struct {
	nodes int
	from  time.Time
}

// longest is the longest window.
func (s *sim) longest() (longest time.Duration) {
	for _, m := range s.meters {
		longest = max(longest, m.span(ring.Slots))
	}
	return longest
}

// reload replaces what a node knows, as a new config does.
func (s *sim) reload(n *simNode) {
	c := s.config(n)
	c.Previous, c.Offset = n.fleet, 0
	n.fleet = aggregator.New(c)
	s.tell(n)
}

// restart ends a node cleanly and starts it again with all that it had counted.
// With keep it goes on with its boot. What it last pushed may still be on its
// way.
func (s *sim) restart(n *simNode, keep bool) *simNode {
	s.pushRound(n)
	after := *n
	after.saved = s.snapshot(n)
	s.restore(&after)
	c := s.config(&after)
	if keep {
		c.Boot, c.Since = s.local(n), n.fleet.Since()
	}
	s.start(n, &after, c, keep)
	return &after
}

// kill ends a node as a power failure does, and starts it with its newest
// snapshot.
func (s *sim) kill(n *simNode) *simNode {
	after := *n
	s.restore(&after)
	s.start(n, &after, s.config(&after), simBelievesMarkers)
	return &after
}

// simBelievesMarkers is the mistake of a node that goes on with a boot of which
// it has not all that was pushed; a mutant sets it.
const simBelievesMarkers = false

// start puts after in the place of a node that has ended.
func (s *sim) start(before, after *simNode, c aggregator.Config, keep bool) {
	if keep {
		if c.Since == nil {
			c.Since = before.fleet.Since()
		}
	} else {
		s.newBoot(after)
		c.Boot = after.began
		for i, m := range s.meters {
			after.since[i] = m.slot(s.epoch(after)) + 1
		}
	}
	after.fleet = aggregator.New(c)
	if !keep {
		after.fleet.Restored(s.local(after))
	}
	for _, c := range s.clients {
		if sure, ok := c.sure[before]; ok && keep {
			c.sure[after] = sure
			delete(c.sure, before)
		}
		c.gone(before)
	}
	s.nodes[slices.Index(s.nodes, before)] = after
	s.enter(after)
	after.heard = []simHeard{{len(s.nodes), after.began}}
	s.tell(after)
	if !after.cut {
		s.joined(after)
	}
	s.felt(2 * simPush)
}

// snapshot is what a node's tables hold.
func (s *sim) snapshot(n *simNode) (saved []simSaved) {
	for i := range s.meters {
		n.tables[i].Windows(func(prefix netip.Prefix, with uint64, head uint32, counts *ring.Counts) bool {
			saved = append(saved, simSaved{i, prefix, with, head, *counts})
			return true
		})
	}
	return saved
}

// restore gives a node new tables, with what its snapshot holds.
func (s *sim) restore(n *simNode) {
	n.tables = s.newTables()
	for i := range n.saved {
		w := &n.saved[i]
		n.tables[w.meter].Restore(w.prefix, w.with, w.head, &w.counts)
	}
}

// stepClock moves Redis' clock. Nodes learn of it within two seconds, and what
// they counted before stays local. It steps once in a window: behind two steps
// back, what is counted is older than the rings in Redis.
func (s *sim) stepClock(by time.Duration) {
	real := s.now.Add(-s.ahead)
	if real.Before(s.steady) {
		return
	}
	s.steady = real.Add(s.meters[0].span(aggregator.Kept) + s.meters[len(s.meters)-1].span(aggregator.Kept))
	s.now, s.ahead = s.now.Add(by), s.ahead+by
	if !s.calm.IsZero() {
		s.calm = s.calm.Add(by)
	}
	for i := range s.late {
		s.late[i].at = s.late[i].at.Add(by)
	}
	for _, n := range s.nodes {
		n.learns = s.now.Add(time.Duration(s.rnd.Int64N(int64(2 * time.Second))))
	}
	for i := range s.when {
		s.when[i] = s.when[i].Add(by)
	}
	for _, c := range s.clients {
		c.unsure()
		c.since = time.Time{}
	}
	s.felt(2*time.Second + 2*simPush)
}

// learnClock lets a node learn of a step of Redis' clock.
func (s *sim) learnClock(n *simNode) {
	if n.learns.IsZero() || n.learns.After(s.now) {
		return
	}
	n.learns, n.offset = time.Time{}, s.ahead
	n.fleet.SetOffset(n.offset, s.local(n))
	for i, m := range s.meters {
		n.since[i] = m.slot(s.epoch(n)) + 1
	}
}
