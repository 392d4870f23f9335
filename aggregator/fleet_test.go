package aggregator_test

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/fleetmodel"
	"edgeguard/internal/redistwin"
	"edgeguard/ring"
)

// The property test runs whole fleets in virtual time against the reference of the
// Redis functions, with traffic and faults made to hurt, and compares them with
// a model that does nothing but remember every accepted event.
const (
	simStep = 250 * time.Millisecond
	simPush = 500 * time.Millisecond
	// simSkew is how far a node's clock may be off.
	simSkew = 300 * time.Millisecond
	// simGrace is how long after a crossing, or after the last fault, a client
	// must be blocked: two push intervals and the fan-out, which here takes a
	// step.
	simGrace = 2*simPush + simStep
	// simWhole is how long nodes need at most to reconcile all that they have.
	simWhole = aggregator.ReconcileEvery + 2*simPush
)

// simMeter is what all nodes count.
type simMeter struct {
	id           uint64
	width, limit uint32
	with         bool
}

// slot is the slot of a time, local or the epoch's.
func (m *simMeter) slot(t time.Time) uint32 { return uint32(t.Unix()) / m.width }

// span is how long so many slots last.
func (m *simMeter) span(slots int) time.Duration {
	return time.Duration(slots) * time.Duration(m.width) * time.Second
}

// sim is one run of a model of the fleet, and what judges it.
type sim struct {
	*fleetmodel.Fleet
	t       *testing.T
	seed    uint64
	rnd     *rand.Rand
	saved   *redistwin.Redis // what a fail-over rolls back to
	steady  time.Time        // until when Redis' clock does not step again
	round   int
	meters  []*simMeter
	logged  map[*fleetmodel.Node][]logged // since its newest snapshot
	faults  bool
	phase   map[string]int // in which of two steps a node pushes, by name
	clients []*simClient
	index   map[aggregator.Key]*simClient
	calm    time.Time   // the last moment of which a fault may still be felt
	calls   hash.Hash64 // of all pushes to Redis and their answers
}

func (s *sim) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d, round %d, %d nodes of %d, quiet %t, faults %t: %s", s.seed, s.round, len(s.Nodes), s.MaxNodes, s.Quiet, s.faults,
		fmt.Sprintf(format, args...))
}

func newSim(t *testing.T, seed uint64) *sim {
	rnd := rand.New(rand.NewPCG(seed, 4))
	s := &sim{t: t, seed: seed, rnd: rnd, phase: make(map[string]int), index: make(map[aggregator.Key]*simClient), logged: make(map[*fleetmodel.Node][]logged), calls: fnv.New64a()}
	now := time.Unix(1_700_000_000+rnd.Int64N(1000), rnd.Int64N(1e9)).UTC()
	c := fleetmodel.Config{Quiet: rnd.IntN(3) > 0, Seed: seed, Fate: s.fate, Called: s.called, Answered: s.answered, Over: s.over}
	s.faults = rnd.IntN(3) > 0
	s.meters = []*simMeter{s.newMeter(0xfeed, false)}
	if rnd.IntN(4) == 0 {
		s.meters = append(s.meters, s.newMeter(0xbeef, true))
	}
	for _, m := range s.meters {
		c.Meters = append(c.Meters, aggregator.Meter{Fingerprint: m.id, Width: m.width, Limit: m.limit, With: m.with})
	}
	nodes := 1 + rnd.IntN(8)
	switch rnd.IntN(12) {
	case 0:
		nodes = 1 + rnd.IntN(200)
	case 1, 2:
		nodes = 1 + rnd.IntN(40)
	}
	c.MaxNodes = nodes + rnd.IntN(1+nodes)
	if rnd.IntN(5) == 0 { // more than expected
		c.MaxNodes = 1 + rnd.IntN(nodes)
	}
	s.Fleet = fleetmodel.New(c, now)
	s.saved = s.Redis.Clone()
	for range nodes {
		s.join()
	}
	for i := range 3 + rnd.IntN(6) {
		s.addClient(i)
	}
	return s
}

func (s *sim) newMeter(id uint64, with bool) *simMeter {
	return &simMeter{id: id, with: with, width: []uint32{1, 1, 1, 2, 5}[s.rnd.IntN(5)], limit: uint32(3 + s.rnd.IntN(200))}
}

