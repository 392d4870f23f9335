// Package fleetmodel is a fleet in virtual time: nodes that count in their own
// tables and by their own clocks, each with its own [aggregator.Totals], and the
// twin of the Redis functions between them. There is no socket, no goroutine and
// no clock: a caller says what time it is, what each node counts, when a node
// pushes and reads, and what becomes of each call. So a seed of the caller's gives
// one run.
//
// What is the product's own: the tables, the Totals, the bytes of pushes and
// answers, the proof by splits, doubts. What is modelled, because the product's own
// code reads clocks and sockets (package aggregator/redis): how pushes are grouped
// into calls, what follows from an answer, the watch list, an unblock's way through
// the fleet, restarts, and the clocks. What is not here: heartbeats as calls (every
// node knows who is alive), the list of blocks, signatures, the detector. A caller
// who needs decisions compares what [Fleet.Count] returns with the limit, and blocks
// by [Config.Over].
//
// The property tests of package aggregator judge this model by what no node forgets;
// loadtest/fleet computes by it what a fleet costs.
package fleetmodel

import (
	"net/netip"
	"slices"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/redistwin"
	"edgeguard/ring"
)

// Config is how a fleet is run.
type Config struct {
	// Meters are what all nodes count; each node gets tables of its own. The first
	// one's window is how far back a node that enters reads the watch list.
	Meters []aggregator.Meter
	// Quiet, MaxNodes and Share are as in [aggregator.Config].
	Quiet    bool
	MaxNodes int
	Share    float64
	// Partitions is over how many names the counts are spread, 1 if it is 0: each
	// call has keys of one.
	Partitions int
	// Memory is the budget of a node's tables in bytes.
	Memory int64
	// Seed decides where keys lie in tables and suspects, and the nodes' IDs.
	Seed uint64

	// Fate decides what becomes of a push call; nil: Redis answers each at once.
	Fate func(n *Node, c *Call) Fate
	// Called is told of each command that reaches Redis and what it answered; nil:
	// nobody is.
	Called func(n *Node, c *Command, reply any, err error)
	// Answered is told of each answer to a push that reached a node, before
	// what follows from it; nil: nobody is.
	Answered func(n *Node, c *Call, p *aggregator.Push, a aggregator.Answer, out aggregator.Outcome)
	// Settled reports whether a key over its limit would change nothing at a node,
	// as where it is blocked already; nil: it always would.
	Settled func(n *Node, k aggregator.Key) bool
	// Over is called when a node has proven that a key is over its limit.
	Over func(n *Node, k aggregator.Key, counted uint32)
	// OldLibrary says that Redis has functions of before, whose splits have no slots: what
	// is proven holds in its slot alone.
	OldLibrary bool
}

// Fleet is the nodes, and what they share. It is not safe for concurrent use. The
// caller moves Now, which is Redis' time and the epoch's.
type Fleet struct {
	Config
	Redis *redistwin.Redis
	Now   time.Time
	// Ahead is by how much Redis' clock has stepped away from the time that nodes
	// count in.
	Ahead time.Duration
	Nodes []*Node
	// Late are the calls and answers that are on their way, in no order.
	Late []Delivery
	// Hold keeps all answers on their way for an hour.
	Hold bool

	boots  int
	ids    map[[8]byte]bool // of all nodes that ever sent a heartbeat
	stream []watch          // the watch list
	tombs  []tombstone      // by prefix; the newest of each
	err    error
}

// watch is an entry of the watch list, and when it came there.
type watch struct {
	key aggregator.Key
	at  time.Time
}

// tombstone is an unblocked prefix: slots up to that of at are forgotten.
type tombstone struct {
	prefix netip.Prefix
	at     time.Time
}

// New returns a fleet without nodes, at a time.
func New(c Config, now time.Time) *Fleet {
	c.Partitions = max(c.Partitions, 1)
	if c.Memory == 0 {
		c.Memory = 1 << 20
	}
	return &Fleet{Config: c, Redis: redistwin.New(), Now: now, ids: make(map[[8]byte]bool)}
}

// Err returns the first answer of Redis that no fault explains: the model and the
// twin do not agree, and the run says nothing.
func (f *Fleet) Err() error { return f.err }

func (f *Fleet) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// Local is what a node takes for now, Epoch what it takes for Redis' time.
func (f *Fleet) Local(n *Node) time.Time { return f.Now.Add(n.Skew - f.Ahead) }
func (f *Fleet) Epoch(n *Node) time.Time { return f.Local(n).Add(n.Offset) }

// slot is a meter's slot of a time.
func slot(m *aggregator.Meter, t time.Time) uint32 { return uint32(t.Unix()) / m.Width }

// span is how long so many slots of a meter last.
func span(m *aggregator.Meter, slots int) time.Duration {
	return time.Duration(slots) * time.Duration(m.Width) * time.Second
}

// known reports whether an ID is of a node, whose counts are evidence.
func (f *Fleet) known(id [8]byte) bool { return f.ids[id] }

// Wipe empties Redis, the watch list with it.
func (f *Fleet) Wipe() {
	f.Redis.Wipe()
	f.stream = f.stream[:0]
	for _, n := range f.Nodes {
		n.read = 0
	}
}

// TrimWatches drops the older half of the watch list, read or not.
func (f *Fleet) TrimWatches() {
	drop := (len(f.stream) + 1) / 2
	f.stream = f.stream[drop:]
	for _, n := range f.Nodes {
		n.read = max(n.read-drop, 0)
	}
}

// StepClock moves Redis' clock. A node learns of it when learns says, and goes on
// by the offset that it has until then.
func (f *Fleet) StepClock(by time.Duration, learns func() time.Duration) {
	f.Now, f.Ahead = f.Now.Add(by), f.Ahead+by
	for i := range f.Late {
		f.Late[i].At = f.Late[i].At.Add(by)
	}
	for _, n := range f.Nodes {
		n.Learns = f.Now.Add(learns())
	}
	for i := range f.stream {
		f.stream[i].at = f.stream[i].at.Add(by)
	}
}

// LearnClock lets a node learn of a step of Redis' clock, if it is time. What it
// counted before stays its own.
func (f *Fleet) LearnClock(n *Node) {
	if n.Learns.IsZero() || n.Learns.After(f.Now) {
		return
	}
	n.Learns, n.Offset = time.Time{}, f.Ahead
	n.Totals.SetOffset(n.Offset, f.Local(n))
	for i := range f.Meters {
		n.Since[i] = slot(&f.Meters[i], f.Epoch(n)) + 1
	}
}

// Learning reports whether a node does not know of a step of Redis' clock yet.
func (f *Fleet) Learning() bool {
	return slices.ContainsFunc(f.Nodes, func(n *Node) bool { return !n.Learns.IsZero() })
}

// window is how long a meter's window is.
func window(m *aggregator.Meter) time.Duration { return span(m, ring.Slots) }
