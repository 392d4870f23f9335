package fleet

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// spread is a flood of clients of which no node sees as many requests as the limit:
// only the total finds them. As others' blocks they would be held, since together they
// are most of the requests; by its own counts and a proven total each node that has
// counts blocks them by itself.
type spread struct {
	members int // 5
	keys    int
	share   int // of the flood in all requests, in percent
	quiet   bool
	goesOn  bool // the clients send on, each to one node after the other
	window  time.Duration
	// strangers are other clients behind those, of which the test makes use.
	strangers int
}

// A flood is of steps: so many requests of each client to each node that counts. The last
// node of a fleet has seen no client of the flood.
const (
	firstStep  = 9
	secondStep = 2
)

// limit is crossed by the second step: of five nodes it is 40, and they count 36 and 44.
func (s spread) limit() uint32 { return uint32(firstStep*(s.members-1) + 4) }

func (s spread) String() string {
	return fmt.Sprintf("%d nodes, %d keys, %d %% of the requests, quiet %v, goes on %v", s.members, s.keys, s.share, s.quiet, s.goesOn)
}

// others is how many requests each other client sends: less than brings the total near
// the limit, which would have the fleet watch it.
const others = 15

// background is how many other clients each node has.
func (s spread) background() int {
	return s.keys * (firstStep + secondStep) * (100 - s.share) / s.share / others
}

// flooded is a fleet in such a flood.
type flooded struct {
	*fleet
	spread
	server   *redistest.Server
	counting []*node
	sent     []atomic.Uint32 // by key
	crossed  []atomic.Int64  // by key: when the total crossed the limit, in unix ns
}

// newFlooded starts a fleet in which each node has its background. Not all nodes need
// be started: late ones are left out.
func newFlooded(t *testing.T, s spread, late int, way func(i int, c *redis.Config)) *flooded {
	t.Helper()
	orElse(&s.members, 5)
	orElse(&s.window, 5*time.Minute)
	server := redistest.Start(t, redistest.Options{})
	f := &flooded{spread: s, sent: make([]atomic.Uint32, s.keys), crossed: make([]atomic.Int64, s.keys)}
	f.fleet = newFleet(t, settings{
		Nodes: s.members, MaxNodes: s.members, Quiet: s.quiet, Limit: s.limit(), Window: s.window,
		Clients: s.keys + s.members*s.background(), Strangers: s.strangers, Way: way,
	}, server)
	f.server = server
	f.counting = f.nodes[:s.members-1]
	for i, n := range f.nodes[:s.members-late] {
		n.start()
		f.eventually(n.name+" to be joined", func() bool { return n.link.Stats().Up })
		f.sendOthers(i)
	}
	return f
}

// sendOthers has a node see its other clients.
func (f *flooded) sendOthers(i int) {
	for k := range f.background() {
		f.nodes[i].see(slices.Repeat([]int{f.keys + i*f.background() + k}, others))
	}
}

// send has a node see one request of each of the keys.
func (f *flooded) send(n *node, keys []int) {
	n.see(keys)
	for _, k := range keys {
		if f.sent[k].Add(1) == f.limit()+1 {
			f.crossed[k].Store(time.Now().UnixNano())
		}
	}
}

// step has nodes see some requests of each client, all nodes at a time.
func (f *flooded) step(nodes []*node, each int) {
	var running sync.WaitGroup
	for _, n := range nodes {
		keys := f.rng.Perm(f.keys)
		running.Go(func() {
			for range each {
				for some := range slices.Chunk(keys, 50) {
					f.send(n, some)
				}
			}
		})
	}
	running.Wait()
}

// pushed waits until Redis has so many requests of each client.
func (f *flooded) pushed(want uint32) {
	f.t.Helper()
	keys := make([]int, f.keys)
	for k := range keys {
		keys[k] = k
	}
	f.eventually(fmt.Sprintf("%d requests of each client to be in Redis", want), func() bool {
		all, err := f.stored(keys, f.slot(time.Now()))
		if err != nil {
			f.t.Fatal(err)
		}
		keys = slices.DeleteFunc(keys, func(k int) bool { one := all[k]; return one.sum() >= want })
		return len(keys) == 0
	})
}

