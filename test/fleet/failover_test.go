package fleet

import (
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// Fault 25: the Sentinels promote the replica while the old master still runs
// and is written to. The connection to the replica was cut before, so what it
// lacks is lost with the old master.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	quietly(t, func(t *testing.T, quiet bool) {
		notUnderRace(t)
		s := redistest.StartSentinel(t)
		f := newFleetAt(t, settings{Quiet: quiet, Nodes: 2, Timeout: redis.DefaultTimeout}, s.Client(), func(_ int, c *redis.Config) *redistest.Proxy {
			c.Addresses, c.Sentinel = s.Addrs(), redistest.MasterName
			return nil
		})
		f.start()
		f.feed()
		f.pause(time.Second)
		for range size(1, 10) {
			old := s.Current()
			// The replica misses the last second, and the blocks made in it.
			other := s.Replica
			if old == other {
				other = s.Master
			}
			other.Stop()
			f.pause(700 * time.Millisecond)
			missed := f.standing(byte(f.rng.IntN(200)))
			old.Stop() // nobody can give the replica the rest
			other.Cont()
			now := s.Replaced(old)
			// The old master is back and writable until it is told otherwise.
			old.Cont()
			old.Client().Do(background, "REPLICAOF", "NO", "ONE")
			f.pause(500 * time.Millisecond)
			begun := time.Now()
			f.up()
			f.check("the fail-over")
			f.everywhere(missed)
			t.Logf("exact %v after the new master stood (%s)", time.Since(begun).Round(time.Millisecond), now.Addr)
			f.eventually("the old master to follow the new", func() bool { return isReplica(old) })
		}
		f.rest()
		f.agree()
		f.mustHaveWorked()
	})
}

// Fault 25: Redis is emptied, and the nodes notice it only by its answers.
func TestFlushAll(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	quietly(t, func(t *testing.T, quiet bool) {
		if quiet {
			notUnderRace(t)
		}
		server := redistest.Start(t, redistest.Options{})
		f := newFleet(t, settings{Quiet: quiet, Clients: 400}, server)
		f.start()
		f.feed()
		b := f.standing(1)
		f.pause(2 * time.Second)
		for range size(2, 50) {
			f.pause(1500 * time.Millisecond)
			server.Client().FlushAll(background)
			f.t.Logf("exact %v after FLUSHALL", f.check("FLUSHALL").Round(time.Millisecond))
		}
		f.rest()
		f.agree()
		f.everywhere(b)
		if _, _, records, err := f.list(); err != nil || records[b.Prefix.String()] == "" {
			t.Errorf("the fleet's list has lost %s (%v)", b.Prefix, err)
		}
		f.mustHaveWorked()
	})
}

// Fault 25: one of three nodes is cut off, its connections half-open. Both
// sides go on with what they know, and are one fleet afterwards.
func TestPartition(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	quietly(t, func(t *testing.T, quiet bool) {
		if quiet {
			notUnderRace(t)
		}
		server := redistest.Start(t, redistest.Options{})
		f := newFleet(t, settings{Quiet: quiet, Timeout: 3 * redis.DefaultTimeout, Clients: size(0, 5000), Rate: size(0, 1500)}, server)
		f.start()
		f.feed()
		f.check("the start")
		before := f.standing(1)
		alone := f.nodes[2]
		alone.proxy.Set(redistest.Fault{Swallow: true})
		f.eventually("the node to notice", func() bool { return !alone.link.Stats().Up })
		// A block on either side; and an unblock, which the other side does not
		// hear of.
		here, there := manual(2, f.nodes[0]), manual(3, alone)
		f.block(f.nodes[0], here)
		f.block(alone, there)
		if _, ok := f.nodes[0].list.Lift(before.Prefix, time.Now(), "by hand", f.nodes[0].name); !ok {
			t.Fatal("the block cannot be lifted")
		}
		time.Sleep(time.Duration(size(4, 600)) * time.Second)
		if !alone.refuses(before.Prefix.Addr()) || !alone.refuses(there.Prefix.Addr()) || f.nodes[1].refuses(there.Prefix.Addr()) {
			t.Error("a node does not go by what it knows")
		}
		f.eventually("the block to be on its own side", func() bool { return f.nodes[1].refuses(here.Prefix.Addr()) })
		alone.proxy.Heal()
		begun := time.Now()
		f.up()
		f.check("the partition")
		f.everywhere(here)
		f.everywhere(there)
		f.eventually("the unblock to be everywhere", func() bool { return !alone.refuses(before.Prefix.Addr()) })
		t.Logf("one fleet again after %v", time.Since(begun).Round(time.Millisecond))
		f.rest()
		f.agree()
	})
}