// run is the whole life of a fleet.
func (s *sim) run() {
	if s.seed%4 == 0 {
		s.directed()
		return
	}
	width := int(s.meters[0].width)
	steps := int(s.meters[0].span(150)/simStep) / width
	if width > 1 {
		steps *= 2
	}
	if len(s.Nodes) > 20 {
		steps /= 2
	}
	for range steps {
		s.step()
	}
}

// step is what happens in a quarter of a second.
func (s *sim) step() {
	s.round++
	s.Now = s.Now.Add(simStep)
	if s.rnd.IntN(50) == 0 { // time flies, so that windows end
		s.Now = s.Now.Add(time.Duration(s.rnd.IntN(int(s.meters[0].width))+1) * time.Second)
		s.felt(0)
	}
	if s.Hold {
		s.felt(0) // no node can know yet what the answers say
	}
	s.Deliver()
	if s.faults {
		s.fault()
	}
	for _, c := range s.clients {
		s.traffic(c)
	}
	for _, n := range slices.Clone(s.Nodes) {
		s.LearnClock(n)
		if s.round%2 == s.phase[n.Name] {
			s.PushRound(n)
			s.checkPromise(n)
		}
		if s.rnd.IntN(400) == 0 {
			n.Totals.Sweep(s.Local(n))
		}
		s.LookAgain(n)
	}
	for _, n := range s.Nodes {
		s.ReadWatches(n, s.Now)
	}
	if s.round%8 == 0 { // heartbeats
		s.TellNodes()
	}
	if len(s.Nodes) > 4*s.MaxNodes { // nothing is promised
		s.felt(2 * simPush)
	}
	if s.round%8 == 0 {
		s.checkSums()
	}
	s.checkMissed()
	if err := s.Err(); err != nil {
		s.fatalf("%v", err)
	}
}

// called remembers a push, and what it was answered.
func (s *sim) called(_ *fleetmodel.Node, c *fleetmodel.Command, reply any, err error) {
	if c.Function != "edgeguard1_push" {
		return
	}
	fmt.Fprintf(s.calls, "%d %q %q %v %v\n", s.Now.UnixNano(), c.Keys, c.Args, reply, err)
	if err != nil {
		s.felt(simPush) // it was so late that it is refused: lost
	}
}

// answered checks what a node makes of an answer.
func (s *sim) answered(n *fleetmodel.Node, c *fleetmodel.Call, p *aggregator.Push, a aggregator.Answer, out aggregator.Outcome) {
	// What a reload replaced knows neither newer pushes nor newer unblocks, and
	// a step of the clock moves marks.
	steady := !s.Now.Add(-s.Ahead).Before(s.steady)
	if c.Totals == n.Totals && (out.Forged || out.Floor != 0 && steady) {
		s.fatalf("%s takes the answer %+v to %+v for forged: %+v", n.Name, a, *p, out)
	}
	if out.Forget != 0 && !steady { // a mark that moved with the clock: the others find it when they reconcile
		s.felt(simWhole)
	}
}

// over is a node's proof that a client is over its limit.
func (s *sim) over(_ *fleetmodel.Node, k aggregator.Key, counted uint32) {
	s.block(s.index[k], "fleet", counted)
}

// TestASeedGivesOneRun runs the same seeds twice.
func TestASeedGivesOneRun(t *testing.T) {
	for seed := uint64(1000); seed < 1006; seed++ {
		var calls [2]uint64
		for i := range calls {
			s := newSim(t, seed)
			s.run()
			calls[i] = s.calls.Sum64()
		}
		if calls[0] != calls[1] {
			t.Errorf("seed %d: the calls to Redis of two runs differ", seed)
		}
	}
}

// TestFleet runs fleets of random seeds, with TORTURE thousands. SEED is the
// first, and alone without RUNS, which is how many.
func TestFleet(t *testing.T) {
	runs, first := 40, rand.Uint64()
	switch {
	case os.Getenv("TORTURE") != "":
		runs = 5000
	case raceEnabled:
		runs = 4
	case testing.Short():
		runs = 10
	}
	if given := os.Getenv("SEED"); given != "" {
		runs, first = 1, number(t, given)
	}
	if given := os.Getenv("RUNS"); given != "" {
		runs = int(number(t, given))
	}
	for i := range runs {
		s := newSim(t, first+uint64(i))
		s.run()
		if (i+1)%1000 == 0 {
			t.Logf("%d runs from seed %d", i+1, first)
		}
	}
}

func number(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const simWindow = ring.Slots
