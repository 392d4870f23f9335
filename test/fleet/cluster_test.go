package fleet

import (
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// A real Cluster of three masters and their replicas, under load: a slot with
// counts moves to another master, and a master is killed.
func TestCluster(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	c := redistest.StartCluster(t, 3, 3)
	f := newFleetAt(t, settings{Quiet: false, Nodes: 2}, c.Client(), func(_ int, config *redis.Config) *redistest.Proxy {
		config.Addresses, config.Cluster = c.Addrs(), true
		return nil
	})
	masters := map[*redistest.Server]bool{}
	for p := range partitions {
		masters[c.Owner(c.Slot(clockKey(p)))] = true
	}
	if len(masters) < 2 {
		t.Fatal("all partitions are on one master: nothing is tested")
	}
	f.start()
	f.feed()
	f.check("the start")
	for i := range size(1, 10) {
		slot := c.Slot(clockKey(i % partitions))
		c.Migrate(slot, another(c, masters, slot), func() { f.pause(time.Second) })
		t.Logf("exact %v after a slot moved", f.check("a slot has moved").Round(time.Millisecond))
	}
	slot := c.Slot(blocksKey("blocks"))
	c.Migrate(slot, another(c, masters, slot), func() { f.pause(time.Second) })
	t.Logf("exact %v after the blocks' slot moved", f.check("the blocks' slot has moved").Round(time.Millisecond))
	// First a master goes that has counts only, and then the one with the list.
	b := f.standing(1)
	for what, victim := range []*redistest.Server{another(c, masters, slot), c.Owner(slot)} {
		begun := time.Now()
		c.Failover(victim)
		stood := time.Now()
		f.check("a fail-over")
		f.up()
		f.everywhere(b)
		f.everywhere(f.standing(byte(2 + what)))
		t.Logf("the replica stood after %v, all was exact %v later", stood.Sub(begun).Round(time.Millisecond), time.Since(stood).Round(time.Millisecond))
	}
	f.rest()
	f.agree()
	f.mustHaveWorked()
}

// another returns a master that does not have a slot.
func another(c *redistest.Cluster, masters map[*redistest.Server]bool, slot int) *redistest.Server {
	owner := c.Owner(slot)
	for _, s := range c.Servers {
		if s != owner && masters[s] {
			return s
		}
	}
	return nil
}
