package aggregator_test

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/redistwin"
	"edgeguard/ring"
	"edgeguard/shard"
)

// The property test runs whole fleets in virtual time against the reference of the
// Redis functions, with traffic and faults made to hurt, and compares them with
// a model that does nothing but remember every accepted event.
const (
	simMeter = 0xfeed
	simStep  = 250 * time.Millisecond
	simPush  = 500 * time.Millisecond
	// simSkew is how far a node's clock may be off.
	simSkew = 300 * time.Millisecond
	// simGrace is how long after a crossing, or after the last fault, a client
	// must be blocked: two push intervals and the fan-out, which here takes a
	// step.
	simGrace = 2*simPush + simStep
)

// sim is one run.
type sim struct {
	t        *testing.T
	seed     uint64
	rnd      *rand.Rand
	redis    *redistwin.Redis
	saved    *redistwin.Redis // what a fail-over rolls back to
	now      time.Time
	width    uint32
	limit    uint32
	quiet    bool
	maxNodes int
	faults   bool
	boots    int
	nodes    []*simNode
	clients  []*simClient
	index    map[netip.Prefix]*simClient
	stream   []aggregator.Key // the watch list, with the slot of each entry
	when     []uint32
	late     []delayed
	calm     time.Time   // the last moment of which a fault may still be felt
	calls    hash.Hash64 // of all calls to Redis and their answers
}

type simNode struct {
	name  string
	id    [8]byte
	fleet *aggregator.Totals
	table *shard.Table
	since uint32 // its first slot
	read  int    // of the stream
	phase int
	skew  time.Duration
	cut   bool // Redis cannot be reached
}

// delayed is a call that reaches Redis later than it was made.
type delayed struct {
	at   time.Time
	node *simNode
	call simCall
}

type simCall struct {
	pushes []aggregator.Push
	args   []string
	keys   []string
}

// clock is what a node takes for now.
func (s *sim) clock(n *simNode) time.Time { return s.now.Add(n.skew) }

func (s *sim) slotOf(n *simNode) uint32 { return uint32(s.clock(n).Unix()) / s.width }

func (s *sim) slot() uint32 { return uint32(s.now.Unix()) / s.width }

func (s *sim) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d, slot %d, %d nodes, limit %d, width %d, quiet %t: %s", s.seed, s.slot(), len(s.nodes), s.limit, s.width, s.quiet,
		fmt.Sprintf(format, args...))
}

func newSim(t *testing.T, seed uint64) *sim {
	rnd := rand.New(rand.NewPCG(seed, 4))
	s := &sim{
		t: t, seed: seed, rnd: rnd, redis: redistwin.New(),
		now:    time.Unix(1_700_000_000+rnd.Int64N(1000), rnd.Int64N(1e9)).UTC(),
		width:  []uint32{1, 1, 1, 2, 5}[rnd.IntN(5)],
		limit:  uint32(3 + rnd.IntN(200)),
		quiet:  rnd.IntN(3) > 0,
		faults: rnd.IntN(3) > 0,
		index:  make(map[netip.Prefix]*simClient),
		calls:  fnv.New64a(),
	}
	nodes := 1 + rnd.IntN(8)
	switch rnd.IntN(12) {
	case 0:
		nodes = 1 + rnd.IntN(200)
	case 1, 2:
		nodes = 1 + rnd.IntN(40)
	}
	s.maxNodes = nodes + rnd.IntN(1+nodes)
	s.saved = s.redis.Clone()
	for range nodes {
		s.join()
	}
	for i := range 3 + rnd.IntN(6) {
		s.addClient(i)
	}
	return s
}

