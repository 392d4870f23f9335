package aggregator_test

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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

// sim is one run.
type sim struct {
	t     *testing.T
	seed  uint64
	rnd   *rand.Rand
	redis *redistwin.Redis
	saved *redistwin.Redis // what a fail-over rolls back to
	// now is Redis' time, the epoch's; ahead is by how much it has stepped away
	// from the time that nodes count in.
	now      time.Time
	ahead    time.Duration
	steady   time.Time // until when Redis' clock does not step again
	round    int
	meters   []*simMeter
	quiet    bool
	maxNodes int
	faults   bool
	boots    int
	nodes    []*simNode
	clients  []*simClient
	index    map[aggregator.Key]*simClient
	stream   []aggregator.Key // the watch list, with the time of each entry
	when     []time.Time
	late     []delayed
	holding  bool             // answers wait until they are released
	calm     time.Time        // the last moment of which a fault may still be felt
	calls    hash.Hash64      // of all calls to Redis and their answers
	ids      map[[8]byte]bool // of all nodes that ever sent a heartbeat
}

// delayed is a call that reaches Redis later than it was made or, with answers,
// one whose answers reach the node later.
type delayed struct {
	at      time.Time
	node    *simNode
	call    simCall
	answers []aggregator.Answer
}

type simCall struct {
	fleet  *aggregator.Totals // that made the pushes
	pushes []aggregator.Push
	args   []string
	keys   []string
}

func (s *sim) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d, round %d, %d nodes of %d, quiet %t, faults %t: %s", s.seed, s.round, len(s.nodes), s.maxNodes, s.quiet, s.faults,
		fmt.Sprintf(format, args...))
}

func newSim(t *testing.T, seed uint64) *sim {
	rnd := rand.New(rand.NewPCG(seed, 4))
	s := &sim{
		t: t, seed: seed, rnd: rnd, redis: redistwin.New(),
		now:    time.Unix(1_700_000_000+rnd.Int64N(1000), rnd.Int64N(1e9)).UTC(),
		quiet:  rnd.IntN(3) > 0,
		faults: rnd.IntN(3) > 0,
		index:  make(map[aggregator.Key]*simClient),
		calls:  fnv.New64a(),
		ids:    make(map[[8]byte]bool),
	}
	s.meters = []*simMeter{s.newMeter(0xfeed, false)}
	if rnd.IntN(4) == 0 {
		s.meters = append(s.meters, s.newMeter(0xbeef, true))
	}
	nodes := 1 + rnd.IntN(8)
	switch rnd.IntN(12) {
	case 0:
		nodes = 1 + rnd.IntN(200)
	case 1, 2:
		nodes = 1 + rnd.IntN(40)
	}
	s.maxNodes = nodes + rnd.IntN(1+nodes)
	if rnd.IntN(5) == 0 { // more than expected
		s.maxNodes = 1 + rnd.IntN(nodes)
	}
	s.saved = s.redis.Clone()
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
	if len(s.nodes) > 20 {
		steps /= 2
	}
	for range steps {
		s.step()
	}
}

// step is what happens in a quarter of a second.
func (s *sim) step() {
	s.round++
	s.now = s.now.Add(simStep)
	if s.rnd.IntN(50) == 0 { // time flies, so that windows end
		s.now = s.now.Add(time.Duration(s.rnd.IntN(int(s.meters[0].width))+1) * time.Second)
		s.felt(0)
	}
	s.deliver()
	if s.faults {
		s.fault()
	}
	for _, c := range s.clients {
		s.traffic(c)
	}
	for _, n := range slices.Clone(s.nodes) {
		s.learnClock(n)
		if s.round%2 == n.phase {
			s.pushRound(n)
			s.checkPromise(n)
		}
		if s.rnd.IntN(400) == 0 {
			n.fleet.Sweep(s.local(n))
		}
		s.lookAgain(n)
	}
	s.readWatches()
	if s.round%8 == 0 { // heartbeats
		s.tellNodes()
	}
	if len(s.nodes) > 4*s.maxNodes { // nothing is promised
		s.felt(2 * simPush)
	}
	if s.round%8 == 0 {
		s.checkSums()
	}
	s.checkMissed()
}

// pushRound is what a node does at each interval.
func (s *sim) pushRound(n *simNode) {
	var all []aggregator.Push
	for pushes := range n.fleet.Collect(s.local(n), 2) {
		all = append(all, pushes...)
	}
	s.push(n, all, true)
	s.reconcile(n)
}

// reconcile lets a node reconcile what is due.
func (s *sim) reconcile(n *simNode) {
	var all []aggregator.Push
	for more := !n.cut; more; {
		var some []aggregator.Push
		some, more = n.fleet.Reconcile(s.local(n), 3)
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
			if p, ok := n.fleet.Watch(s.stream[n.read], s.local(n)); ok {
				s.push(n, []aggregator.Push{p}, true)
			}
		}
	}
}

