package aggregator_test

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/fleetmodel"
	"edgeguard/ring"
	"edgeguard/shard"
)

// simClient is one visitor, and the model of what the fleet accepted of it.
type simClient struct {
	key     aggregator.Key
	bytes   string // of the key
	prefix  netip.Prefix
	with    string
	meter   *simMeter
	at      int // the meter's index
	style   int
	home    int
	rest    int // steps until it changes its style
	blocked bool
	// all is every accepted event by slot, of the epoch and of the time in which
	// nodes count: who is blocked must be over the limit by one of them.
	all [2]map[uint32]uint32
	// sure is what running nodes accepted, by the epoch's slot, without what an
	// unblock made them forget: who is over the limit by these must be blocked.
	sure    map[*fleetmodel.Node]map[uint32]uint32
	total   map[uint32]uint32 // of all in sure
	since   time.Time         // when the sure ones began to be over
	cleared uint32            // slots of the epoch below it were forgotten
	raised  time.Time         // until when Redis has counts that no node made
	high    uint32            // the highest count by all of any window
}

// The styles of traffic.
const (
	idle    = iota
	spread  // a little everywhere
	hover   // every node just under its share
	burst   // everything on one node at the boundary of a slot
	edges   // everything at the edges of a window
	laggard // log lines that come late
	loner   // one node only
	flood
	styles
)

func (s *sim) addClient(i int) {
	c := &simClient{at: i % len(s.meters), sure: make(map[*fleetmodel.Node]map[uint32]uint32), total: make(map[uint32]uint32)}
	c.all[0], c.all[1] = make(map[uint32]uint32), make(map[uint32]uint32)
	c.meter = s.meters[c.at]
	a, bits := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 32
	if i%3 == 2 {
		a, bits = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 7: byte(i), 15: 1}), 64
	}
	c.prefix, _ = a.Prefix(bits)
	c.key = aggregator.Key{Meter: c.meter.id, Prefix: c.prefix}
	if c.meter.with {
		c.with = "agent-" + strconv.Itoa(i)
		c.key.With = shard.Fingerprint(c.with, false)
	}
	c.bytes = string(c.key.Append(nil))
	s.clients = append(s.clients, c)
	s.index[c.key] = c
}

// traffic is what a client does in one step. A client that was blocked goes on.
func (s *sim) traffic(c *simClient) {
	if c.rest--; c.rest < 0 {
		c.style, c.rest, c.home = s.rnd.IntN(styles), s.rnd.IntN(200), s.rnd.IntN(1000)
	}
	nodes, limit := len(s.Nodes), int(c.meter.limit)
	home := s.Nodes[c.home%nodes]
	random := s.Nodes[s.rnd.IntN(nodes)]
	window := int(c.meter.span(ring.Slots)/simStep) + 1
	slot := c.meter.slot(s.Now)
	newSlot := c.meter.slot(s.Now.Add(-simStep)) != slot
	switch c.style {
	case spread:
		if s.rnd.IntN(window) < limit*(90+s.rnd.IntN(40))/100 {
			s.event(random, c, 0, 1)
		}
	case hover:
		if n := s.Nodes[s.rnd.IntN(nodes)]; s.own(n, c) < s.share(n, c.meter) {
			s.event(n, c, 0, 1)
		}
	case burst:
		if newSlot && s.rnd.IntN(10) == 0 {
			s.event(home, c, 0, 1+s.rnd.IntN(limit))
			s.event(random, c, uint32(s.rnd.IntN(2)), 1+s.rnd.IntN(limit))
		}
	case edges:
		if newSlot && (slot%ring.Slots == ring.Slots-1 || slot%ring.Slots == 0) {
			s.event(random, c, 0, limit/2+1)
		}
	case laggard:
		if s.rnd.IntN(10) == 0 {
			s.event(random, c, uint32(s.rnd.IntN(70)), 1+s.rnd.IntN(1+limit/10))
		}
	case loner:
		if s.rnd.IntN(window) < limit {
			s.event(home, c, 0, 1+s.rnd.IntN(2))
		}
	case flood:
		for _, n := range s.Nodes[:min(nodes, 20)] {
			s.event(n, c, 0, s.rnd.IntN(3))
		}
	}
}

// event is so many requests of a client on a node, so many slots late.
func (s *sim) event(n *fleetmodel.Node, c *simClient, late uint32, times int) {
	now := c.meter.slot(s.Local(n))
	for range times {
		op := shard.Op{Addr: c.prefix.Addr(), With: c.with, Now: now, Slot: now - late, Cost: 1}
		count, rest := s.Count(n, c.at, &op)
		if !count.Late {
			s.logged[n] = append(s.logged[n], logged{c, op.Slot})
			s.accepted(n, c, op.Slot)
		}
		if count.Count+rest > c.meter.limit {
			s.block(c, "node "+strconv.Itoa(int(count.Count))+" and rest", rest)
		}
	}
}

// accepted remembers an event; slot is the node's own.
func (s *sim) accepted(n *fleetmodel.Node, c *simClient, slot uint32) {
	epoch := uint32(int64(slot) + int64(s.Ahead/c.meter.span(1)))
	for i, at := range []uint32{epoch, slot} {
		c.all[i][at]++
		c.high = max(c.high, highest(c.all[i], at))
	}
	if n.Learns.IsZero() && epoch >= max(n.Since[c.at], c.cleared) {
		if c.sure[n] == nil {
			c.sure[n] = make(map[uint32]uint32)
		}
		c.sure[n][epoch]++
		c.total[epoch]++
	}
}

