package fleet

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// spread is a flood of clients of which no node sees as many requests as the limit:
// only the total finds them. As others' blocks they would be held, since together they
// are most of the requests; by its own counts and a proven total each node that has
// counts blocks them by itself.
type spread struct {
	keys   int
	share  int // of the flood in all requests, in percent
	quiet  bool
	goesOn bool // the clients send on, each to one node after the other
	window time.Duration
}

// The limit is crossed by the second step. The last node of a fleet has seen no client
// of the flood.
const (
	spreadNodes = 5
	spreadLimit = 40
	firstStep   = 9 // of each node that counts: 36 in all
	secondStep  = 2
)

func (s spread) String() string {
	return fmt.Sprintf("%d keys, %d %% of the requests, quiet %v, goes on %v", s.keys, s.share, s.quiet, s.goesOn)
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
	counting []*node
	sent     []atomic.Uint32 // by key
	crossed  []atomic.Int64  // by key: when the total crossed the limit, in unix ns
}

// newFlooded starts a fleet in which each node has its background. Not all nodes need
// be started: late ones are left out.
func newFlooded(t *testing.T, s spread, late int, way func(i int, c *redis.Config)) *flooded {
	t.Helper()
	if s.window == 0 {
		s.window = 5 * time.Minute
	}
	server := redistest.Start(t, redistest.Options{})
	f := &flooded{spread: s, sent: make([]atomic.Uint32, s.keys), crossed: make([]atomic.Int64, s.keys)}
	f.fleet = newFleet(t, settings{
		Nodes: spreadNodes, MaxNodes: spreadNodes, Quiet: s.quiet, Limit: spreadLimit, Window: s.window,
		Clients: s.keys + spreadNodes*s.background(), Way: way,
	}, server)
	f.counting = f.nodes[:spreadNodes-1]
	for i, n := range f.nodes[:spreadNodes-late] {
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
		if f.sent[k].Add(1) == spreadLimit+1 {
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

// listed waits until the nodes refuse every client, and logs how long after the
// crossing each did.
func (f *flooded) listed(nodes []*node) {
	f.t.Helper()
	for _, n := range nodes {
		f.eventually(n.name+" to refuse all clients of the flood", func() bool { return len(n.blocked()) >= f.keys })
		took := make([]time.Duration, f.keys)
		n.mu.Lock()
		for k := range took {
			at, ok := n.first[prefix(k)]
			if !ok {
				f.t.Errorf("%s does not refuse %s", n.name, prefix(k))
			}
			took[k] = max(0, at.Sub(time.Unix(0, f.crossed[k].Load())))
		}
		n.mu.Unlock()
		slices.Sort(took)
		f.t.Logf("%s: %s: p50 %v, p99 %v, most %v; held %+v", f.spread, n.name, quantile(took, 0.5).Round(time.Millisecond),
			quantile(took, 0.99).Round(time.Millisecond), took[f.keys-1].Round(time.Millisecond), n.quarantine.Stats())
		if wrong := len(n.blocked()) - f.keys; wrong != 0 {
			f.t.Errorf("%s refuses %d clients that are not of the flood", n.name, wrong)
		}
	}
}

// TestProven: every node that has counts of a flood's clients refuses them by these
// and what it can prove, however much of its traffic they are. Nobody confirms
// anything. At full length it logs the times of all cases, one after the other.
func TestProven(t *testing.T) {
	notUnderRace(t)
	cases := []spread{
		{keys: 1, share: 50},
		{keys: 100, share: 95, quiet: true},
		{keys: 100, share: 95, goesOn: true},
		{keys: 400, share: 30, quiet: true, goesOn: true},
	}
	if full {
		cases = nil
		for _, keys := range []int{1, 100, 5000} {
			for _, share := range []int{5, 20, 50, 80, 95} {
				for i := range 4 {
					cases = append(cases, spread{keys: keys, share: share, quiet: i&1 > 0, goesOn: i&2 > 0})
				}
			}
		}
	}
	for _, s := range cases {
		t.Run(s.String(), func(t *testing.T) {
			if !full {
				t.Parallel()
			}
			f := newFlooded(t, s, 0, nil)
			f.step(f.counting, firstStep)
			f.pushed(firstStep * uint32(len(f.counting)))
			f.step(f.counting, secondStep)
			stop := f.sendOn()
			defer stop()
			f.listed(f.counting)
			f.honest()
			other := f.nodes[len(f.counting)]
			t.Logf("%s has counted none of them: it refuses %d, and holds %d", other.name, len(other.blocked()), other.quarantine.Stats().Held)
		})
	}
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

// TestProvenJoined: what brings the clients over the limit is counted by a node that
// has just joined, of which the others have no heartbeat yet, or of which they get
// none that counts for a while.
func TestProvenJoined(t *testing.T) {
	notUnderRace(t)
	for name, late := range map[string]bool{"just joined": false, "late heartbeats": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var old atomic.Bool
			old.Store(late)
			f := newFlooded(t, spread{keys: size(100, 5000), share: 80, quiet: true}, 2, func(i int, c *redis.Config) {
				if i == spreadNodes-2 {
					c.Addresses = []string{newTap(t, c.Addresses[0], func(command [][]byte) {
						if old.Load() && calls(command, redis.LibraryName+"_beat") {
							ages(command)
						}
					}).addr}
				}
			})
			before, joined := f.counting[:len(f.counting)-1], f.counting[len(f.counting)-1]
			f.step(before, firstStep)
			f.pushed(firstStep * uint32(len(before)))
			joined.start()
			f.eventually(joined.name+" to be joined", func() bool { return joined.link.Stats().Up })
			f.sendOthers(spreadNodes - 2)
			f.step([]*node{joined}, firstStep)
			f.step(f.counting, secondStep)
			if late {
				f.pushed(uint32(firstStep*len(f.counting) + secondStep*len(f.counting)))
				if n := len(before[0].blocked()); n == f.keys {
					t.Error("all are blocked by counts of a node that nobody knows")
				}
				begun := time.Now()
				for k := range f.crossed {
					f.crossed[k].Store(begun.UnixNano())
				}
				old.Store(false)
			}
			f.listed(f.counting)
			f.honest()
		})
	}
}

// ages makes a heartbeat one of an earlier year, which counts nowhere.
func ages(command [][]byte) {
	for i := range command {
		command[i] = bytes.Replace(command[i], []byte(`"at":"20`), []byte(`"at":"19`), 1)
	}
}
