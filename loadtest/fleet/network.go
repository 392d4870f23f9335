package fleet

import (
	"fmt"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/fleetmodel"
)

// round is one push round of a node, and plans the next.
func (m *simulation) round(i int) {
	if n := m.fleet.Nodes[i]; !n.Cut {
		m.fleet.PushRound(n)
	}
	m.news()
	m.turns()
	wait := m.setup.Push - time.Duration(m.rnd.Int64N(int64(m.setup.Push/10+1)))
	m.at(m.now+wait, func() { m.round(i) })
}

// second is what all nodes do each second.
func (m *simulation) second() {
	for _, n := range m.fleet.Nodes {
		m.fleet.LookAgain(n)
	}
	if m.now%sweepEvery == 0 {
		for _, n := range m.fleet.Nodes {
			n.Totals.Sweep(m.fleet.Local(n))
		}
	}
	m.news()
	m.at(m.now+time.Second, m.second)
}

// sweepEvery is how often a node forgets suspects that are none any more.
const sweepEvery = 10 * time.Second

// news plans that all nodes read what has come to the watch list.
func (m *simulation) news() {
	if m.fleet.Watches() == m.watches {
		return
	}
	m.watches = m.fleet.Watches()
	made := m.fleet.Now
	m.at(m.now+m.setup.FanOut, func() {
		m.delivered()
		for _, n := range m.fleet.Nodes {
			m.fleet.ReadWatches(n, made)
		}
		m.news()
		m.turns()
	})
}

// turnEvery is how often a node looks at what it left to others, while there is some.
const turnEvery = 100 * time.Millisecond

// turns plans that nodes do what they left to others, and none has done.
func (m *simulation) turns() {
	if m.turnsPlanned || !slices.ContainsFunc(m.fleet.Nodes, (*fleetmodel.Node).Waits) {
		return
	}
	m.turnsPlanned = true
	m.at(m.now+turnEvery, func() {
		m.turnsPlanned = false
		for _, n := range m.fleet.Nodes {
			m.fleet.TakeTurns(n)
		}
		m.news()
		m.turns()
	})
}

// fate draws what becomes of a push call.
func (m *simulation) fate(n *fleetmodel.Node, _ *fleetmodel.Call) (fate fleetmodel.Fate) {
	s := &m.setup
	if m.nodes[n] < s.Stalled {
		fate.Unanswered = true
		return fate
	}
	if s.Lost+s.Unanswered+s.Late+s.Repeated == 0 {
		return fate
	}
	switch p := m.rnd.Float64(); {
	case p < s.Lost:
		fate.Lost = true
	case p < s.Lost+s.Unanswered:
		fate.Unanswered = true
	case p < s.Lost+s.Unanswered+s.Late:
		fate.Late = 1 + time.Duration(m.rnd.Int64N(int64(4900*time.Millisecond)))
		m.at(m.now+fate.Late, m.fleet.Deliver)
	case p < s.Lost+s.Unanswered+s.Late+s.Repeated:
		fate.Twice = true
	}
	return fate
}

// settled reports whether a node has a block of a client already.
func (m *simulation) settled(n *fleetmodel.Node, k aggregator.Key) bool {
	c := &m.clients[m.index[string(k.Append(nil))]]
	return c.refusedFrom(m.nodes[n]) <= m.now
}

// over is a node's proof that a client is over the limit.
func (m *simulation) over(n *fleetmodel.Node, k aggregator.Key, _ uint32) {
	client, i := m.index[string(k.Append(nil))], m.nodes[n]
	if m.clients[client].refusedFrom(i) > m.now {
		m.block(client, i)
	}
}

// block is a node's own decision to block a client, which it publishes.
func (m *simulation) block(client uint32, node int) {
	c := &m.clients[client]
	if c.blocks == nil {
		c.blocks = &blocks{never, make(map[int]time.Duration)}
	}
	c.blocks.own[node] = m.now
	if n := m.fleet.Nodes[node]; n.Cut {
		m.waiting = append(m.waiting, Refusal{client, node, m.now})
	} else {
		m.publish(c, n)
	}
}

// publish brings a block to the fleet's list, and so to all nodes.
func (m *simulation) publish(c *client, n *fleetmodel.Node) {
	r := aggregator.Record{Retention: m.setup.Scenario.Window, Block: edgeguard.Block{
		Prefix: c.key.Prefix, Rule: "site", Reason: fmt.Sprintf("over limit in the fleet: %d here, %d on other nodes", m.limit/2, m.limit/2),
		Origin: n.Name, Version: 1, Since: m.fleet.Now, Until: m.fleet.Now.Add(time.Hour), Count: m.limit + 1, Limit: m.limit,
	}}
	record, err := r.Encode()
	if err != nil {
		m.err = err
		return
	}
	prefix := c.key.Prefix.String()
	m.fleet.Publish(n, prefix, record)
	visible := m.now + m.setup.FanOut
	if c.blocks.everywhere > visible {
		c.blocks.everywhere = visible
	}
	m.at(visible, m.delivered)
	m.count(read, 0, 0, 0, m.setup.Nodes*entries("stream", "v", "1", "p", prefix, "r", record), 0)
}

// lose cuts all nodes off from Redis.
func (m *simulation) lose() {
	for _, n := range m.fleet.Nodes {
		n.Cut = true
	}
}

// regain brings them back, spread out as nodes do it: each waits up to 5 ms for each
// node of the fleet, at most 10 s. What it decided alone it publishes then.
func (m *simulation) regain() {
	if m.setup.Emptied {
		m.fleet.Wipe()
		m.watches = 0
	}
	spread := min(time.Duration(m.setup.Nodes)*5*time.Millisecond, 10*time.Second)
	for i := range m.fleet.Nodes {
		m.at(m.now+time.Duration(m.rnd.Int64N(int64(spread))), func() { m.rejoin(i) })
	}
}

func (m *simulation) rejoin(i int) {
	n := m.fleet.Nodes[i]
	n.Cut = false
	m.fleet.Rejoin(n)
	m.waiting = slices.DeleteFunc(m.waiting, func(r Refusal) bool {
		if r.Node == i {
			m.publish(&m.clients[r.Client], n)
		}
		return r.Node == i
	})
}

// restart ends one of the nodes and starts it again, cleanly or without what it had
// counted.
func (m *simulation) restart(cleanly bool) {
	i := m.rnd.IntN(m.setup.Nodes)
	n := m.fleet.Nodes[i]
	if n.Cut {
		return
	}
	delete(m.nodes, n)
	if cleanly {
		n = m.fleet.Restart(n, true)
	} else {
		n = m.fleet.Kill(n)
	}
	m.nodes[n] = i
}

// delivered is that all nodes have read what came to a stream.
func (m *simulation) delivered() {
	if m.reads(); m.lastNews != m.now {
		m.lastNews = m.now
		m.count(read, uint64(m.setup.Nodes), 0, m.setup.Nodes*idleRead[0], 0, of(uint64(m.setup.Nodes), m.costs.Read))
	}
}

// reads counts the reads of the streams that have waited in vain up to now.
func (m *simulation) reads() {
	idle := m.setup.Nodes * int((m.now-m.lastRead)/readWait)
	m.count(read, uint64(idle), 0, idle*idleRead[0], idle*idleRead[1], of(uint64(idle), m.costs.Idle))
	m.lastRead = m.now
}

// readWait is how long Redis delays an answer while nothing comes.
const readWait = 400 * time.Millisecond
