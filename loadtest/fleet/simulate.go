package fleet

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/fleetmodel"
	"edgeguard/loadtest/traffic"
	"edgeguard/shard"
)

// simulation is one run as it goes.
type simulation struct {
	setup  Setup
	costs  *Costs
	rnd    *rand.Rand // of all but the traffic
	spread *rand.Rand // of the nodes that requests go to
	fleet  *fleetmodel.Fleet
	width  uint32
	limit  uint32
	now    time.Duration // since the scenario's start
	due    events
	seq    int

	clients      []client
	index        map[string]uint32 // of clients by their keys' bytes
	nodes        map[*fleetmodel.Node]int
	waiting      []Refusal     // blocks that wait for Redis
	watches      int           // entries of the watch list that nodes read or will
	lastRead     time.Duration // of the streams, by all nodes
	lastNews     time.Duration // when the newest entry of a stream came
	loads        map[string]*Load
	turnsPlanned bool
	out          Simulated
	err          error
}

// Simulate runs a setup. The same setup gives the same result, byte for byte.
func Simulate(ctx context.Context, s Setup) (*Simulated, error) {
	s.setDefaults()
	m := &simulation{
		setup: s, costs: &Measured, width: uint32(s.Scenario.Window / edgeguard.Slots / time.Second), limit: s.Guard.Limit(s.Scenario.Limit),
		rnd: rand.New(rand.NewPCG(s.Seed, 1)), spread: rand.New(rand.NewPCG(s.Seed, 2)),
		index: make(map[string]uint32), nodes: make(map[*fleetmodel.Node]int), loads: make(map[string]*Load),
	}
	if m.width == 0 || time.Duration(m.width)*time.Second*edgeguard.Slots != s.Scenario.Window {
		return nil, fmt.Errorf("scenario %s has a window of %s: use a multiple of a minute", s.Scenario.Name, s.Scenario.Window)
	}
	m.fleet = fleetmodel.New(fleetmodel.Config{
		Meters: []aggregator.Meter{{Fingerprint: meterID, Width: m.width, Limit: m.limit}},
		Quiet:  s.Quiet, MaxNodes: s.MaxNodes, Partitions: s.Partitions, Seed: s.Seed, Memory: 16 << 20,
		Fate: m.fate, Called: m.called, Settled: m.settled, Over: m.over,
	}, traffic.Start)
	m.start()
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	m.reads()
	m.beats(m.now)
	return m.judge(m.now), cmp.Or(m.err, m.fleet.Err())
}

// start lets all nodes join, and plans what happens to them.
func (m *simulation) start() {
	skews := make([]time.Duration, m.setup.Nodes)
	for i := range skews {
		skews[i] = m.skew(i)
	}
	m.fleet.Join(skews...)
	for i, n := range m.fleet.Nodes {
		m.nodes[n] = i
		m.at(time.Duration(m.rnd.Int64N(int64(m.setup.Push))), func() { m.round(i) })
	}
	m.at(time.Second, m.second)
	if from, until := m.setup.Away[0], m.setup.Away[1]; until > from {
		m.at(from, m.lose)
		m.at(until, m.regain)
	}
	for i := range m.setup.Restarts + m.setup.Kills {
		m.at(time.Duration(m.rnd.Int64N(int64(m.setup.Until))), func() { m.restart(i < m.setup.Restarts) })
	}
}

// skew is how far a node's clock is off: the first two have the extremes.
func (m *simulation) skew(node int) time.Duration {
	most := m.setup.Skew
	switch {
	case most == 0:
		return 0
	case node == 0:
		return most
	case node == 1:
		return -most
	}
	return time.Duration(m.rnd.Int64N(int64(2*most))) - most
}

// run plays all requests, and what falls due between them and for two pushes after.
func (m *simulation) run(ctx context.Context) error {
	n := 0
	for r := range m.setup.Scenario.Requests(m.setup.Seed) {
		if m.setup.Until > 0 && r.At >= m.setup.Until {
			break
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m.until(r.At)
		m.receive(&r)
	}
	m.until(max(m.now, m.setup.Until) + 2*m.setup.Push + m.setup.FanOut)
	return ctx.Err()
}

// until lets happen what is due up to a time.
func (m *simulation) until(at time.Duration) {
	for len(m.due) > 0 && m.due[0].at <= at {
		e := heap.Pop(&m.due).(event)
		m.move(e.at)
		e.happens()
	}
	m.move(at)
}

func (m *simulation) move(at time.Duration) { m.now, m.fleet.Now = at, traffic.Start.Add(at) }

// at plans something.
func (m *simulation) at(at time.Duration, happens func()) {
	m.seq++
	heap.Push(&m.due, event{at, m.seq, happens})
}

// event is something that is planned; those of one time happen in the order in which
// they were planned.
type event struct {
	at      time.Duration
	seq     int
	happens func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// known returns a client, as it was or new.
func (m *simulation) known(r *traffic.Request) *client {
	for int(r.Client) >= len(m.clients) {
		m.clients = append(m.clients, client{})
	}
	c := &m.clients[r.Client]
	if c.requests == 0 {
		addr, bits := r.Addr(), 32
		if !addr.Is4() {
			bits = 64
		}
		prefix, _ := addr.Prefix(bits)
		c.addr, c.key, c.crossed = addr, aggregator.Key{Meter: meterID, Prefix: prefix}, -1
		m.index[string(c.key.Append(nil))] = r.Client
	}
	return c
}

// place returns the node that a request reaches.
func (m *simulation) place(r *traffic.Request) int {
	switch {
	case m.setup.Home:
		return int(uint64(r.Client) * 0x9e3779b97f4a7c15 >> 33 % uint64(m.setup.Nodes))
	case m.setup.Nodes == m.setup.Scenario.Nodes:
		return int(r.Node)
	}
	return m.spread.IntN(m.setup.Nodes)
}

// receive is one request: it is counted, judged by the exact log, and passes or not.
func (m *simulation) receive(r *traffic.Request) {
	m.out.Requests++
	c, i := m.known(r), m.place(r)
	c.requests++
	if exact := c.log.add(r, m.setup.Scenario.Window); exact > m.setup.Scenario.Limit && c.crossed < 0 {
		c.crossed = r.At
	}
	n := m.fleet.Nodes[i]
	slot := uint32(m.fleet.Local(n).Unix()) / m.width
	op := shard.Op{Addr: c.addr, Now: slot, Slot: slot, Cost: r.Cost}
	here, rest := m.fleet.Count(n, 0, &op)
	refused := c.refusedFrom(i) <= r.At
	if !refused && here.Count+rest > m.limit {
		if rest > 0 && !n.Cut { // the reason names the nodes, which the publisher asks for
			m.fleet.Split(n, c.key, slot, false)
		}
		m.block(r.Client, i)
		refused = true
	}
	switch {
	case c.crossed < 0 && refused:
		m.out.RefusedEarly++
	case c.crossed >= 0:
		c.overs = r.At - c.crossed
		if !refused {
			c.over++
		}
	}
}