// join starts a node. It reads the watches of the last window, and the
// tombstones in the list.
func (s *sim) join() {
	s.boots++
	n := &simNode{name: fmt.Sprintf("node-%d", s.boots), phase: s.rnd.IntN(2), skew: time.Duration(s.rnd.Int64N(int64(2*simSkew))) - simSkew}
	n.id = aggregator.NodeID(n.name, fmt.Sprint(s.seed))
	n.table = shard.New(shard.NewMemory(1<<20), shard.Config{Seed: s.seed})
	n.since = s.slotOf(n)
	n.fleet = aggregator.New(aggregator.Config{
		Meters: []aggregator.Meter{{Fingerprint: simMeter, Width: s.width, Limit: s.limit, Table: n.table}},
		Boot:   s.clock(n), Quiet: s.quiet, MaxNodes: s.maxNodes, Nodes: len(s.nodes) + 1, Seed: s.seed | 1,
	})
	for n.read < len(s.stream) && s.when[n.read]+ring.Slots < s.slot() {
		n.read++
	}
	for _, c := range s.clients {
		if c.cleared > 0 {
			n.fleet.Forget(c.prefix, time.Unix(int64(c.cleared-1)*int64(s.width), 0))
		}
	}
	s.nodes = append(s.nodes, n)
	s.tellNodes()
}

// leave ends a node: what it had not pushed is lost.
func (s *sim) leave(i int) {
	gone := s.nodes[i]
	s.nodes = append(s.nodes[:i], s.nodes[i+1:]...)
	for _, c := range s.clients {
		c.gone(gone)
	}
	s.tellNodes()
}

func (s *sim) tellNodes() {
	for _, n := range s.nodes {
		n.fleet.SetNodes(len(s.nodes))
	}
}

// run is the whole life of a fleet.
func (s *sim) run() {
	steps := int(150*time.Duration(s.width)*time.Second/simStep) / int(s.width)
	if s.width > 1 {
		steps *= 2
	}
	if len(s.nodes) > 20 {
		steps /= 2
	}
	for i := range steps {
		s.now = s.now.Add(simStep)
		if s.rnd.IntN(50) == 0 { // time flies, so that windows end
			s.now = s.now.Add(time.Duration(s.rnd.IntN(int(s.width))+1) * time.Second)
			s.felt(0)
		}
		s.deliver()
		if s.faults {
			s.fault()
		}
		for _, c := range s.clients {
			s.traffic(c)
		}
		for _, n := range s.nodes {
			if i%2 == n.phase {
				var all []aggregator.Push
				for pushes := range n.fleet.Collect(s.clock(n), 2) {
					all = append(all, pushes...)
				}
				s.push(n, all, true)
				s.reconcile(n)
			}
			if s.rnd.IntN(400) == 0 {
				n.fleet.Sweep(s.clock(n))
			}
		}
		s.readWatches()
		if i%8 == 0 {
			s.checkSums()
		}
		s.checkMissed()
	}
}

// reconcile lets a node reconcile what is due.
func (s *sim) reconcile(n *simNode) {
	var all []aggregator.Push
	for more := !n.cut; more; {
		var some []aggregator.Push
		some, more = n.fleet.Reconcile(s.clock(n), 3)
		all = append(all, some...)
	}
	s.push(n, all, true)
}

// readWatches lets all nodes read the watch list.
func (s *sim) readWatches() {
	for _, n := range s.nodes {
		if n.cut {
			continue
		}
		for ; n.read < len(s.stream); n.read++ {
			if p, ok := n.fleet.Watch(s.stream[n.read], s.clock(n)); ok {
				s.push(n, []aggregator.Push{p}, true)
			}
		}
	}
}

// push sends pushes to Redis, through what faults there are.
func (s *sim) push(n *simNode, pushes []aggregator.Push, mayFail bool) {
	// In the order of keys: a node's own is random, and a seed must give one run.
	slices.SortFunc(pushes, func(a, b aggregator.Push) int { return bytes.Compare(a.Key.Append(nil), b.Key.Append(nil)) })
	for len(pushes) > 0 && !n.cut {
		part := pushes[:min(len(pushes), 200)]
		pushes = pushes[len(part):]
		call := simCall{pushes: part, keys: []string{"clock"}}
		call.args = []string{string(aggregator.NewHeader(n.id, s.clock(n), s.width).Append(nil))}
		for i := range part {
			call.keys = append(call.keys, string(part[i].Key.Append(nil)))
			call.args = append(call.args, string(part[i].AppendBody(nil)))
		}
		if !s.faults || !mayFail {
			s.apply(n, call, true)
			continue
		}
		switch s.rnd.IntN(40) {
		case 0: // lost
			s.felt(simPush)
		case 1: // the reply is lost
			s.apply(n, call, false)
			s.felt(simPush)
		case 2: // repeated
			s.apply(n, call, true)
			s.apply(n, call, true)
		case 3: // late, and so behind others
			at := s.now.Add(time.Duration(s.rnd.Int64N(int64(4 * time.Second))))
			s.late = append(s.late, delayed{at, n, call})
			s.felt(at.Sub(s.now) + simPush)
		default:
			s.apply(n, call, true)
		}
	}
}

