package fleet

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
)

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
		s.members = 5
		t.Run(s.String(), func(t *testing.T) {
			if !full {
				t.Parallel()
			}
			f := newFlooded(t, s, 0, nil)
			f.floods()
			f.honest()
			other := f.nodes[len(f.counting)]
			t.Logf("%s has counted none of them: it refuses %d, and holds %d", other.name, len(other.blocked()), other.quarantine.Stats().Held)
		})
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
				if i == 3 {
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
			f.sendOthers(3)
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

// TestProvenOfThePast: what brings the clients over the limit is what a node counted that
// ended over an hour ago. Nodes that knew it refuse them. One that has joined since holds
// the blocks, of clients that it has counted, until what it can prove is enough.
func TestProvenOfThePast(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	f := newFlooded(t, spread{keys: size(40, 5000), share: 80, quiet: true, window: 4 * time.Hour}, 1, nil)
	knew, ended, joined := f.counting[:3], f.counting[3], f.nodes[4]
	f.step(f.counting, firstStep)
	f.pushed(firstStep * uint32(len(f.counting)))
	for _, n := range knew {
		f.eventually(n.name+" to know the node that ends", func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return len(n.beats) == len(f.counting)
		})
	}
	ended.stop()
	f.forgetNode(ended)
	joined.start()
	f.eventually(joined.name+" to be joined", func() bool { return joined.link.Stats().Up })
	f.sendOthers(4)
	f.step(append(knew[:3:3], joined), secondStep)
	f.listed(knew)
	f.eventually(joined.name+" to have all blocks", func() bool { return joined.list.Len()+joined.quarantine.Stats().Held == f.keys })
	s := joined.quarantine.Stats()
	t.Logf("%s, which knows %d of %d requests, refuses %d and holds %d", joined.name, 3*firstStep+4*secondStep, f.sent[0].Load(), joined.list.Len(), s.Held)
	if s.ConfirmedByCounts != 0 || s.Held == 0 {
		t.Errorf("%s took counts of a node that it never knew for proof: %+v", joined.name, s)
	}
	f.step([]*node{joined}, int(f.limit())-3*firstStep-4*secondStep+1)
	f.eventually(joined.name+" to refuse all clients", func() bool { return f.refused(joined, 0, f.keys) == f.keys })
}

// TestProvenOnManyNodes: what it costs that all nodes of a large fleet prove the same
// clients.
func TestProvenOnManyNodes(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	f := newFlooded(t, spread{members: size(12, 50), keys: size(40, 1000), share: 95, quiet: true}, 0, nil)
	f.floods()
	f.honest()
}

// TestProvenBesideForgeries: somebody with a node's Redis user writes very many records of
// clients which each node has seen once. They are asked about, since they are counted; a
// flood's clients are refused as soon as ever.
func TestProvenBesideForgeries(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	forged := size(2000, 100_000)
	f := newFlooded(t, spread{keys: 100, share: 95, quiet: true, strangers: forged}, 0, nil)
	clients, forgeries := f.rng.Perm(forged), make([]netip.Prefix, forged)
	for i := range clients {
		clients[i] += f.Clients
		forgeries[i] = prefix(clients[i])
	}
	for _, n := range f.nodes {
		n.see(clients)
	}
	server, here := f.server.CPU(), processor(t)
	f.forge(forgeries, func(r *aggregator.Record) { r.Block.Rule = ruleName })
	held := func(n *node) int { return n.quarantine.Stats().Held }
	for _, n := range f.nodes {
		f.eventually(n.name+" to have read the forgeries", func() bool { return held(n)+n.list.Len() >= min(forged, 50_000) })
	}
	t.Logf("%d forgeries read: processor time of Redis %v, of all nodes %v", forged, f.server.CPU()-server, processor(t)-here)
	refused := make(map[*node]int)
	for _, n := range f.nodes {
		refused[n] = n.list.Len()
	}
	f.floods()
	for _, n := range f.nodes {
		asked := n.counts.Stats().WatchesReceived
		t.Logf("%s refuses %d forgeries, holds %d; %d keys were asked about", n.name, refused[n], held(n), asked)
	}
	f.honest()
}
