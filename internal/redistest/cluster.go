package redistest

import (
	"context"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/program"
)

// slots is how many hash slots a Redis Cluster has.
const slots = 16384

// Cluster is a real Redis Cluster on loopback.
type Cluster struct {
	// Servers are the first masters and then the replicas, as they were
	// started: a fail-over changes roles, not this order.
	Servers []*Server

	t   testing.TB
	ids map[string]*Server // by the node id that the cluster knows the server by
}

// StartCluster runs a cluster until the test ends: the slots are spread evenly
// over the masters, replica i belongs to master i modulo masters. A dead
// master is replaced within a few seconds. It returns when every node agrees.
func StartCluster(t testing.TB, masters, replicas int) *Cluster {
	t.Helper()
	c := &Cluster{t: t, ids: map[string]*Server{}}
	buses := make([]int, masters+replicas)
	for i := range buses {
		buses[i] = program.Port(t)
		s := Start(t, Options{AOF: true, Args: []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(buses[i]),
			"--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0",
			"--cluster-allow-replica-migration", "no",
		}})
		c.Servers = append(c.Servers, s)
		c.ids[c.id(s)] = s
	}
	for i, s := range c.Servers[1:] {
		c.do(c.Servers[0], "CLUSTER", "MEET", "127.0.0.1", s.Port(), buses[i+1])
	}
	for i, s := range c.Servers[:masters] {
		c.do(s, "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
	}
	program.Eventually(t, "the cluster's nodes to know each other", func() bool { return c.all("cluster_known_nodes:", strconv.Itoa(len(buses))) })
	for i, s := range c.Servers[masters:] {
		c.do(s, "CLUSTER", "REPLICATE", c.id(c.Servers[i%masters]))
	}
	for _, s := range c.Servers[masters:] {
		program.Eventually(t, "a replica to be in step", func() bool { return inStep(s) })
	}
	program.Eventually(t, "the cluster to be ok", func() bool { return c.all("cluster_state:", "ok") })
	return c
}

// Addrs are the addresses of all servers.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		addrs[i] = s.Addr
	}
	return addrs
}

// Client is a client for the whole cluster that is closed when the test ends.
func (c *Cluster) Client() *goredis.ClusterClient {
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: c.Addrs()})
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Slot is the hash slot of a key.
func (c *Cluster) Slot(key string) int {
	c.t.Helper()
	n, err := c.live().Client().ClusterKeySlot(context.Background(), key).Result()
	if err != nil {
		c.t.Fatalf("redistest: slot of a key: %v", err)
	}
	return int(n)
}

// Owner is the running server that has a slot, nil while there is none. CLUSTER
// SHARDS is not enough: with two masters in a shard, one of them dead, Redis 7.4
// returns the slots of the dead one.
func (c *Cluster) Owner(slot int) *Server {
	for _, s := range c.Servers {
		if s.PID() == 0 {
			continue
		}
		//lint:ignore SA1019 see above
		ranges, err := s.Client().ClusterSlots(context.Background()).Result()
		if err != nil {
			continue
		}
		for _, r := range ranges {
			if slot < r.Start || slot > r.End || len(r.Nodes) == 0 {
				continue
			}
			if owner := c.ids[r.Nodes[0].ID]; owner != nil && owner.PID() != 0 { // the master is named first
				return owner
			}
		}
	}
	return nil
}

// ReplicaOf is a running replica of a server, nil where there is none.
func (c *Cluster) ReplicaOf(master *Server) *Server {
	c.t.Helper()
	for _, s := range c.Servers {
		if s.PID() == 0 || s == master {
			continue
		}
		if info := replication(s); field(info, "role:") == "slave" && field(info, "master_port:") == strconv.Itoa(master.Port()) {
			return s
		}
	}
	return nil
}

// Failover kills a master and returns the replica that the cluster put in its
// place. What the master had not sent to the replica is lost, as in the field.
func (c *Cluster) Failover(master *Server) *Server {
	c.t.Helper()
	replica := c.ReplicaOf(master)
	if replica == nil {
		c.t.Fatalf("redistest: %s has no replica to fail over to", master.Addr)
	}
	program.Eventually(c.t, "the replica to be in step", func() bool { return inStep(replica) })
	master.Kill()
	program.Eventually(c.t, "the replica to become master", func() bool { return field(replication(replica), "role:") == "master" })
	program.Eventually(c.t, "the cluster to be ok", func() bool { return c.all("cluster_state:", "ok") })
	return replica
}

// Migrate moves a slot to a server while clients go on: it opens the
// migration, moves the keys, calls between (if it is not nil) half way through
// them, and hands the slot over.
func (c *Cluster) Migrate(slot int, to *Server, between func()) {
	c.t.Helper()
	from := c.Owner(slot)
	c.do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", c.id(from))
	c.do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", c.id(to))
	count, _ := c.do(from, "CLUSTER", "COUNTKEYSINSLOT", slot).(int64)
	c.move(slot, from, to, int(count)/2)
	if between != nil {
		between()
	}
	for c.move(slot, from, to, 100) > 0 {
	}
	for _, s := range []*Server{to, from} {
		c.do(s, "CLUSTER", "SETSLOT", slot, "NODE", c.id(to))
	}
	program.Eventually(c.t, "every node to know the slot's owner", func() bool { return c.Owner(slot) == to && c.all("cluster_state:", "ok") })
}

// move moves at most n keys of a slot and returns how many it moved.
func (c *Cluster) move(slot int, from, to *Server, n int) int {
	c.t.Helper()
	if n == 0 {
		return 0
	}
	keys, _ := c.do(from, "CLUSTER", "GETKEYSINSLOT", slot, n).([]any)
	if len(keys) == 0 {
		return 0
	}
	c.do(from, append([]any{"MIGRATE", "127.0.0.1", to.Port(), "", 0, 5000, "REPLACE", "KEYS"}, keys...)...)
	return len(keys)
}

// all reports whether every running server says value for name.
func (c *Cluster) all(name, value string) bool {
	for _, s := range c.Servers {
		if s.PID() == 0 {
			continue
		}
		info, err := s.Client().ClusterInfo(context.Background()).Result()
		if err != nil || field(info, name) != value {
			return false
		}
	}
	return true
}

func (c *Cluster) live() *Server {
	for _, s := range c.Servers {
		if s.PID() != 0 {
			return s
		}
	}
	c.t.Fatal("redistest: no server of the cluster runs")
	return nil
}

func (c *Cluster) id(s *Server) string {
	c.t.Helper()
	id, _ := c.do(s, "CLUSTER", "MYID").(string)
	return id
}

func (c *Cluster) do(s *Server, args ...any) any {
	c.t.Helper()
	answer, err := s.Client().Do(context.Background(), args...).Result()
	if err != nil {
		c.t.Fatalf("redistest: %s: %v: %v", s.Addr, args, err)
	}
	return answer
}

// replication is the server's own word on its role, "" while it cannot say.
func replication(s *Server) string {
	info, _ := s.Client().Info(context.Background(), "replication").Result()
	return info
}

func inStep(s *Server) bool {
	return strings.HasPrefix(field(replication(s), "master_link_status:"), "up")
}