// push sends pushes to Redis, through what faults there are: calls of one
// width, as the pusher makes them.
func (s *sim) push(n *simNode, pushes []aggregator.Push, mayFail bool) {
	// In the order of keys: a node's own is random, and a seed must give one run.
	slices.SortFunc(pushes, func(a, b aggregator.Push) int { return bytes.Compare(a.Key.Append(nil), b.Key.Append(nil)) })
	for len(pushes) > 0 && !n.cut {
		same := 1
		for same < min(len(pushes), 200) && pushes[same].Width == pushes[0].Width {
			same++
		}
		call := s.newCall(n, pushes[:same])
		pushes = pushes[same:]
		if !s.faults || !mayFail {
			s.apply(n, call, true)
			continue
		}
		at := s.now.Add(time.Duration(s.rnd.Int64N(int64(4900 * time.Millisecond))))
		switch s.rnd.IntN(50) {
		case 0: // lost
			s.felt(simPush)
		case 1: // the reply is lost
			s.apply(n, call, false)
			s.felt(simPush)
		case 2: // repeated
			s.apply(n, call, true)
			s.apply(n, call, true)
		case 3: // late, and so behind others
			s.late = append(s.late, delayed{at, n, call, nil})
			s.felt(at.Sub(s.now) + simPush)
		case 4: // the reply is late
			s.late = append(s.late, delayed{at, n, call, s.call(call)})
			s.felt(at.Sub(s.now) + simPush)
		default:
			s.apply(n, call, true)
		}
	}
}

func (s *sim) newCall(n *simNode, pushes []aggregator.Push) simCall {
	call := simCall{fleet: n.fleet, pushes: pushes, keys: []string{"clock"}}
	call.args = []string{string(aggregator.NewHeader(n.id, s.epoch(n), pushes[0].Width).Append(nil))}
	for i := range pushes {
		call.keys = append(call.keys, string(pushes[i].Key.Append(nil)))
		call.args = append(call.args, string(pushes[i].AppendBody(nil)))
	}
	return call
}

// deliver brings in what was late.
func (s *sim) deliver() {
	due := s.late
	s.late = nil
	for _, d := range due {
		switch {
		case d.at.After(s.now):
			s.late = append(s.late, d)
		case d.answers == nil:
			s.apply(d.node, d.call, slices.Contains(s.nodes, d.node))
		case slices.Contains(s.nodes, d.node):
			s.answered(d.node, d.call, d.answers)
		}
	}
}

// apply is one call as Redis sees it, and what the node does with the answer.
func (s *sim) apply(n *simNode, call simCall, answered bool) {
	answers := s.call(call)
	switch {
	case !answered:
	case s.holding:
		s.felt(0) // the node cannot know yet what the answer says
		s.late = append(s.late, delayed{s.now.Add(time.Hour), n, call, answers})
	default:
		s.answered(n, call, answers)
	}
}

// call is one call as Redis sees it; none is answered if Redis refuses it.
func (s *sim) call(call simCall) []aggregator.Answer {
	reply, err := s.redis.Call(s.now, "edgeguard1_push", call.keys, call.args)
	fmt.Fprintf(s.calls, "%d %q %q %v %v\n", s.now.UnixNano(), call.keys, call.args, reply, err)
	if err != nil && strings.HasPrefix(err.Error(), "EDGEGUARD clock ") {
		s.felt(simPush) // it was so late that it is refused: lost
		return []aggregator.Answer{}
	}
	if err != nil {
		s.fatalf("push: %v", err)
	}
	answers, err := aggregator.DecodeAnswers(reply.(string), len(call.pushes))
	if err != nil {
		s.fatalf("answers: %v", err)
	}
	return answers
}

// answered is what the node does with the answers to a call. They go to the
// Totals that made the pushes: a reload may have replaced it.
func (s *sim) answered(n *simNode, call simCall, answers []aggregator.Answer) {
	for i, a := range answers {
		p := &call.pushes[i]
		out := call.fleet.Answered(p, a, s.local(n))
		// What a reload replaced knows neither newer pushes nor newer unblocks, and
		// a step of the clock moves marks.
		steady := !s.now.Add(-s.ahead).Before(s.steady)
		if call.fleet == n.fleet && (out.Forged || out.Floor != 0 && steady) {
			s.fatalf("%s takes the answer %+v to %+v for forged: %+v", n.name, a, *p, out)
		}
		if out.Forget != 0 {
			s.forget(p.Key, out.Forget)
			out.Again = true
			if s.now.Add(-s.ahead).Before(s.steady) { // a mark that moved with the clock: the others find it when they reconcile
				s.felt(simWhole)
			}
		}
		if out.Over && !n.fleet.Forgotten(p.Key, p.Head()) { // as the pusher asks
			s.prove(n, call.fleet, p, a)
		}
		if out.Watch {
			s.stream, s.when = append(s.stream, p.Key), append(s.when, s.now)
		}
		if out.Again {
			if full, ok := call.fleet.FullPush(p.Key, s.local(n)); ok {
				s.push(n, []aggregator.Push{full}, true)
			}
		}
	}
}

func (s *sim) forget(k aggregator.Key, cleared uint32) {
	width := s.index[k].meter.width
	if _, err := s.redis.Call(s.now, "edgeguard1_forget", []string{string(k.Append(nil))}, []string{fmt.Sprint(cleared), fmt.Sprint(width)}); err != nil {
		s.fatalf("forget: %v", err)
	}
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

// memory is where a node counts.
func (s *sim) newTables() []*shard.Table {
	memory := shard.NewMemory(1 << 20)
	var tables []*shard.Table
	for _, m := range s.meters {
		tables = append(tables, shard.New(memory, shard.Config{Seed: s.seed, With: m.with}))
	}
	return tables
}

const simWindow = ring.Slots