// sendOn has the clients that are not refused send on until the returned function is
// called: about one request a second each.
func (f *flooded) sendOn() (stop func()) {
	if !f.goesOn {
		return func() {}
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	for i, n := range f.counting {
		running.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for at := i * f.keys / len(f.counting); ; {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				for range f.keys/(10*len(f.counting)) + 1 {
					if at = (at + 1) % f.keys; !n.refuses(address(at)) {
						f.send(n, []int{at})
					}
				}
			}
		})
	}
	return func() { close(done); running.Wait() }
}

// noticed reports whether the node was told of a client's block, which is a moment after the
// block is in force.
func (n *node) noticed(client int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.first[prefix(client)].IsZero()
}

// listed waits until the nodes refuse every client, and logs how long after the
// crossing each did.
func (f *flooded) listed(nodes []*node) {
	f.t.Helper()
	for _, n := range nodes {
		next := 0
		f.eventually(n.name+" to refuse all clients of the flood", func() bool {
			for next < f.keys && n.refuses(address(next)) && n.noticed(next) {
				next++
			}
			return next == f.keys
		})
		took := make([]time.Duration, f.keys)
		n.mu.Lock()
		for k := range took {
			took[k] = max(0, n.first[prefix(k)].Sub(time.Unix(0, f.crossed[k].Load())))
		}
		n.mu.Unlock()
		slices.Sort(took)
		f.t.Logf("%s: %s: p50 %v, p99 %v, most %v; held %+v", f.spread, n.name, quantile(took, 0.5).Round(time.Millisecond),
			quantile(took, 0.99).Round(time.Millisecond), took[f.keys-1].Round(time.Millisecond), n.quarantine.Stats())
		if wrong := f.refused(n, f.keys, f.Clients); wrong != 0 {
			f.t.Errorf("%s refuses %d clients that are not of the flood", n.name, wrong)
		}
	}
}

// refused returns how many of some clients a node refuses.
func (f *flooded) refused(n *node, first, end int) (count int) {
	for k := first; k < end; k++ {
		if n.refuses(address(k)) {
			count++
		}
	}
	return count
}

// floods has the clients of the flood cross the limit together, and waits until all nodes
// that count them refuse them. It logs what that took.
func (f *flooded) floods() {
	f.t.Helper()
	f.step(f.counting, firstStep)
	f.pushed(firstStep * uint32(len(f.counting)))
	server, here := f.server.CPU(), processor(f.t)
	f.step(f.counting, secondStep)
	stop := f.sendOn()
	defer stop()
	f.listed(f.counting)
	f.t.Logf("%s: processor time of Redis %v, of all nodes %v", f.spread, f.server.CPU()-server, (processor(f.t) - here).Round(time.Millisecond))
}

// processor returns the processor time of this process.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// honest checks that no node takes the flood for a forgery.
func (f *flooded) honest() {
	f.t.Helper()
	for _, n := range f.nodes {
		for _, about := range []string{"counts", "marks", "strangers"} {
			if text := n.alarm("forged", about); text != "" {
				f.t.Errorf("%s: %s", n.name, text)
			}
		}
	}
}

// forgetNode has Redis forget a node that ended, as it does after an hour.
func (f *flooded) forgetNode(n *node) {
	f.t.Helper()
	tag, field := "eg:{"+namespace+"/b}:", (&aggregator.Heartbeat{Node: n.name, Boot: n.boot}).Field()
	pipe := f.redis.Pipeline()
	pipe.HDel(background, tag+"nodes", field)
	pipe.ZRem(background, tag+"seen", field)
	pipe.ZRem(background, tag+"moved", field)
	if _, err := pipe.Exec(background); err != nil {
		f.t.Fatal(err)
	}
}

// ages makes a heartbeat one of an earlier year, which counts nowhere.
func ages(command [][]byte) {
	for i := range command {
		command[i] = bytes.Replace(command[i], []byte(`"at":"20`), []byte(`"at":"19`), 1)
	}
}
