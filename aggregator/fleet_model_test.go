package aggregator_test

import (
	"net/netip"
	"strconv"
	"time"

	"edgeguard/aggregator"
	"edgeguard/ring"
	"edgeguard/shard"
)

// simClient is one visitor, and the model of what the fleet accepted of it.
type simClient struct {
	prefix  netip.Prefix
	style   int
	home    int
	rest    int // steps until it changes its style
	blocked bool
	// all is every accepted event by slot: who is blocked must be over the limit
	// by these.
	all map[uint32]uint32
	// sure is what running nodes accepted, by slot, without what an unblock made
	// them forget: who is over the limit by these must be blocked.
	sure    map[*simNode]map[uint32]uint32
	total   map[uint32]uint32 // of all in sure
	since   time.Time         // when the sure ones began to be over
	cleared uint32            // slots below it were forgotten
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
	a := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})
	if i%3 == 2 {
		a = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 7: byte(i), 15: 1})
	}
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	c := &simClient{prefix: p, all: make(map[uint32]uint32), sure: make(map[*simNode]map[uint32]uint32), total: make(map[uint32]uint32)}
	s.clients = append(s.clients, c)
	s.index[p] = c
}

// traffic is what a client does in one step. A client that was blocked goes on.
func (s *sim) traffic(c *simClient) {
	if c.rest--; c.rest < 0 {
		c.style, c.rest, c.home = s.rnd.IntN(styles), s.rnd.IntN(200), s.rnd.IntN(1000)
	}
	nodes := len(s.nodes)
	home := s.nodes[c.home%nodes]
	random := s.nodes[s.rnd.IntN(nodes)]
	window := int(60*time.Duration(s.width)*time.Second/simStep) + 1
	share := float64(s.limit) / 2 / float64(s.maxNodes)
	newSlot := s.now.Add(-simStep).Unix()/int64(s.width) != s.now.Unix()/int64(s.width)
	switch c.style {
	case spread:
		if s.rnd.IntN(window) < int(s.limit)*(90+s.rnd.IntN(40))/100 {
			s.event(random, c, 0, 1)
		}
	case hover:
		if n := s.nodes[s.rnd.IntN(nodes)]; float64(n.table.Count(c.prefix.Addr(), "", s.slot())) < share {
			s.event(n, c, 0, 1)
		}
	case burst:
		if newSlot && s.rnd.IntN(10) == 0 {
			s.event(home, c, 0, 1+s.rnd.IntN(int(s.limit)))
			s.event(random, c, uint32(s.rnd.IntN(2)), 1+s.rnd.IntN(int(s.limit)))
		}
	case edges:
		if newSlot && s.slot()%ring.Slots >= ring.Slots-1 || newSlot && s.slot()%ring.Slots == 0 {
			s.event(random, c, 0, int(s.limit)/2+1)
		}
	case laggard:
		if s.rnd.IntN(10) == 0 {
			s.event(random, c, uint32(s.rnd.IntN(70)), 1+s.rnd.IntN(1+int(s.limit)/10))
		}
	case loner:
		if s.rnd.IntN(window) < int(s.limit) {
			s.event(home, c, 0, 1+s.rnd.IntN(2))
		}
	case flood:
		for _, n := range s.nodes[:min(nodes, 20)] {
			s.event(n, c, 0, s.rnd.IntN(3))
		}
	}
}

// event is so many requests of a client on a node, so many slots late.
func (s *sim) event(n *simNode, c *simClient, late uint32, times int) {
	for range times {
		now := s.slotOf(n)
		op := shard.Op{Addr: c.prefix.Addr(), Now: now, Slot: now - late, Cost: 1}
		count := n.table.Add(&op)
		if !count.Late {
			c.all[op.Slot]++
			c.high = max(c.high, c.highest(op.Slot))
			if op.Slot >= max(n.since, c.cleared) {
				if c.sure[n] == nil {
					c.sure[n] = make(map[uint32]uint32)
				}
				c.sure[n][op.Slot]++
				c.total[op.Slot]++
			}
		}
		if rest := n.fleet.Count(0, &op, count.Count); count.Count+rest > s.limit {
			s.block(c, "node "+strconv.Itoa(int(count.Count))+" and rest", rest)
		}
	}
}

// unsure takes back what had to be found.
func (c *simClient) unsure() {
	clear(c.sure)
	clear(c.total)
}

// gone takes back what was accepted by a node that is no more.
func (c *simClient) gone(n *simNode) {
	for slot, count := range c.sure[n] {
		c.total[slot] -= count
	}
	delete(c.sure, n)
}

// highest is the greatest count of the windows that a slot is in.
func (c *simClient) highest(slot uint32) (high uint32) {
	var sum uint32
	for s := slot - ring.Slots + 1; s <= slot; s++ {
		sum += c.all[s]
	}
	high = sum
	for s := slot + 1; s < slot+ring.Slots; s++ {
		sum += c.all[s] - c.all[s-ring.Slots]
		high = max(high, sum)
	}
	return high
}

// block checks that nobody is blocked whose true total never passed the limit.
func (s *sim) block(c *simClient, why string, count uint32) {
	if c.high <= s.limit {
		s.fatalf("%s is blocked (%s, %d), and never had more than %d", c.prefix, why, count, c.high)
	}
	c.blocked = true
}

// unblock forgets a client everywhere, in the tables first or last.
func (s *sim) unblock(c *simClient) {
	at := s.now.Add(simSkew) // no node's clock is past it
	cleared := uint32(at.Unix())/s.width + 1
	clearFirst := s.rnd.IntN(2) == 0
	for _, n := range s.nodes {
		if clearFirst {
			n.table.Clear(c.prefix.Addr(), "")
		}
		for _, k := range n.fleet.Forget(c.prefix, at) {
			if !n.cut && s.rnd.IntN(4) > 0 { // else it is lost
				s.forget(k, cleared)
			}
		}
		n.table.Clear(c.prefix.Addr(), "")
	}
	c.unsure()
	clear(c.all)
	c.high, c.blocked, c.since = 0, false, time.Time{}
	c.cleared = cleared
	s.felt(simPush)
}

// checkMissed checks that nobody stays over the limit, in 58 slots, unblocked
// for longer than the grace, once faults are over.
func (s *sim) checkMissed() {
	now := s.slot()
	for _, c := range s.clients {
		if c.blocked && s.rnd.IntN(600) == 0 {
			c.blocked = false // its block ends; what it counted before need not be pushed again
			c.since = time.Time{}
			c.unsure()
		}
		var sum uint32
		for slot := now - 57; slot <= now; slot++ {
			sum += c.total[slot]
		}
		switch {
		case c.blocked:
			c.since = time.Time{}
		case sum <= s.limit && (c.since.IsZero() || !c.since.After(s.calm)):
			c.since = time.Time{}
		case c.since.IsZero() || s.calm.After(c.since):
			c.since = s.now
		case s.now.Sub(c.since) > simGrace:
			s.fatalf("%s (style %d) has %d in 58 slots, and is not blocked since %s", c.prefix, c.style, sum, s.now.Sub(c.since))
		}
	}
}

// checkSums checks that the fleet's ring is the sum of the nodes', whatever
// happened.
func (s *sim) checkSums() {
	for _, c := range s.clients {
		k := aggregator.Key{Meter: simMeter, Prefix: c.prefix}
		if fleet, sum := s.redis.Rings(string(k.Append(nil))); fleet != sum {
			s.fatalf("%s: the fleet's ring is %v and the nodes' add up to %v", c.prefix, fleet, sum)
		}
	}
}