// own is what a node counts of a client.
func (s *sim) own(n *fleetmodel.Node, c *simClient) uint32 {
	return n.Tables[c.at].Count(c.prefix.Addr(), c.with, c.meter.slot(s.Local(n)))
}

// unsure takes back what had to be found.
func (c *simClient) unsure() {
	clear(c.sure)
	clear(c.total)
}

// gone takes back what was accepted by a node that is no more.
func (c *simClient) gone(n *fleetmodel.Node) {
	for slot, count := range c.sure[n] {
		c.total[slot] -= count
	}
	delete(c.sure, n)
}

// highest is the greatest count of the windows that a slot is in.
func highest(all map[uint32]uint32, slot uint32) (high uint32) {
	var sum uint32
	for s := slot - ring.Slots + 1; s <= slot; s++ {
		sum += all[s]
	}
	high = sum
	for s := slot + 1; s < slot+ring.Slots; s++ {
		sum += all[s] - all[s-ring.Slots]
		high = max(high, sum)
	}
	return high
}

// block checks that nobody is blocked whose true total never passed the limit.
func (s *sim) block(c *simClient, why string, count uint32) {
	if c.high <= c.meter.limit {
		s.fatalf("%s is blocked (%s, %d), and never had more than %d of %d", c.prefix, why, count, c.high, c.meter.limit)
	}
	c.blocked = true
}

// unblock forgets a client everywhere, in the tables first or last. An unblock
// in the seconds in which nodes do not know of a step of the clock may forget
// more than was meant, so there is none.
func (s *sim) unblock(c *simClient) {
	if s.Learning() {
		return
	}
	at := s.Now.Add(simSkew) // no node's clock is past it
	tablesFirst := s.rnd.IntN(2) == 0
	s.Unblock(c.at, c.key, c.with, at, tablesFirst, func() bool { return s.rnd.IntN(4) > 0 })
	c.unsure()
	for n, all := range s.logged { // what is read again would count again, as before a restart
		s.logged[n] = slices.DeleteFunc(all, func(l logged) bool { return l.simClient == c })
	}
	clear(c.all[0])
	clear(c.all[1])
	c.high, c.blocked, c.since = 0, false, time.Time{}
	c.cleared = c.meter.slot(at) + 1
	s.felt(simPush)
}

// checkMissed checks that nobody stays over the limit, in 58 slots, unblocked
// for longer than the grace, once faults are over.
func (s *sim) checkMissed() {
	for _, c := range s.clients {
		if c.blocked && s.rnd.IntN(600) == 0 {
			c.blocked = false // its block ends; what it counted before need not be pushed again
			c.since = time.Time{}
			c.unsure()
		}
		var sum uint32
		now := c.meter.slot(s.Now)
		for slot := now - 57; slot <= now; slot++ {
			sum += c.total[slot]
		}
		switch {
		case c.blocked:
			c.since = time.Time{}
		case sum <= c.meter.limit && (c.since.IsZero() || !c.since.After(s.calm)):
			c.since = time.Time{}
		case c.since.IsZero() || s.calm.After(c.since):
			c.since = s.Now
		case s.Now.Sub(c.since) > simGrace+c.doubted(s.Now):
			s.fatalf("%s (style %d) has %d of %d in 58 slots, and is not blocked since %s", c.prefix, c.style, sum, c.meter.limit, s.Now.Sub(c.since))
		}
	}
}

// checkPromise checks after a round that a node's untold counts of each client
// are below its share.
func (s *sim) checkPromise(n *fleetmodel.Node) {
	if n.Cut || n.MaxSuspects > 0 || !n.Learns.IsZero() || !s.Now.After(s.calm) || s.waits(n) {
		return
	}
	for _, c := range s.clients {
		head := c.meter.slot(s.Epoch(n))
		first := max(n.Since[c.at], c.cleared, head-ring.Slots+1)
		counts, _ := n.Tables[c.at].SlotsOf(c.prefix.Addr(), c.with, c.meter.slot(s.Local(n)))
		var here uint32
		for i, count := range counts {
			if head-ring.Slots+1+uint32(i) >= first {
				here += uint32(count)
			}
		}
		stored := s.Redis.Stored(c.bytes, n.ID, first, head)
		if share := s.share(n, c.meter); here >= stored+share {
			s.fatalf("%s has %d on %s, of which Redis has %d: with a share of %d", c.prefix, here, n.Name, stored, share)
		}
	}
}

// waits reports whether something of a node is on its way.
func (s *sim) waits(n *fleetmodel.Node) bool {
	for i := range s.Late {
		if s.Late[i].Node == n {
			return true
		}
	}
	return false
}

// share is the count from which on a node reports a client.
func (s *sim) share(n *fleetmodel.Node, m *simMeter) uint32 {
	if !s.Quiet {
		return 1
	}
	whole := 2 * uint32(s.shareBy(n)) // half of the limit is for all nodes
	return max(1, (m.limit+whole-1)/whole)
}

// checkSums checks that the fleet's ring is the sum of the nodes', whatever
// happened.
func (s *sim) checkSums() {
	for _, c := range s.clients {
		if fleet, sum := s.Redis.Rings(c.bytes); fleet != sum {
			s.fatalf("%s: the fleet's ring is %v and the nodes' add up to %v", c.prefix, fleet, sum)
		}
	}
}