// deliver brings in the calls that were late.
func (s *sim) deliver() {
	left := s.late[:0]
	for _, d := range s.late {
		if d.at.After(s.now) {
			left = append(left, d)
			continue
		}
		s.apply(d.node, d.call, s.alive(d.node))
	}
	s.late = left
}

func (s *sim) alive(n *simNode) bool {
	for _, x := range s.nodes {
		if x == n {
			return true
		}
	}
	return false
}

// apply is one call as Redis sees it, and what the node does with the answer.
func (s *sim) apply(n *simNode, call simCall, answered bool) {
	reply, err := s.redis.Call(s.now, "edgeguard1_push", call.keys, call.args)
	fmt.Fprintf(s.calls, "%d %q %q %v %v\n", s.now.UnixNano(), call.keys, call.args, reply, err)
	if err != nil && strings.HasPrefix(err.Error(), "EDGEGUARD clock ") {
		s.felt(simPush) // it was so late that it is refused: lost
		return
	}
	if err != nil {
		s.fatalf("push: %v", err)
	}
	answers, err := aggregator.DecodeAnswers(reply.(string), len(call.pushes))
	if err != nil {
		s.fatalf("answers: %v", err)
	}
	if !answered {
		return
	}
	for i, a := range answers {
		p := &call.pushes[i]
		out := n.fleet.Answered(p, a, s.clock(n))
		if out.Forget != 0 {
			s.forget(p.Key, out.Forget)
			out.Again = true
		}
		if out.Over {
			s.block(s.index[p.Key.Prefix], "fleet", a.Peak)
		}
		if out.Watch {
			s.stream, s.when = append(s.stream, p.Key), append(s.when, s.slot())
		}
		if out.Again {
			if full, ok := n.fleet.FullPush(p.Key, s.clock(n)); ok {
				s.push(n, []aggregator.Push{full}, true)
			}
		}
	}
}

func (s *sim) forget(k aggregator.Key, cleared uint32) {
	if _, err := s.redis.Call(s.now, "edgeguard1_forget", []string{string(k.Append(nil))}, []string{fmt.Sprint(cleared), fmt.Sprint(s.width)}); err != nil {
		s.fatalf("forget: %v", err)
	}
}

// TestASeedGivesOneRun runs the same seeds twice.
func TestASeedGivesOneRun(t *testing.T) {
	for seed := range uint64(3) {
		var calls [2]uint64
		for i := range calls {
			s := newSim(t, 1000+seed)
			s.run()
			calls[i] = s.calls.Sum64()
		}
		if calls[0] != calls[1] {
			t.Errorf("seed %d: the calls to Redis of two runs differ", 1000+seed)
		}
	}
}

// TestFleet runs fleets of random seeds; SEED runs that one alone, and TORTURE
// thousands.
func TestFleet(t *testing.T) {
	runs := 40
	switch {
	case os.Getenv("TORTURE") != "":
		runs = 5000
	case raceEnabled:
		runs = 4
	case testing.Short():
		runs = 10
	}
	base := rand.Uint64()
	if given := os.Getenv("SEED"); given != "" {
		runs = 1
		if _, err := fmt.Sscan(given, &base); err != nil {
			t.Fatal(err)
		}
	}
	for i := range runs {
		seed := base + uint64(i)
		s := newSim(t, seed)
		s.run()
		if (i+1)%100 == 0 {
			t.Logf("%d runs", i+1)
		}
	}
}
