package fleet

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// Fault 25: the network is partitioned. On one side are the old master and a
// node that goes on writing to it; on the other the Sentinels, the replica that
// they promote, and two nodes. Each side adds up and enforces what it sees.
// When the partition ends, what the old master accepted is lost in Redis, and
// comes back: the fleet's totals are the sum of what all nodes counted, and its
// list has the newest record of both sides.
func TestPartedFailover(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	quietly(t, func(t *testing.T, quiet bool) {
		if quiet && !full {
			t.Skip("a fleet that tells of every key has more to lose: this one is tried at full length (TORTURE=1)")
		}
		s := redistest.StartSentinelWithWay(t)
		var networks []*network
		// The node with the old master has nobody to ask for a way to it again: a
		// busy machine must not cost it its connections.
		inTime := func(i int, c *redis.Config) {
			if i > 0 {
				c.Timeout = redis.DefaultTimeout
			}
		}
		f := newFleetAt(t, settings{Quiet: quiet, Way: inTime, Clients: size(300, 5000), Rate: size(300, 1500)}, s.Client(), func(_ int, c *redis.Config) *redistest.Proxy {
			networks = append(networks, newNetwork(t, s, c))
			return nil
		})
		f.start()
		f.feed()
		for _, n := range f.nodes { // so that it has the connections that it needs
			f.eventually(n.name+" to have pushed", func() bool { s := n.link.Stats(); return s.Rounds > 5 && s.Nodes == len(f.nodes) })
		}
		f.check("the start")
		old, others := f.nodes[0], f.nodes[1:]
		liftedThere, liftedHere := f.standing(1), f.standing(2)

		s.Way.Set(redistest.Fault{Swallow: true})
		for i, n := range networks {
			n.part(i == 0)
		}
		told := old.link.Stats().Keys
		s.Replaced(s.Master)
		for _, n := range others {
			f.eventually(n.name+" to be at the new master", func() bool { return n.link.Stats().Reconnects > 1 && n.link.IsJoined() })
		}
		there, here := manual(3, old), manual(4, others[0])
		f.block(old, there)
		f.block(others[0], here)
		f.lift(old, liftedThere)
		f.lift(others[0], liftedHere)
		time.Sleep(time.Duration(size(3, 60)) * time.Second)
		f.eachSideEnforces(s, there, here)
		if n := old.link.Stats().Keys; n == told {
			t.Fatalf("%s pushed nothing to the old master", old.name)
		}

		known := []map[netip.Prefix]edgeguard.Block{old.blocked(), others[0].blocked()}
		s.Way.Heal()
		for _, n := range networks {
			n.heal()
		}
		f.eventually("the old master to follow the new", func() bool { return isReplica(s.Master) })
		f.up()
		f.check("the fail-over")
		for _, b := range []edgeguard.Block{liftedThere, liftedHere} {
			for _, n := range f.nodes {
				f.eventually("the unblock to be on "+n.name, func() bool { return !n.refuses(b.Prefix.Addr()) })
			}
			for _, blocks := range known {
				delete(blocks, b.Prefix)
			}
		}
		f.holdsAll(known)
		f.rest()
		f.agree()
		f.mustHaveWorked()
	})
}

// eachSideEnforces checks that what was blocked on either side is in force on
// all of it, and not on the other, and that Redis stores it there.
func (f *fleet) eachSideEnforces(s *redistest.Sentinel, there, here edgeguard.Block) {
	f.t.Helper()
	for i, n := range f.nodes {
		if n.refuses(there.Prefix.Addr()) != (i == 0) || n.refuses(here.Prefix.Addr()) != (i > 0) {
			f.t.Errorf("%s does not go by what its side knows", n.name)
		}
	}
	for server, b := range map[*redistest.Server]edgeguard.Block{s.Master: there, s.Replica: here} {
		f.eventually(b.Prefix.String()+" to be in its side's list", func() bool {
			return server.Client().HExists(background, blocksKey("blocks"), b.Prefix.String()).Val()
		})
	}
}

// lift unblocks by hand on one node.
func (f *fleet) lift(n *node, b edgeguard.Block) {
	f.t.Helper()
	if _, ok := n.list.Lift(b.Prefix, n.now(), "by hand", n.name); !ok {
		f.t.Fatalf("%s cannot be lifted on %s", b.Prefix, n.name)
	}
}

// holdsAll checks that every node has each of the blocks, in no older version.
func (f *fleet) holdsAll(known []map[netip.Prefix]edgeguard.Block) {
	f.t.Helper()
	for _, n := range f.nodes {
		has := n.blocked()
		for _, blocks := range known {
			for p, b := range blocks {
				if got, ok := has[p]; !ok || got.Version < b.Version {
					f.t.Errorf("%s has lost %+v: %v, %+v", n.name, b, ok, got)
				}
			}
		}
	}
}

func isReplica(s *redistest.Server) bool {
	ctx, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	role, err := s.Client().Do(ctx, "ROLE").Slice()
	return err == nil && role[0] == "slave"
}
