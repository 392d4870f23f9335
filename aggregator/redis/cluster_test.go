package redis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// clusterFleet is two members on a Cluster of three masters and their replicas,
// and a client that reads what is stored.
type clusterFleet struct {
	t       *testing.T
	servers *redistest.Cluster
	config  Config
	names   names
	client  goredis.UniversalClient
	members []*member
}

func joinCluster(t *testing.T) *clusterFleet {
	t.Helper()
	f := &clusterFleet{t: t, servers: redistest.StartCluster(t, 3, 3)}
	onCluster := func(c *Config) {
		c.Addresses, c.User, c.Password, c.Partitions = f.servers.Addrs(), "", "", 16
		withFigures(c)
	}
	f.config = testConfig("", "edge-a")
	onCluster(&f.config)
	f.names = newNames(f.config.Namespace, f.config.Partitions)
	client, err := NewClient(f.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	f.client = client
	if done, err := Install(context.Background(), client); err != nil || len(done) != 3 {
		t.Fatalf("installed on %v: %v", done, err)
	}
	for _, s := range f.servers.Servers { // a replica that takes over has it from its master
		program.Eventually(t, "the library on "+s.Addr, func() bool {
			done, err := Install(context.Background(), s.Client())
			return err == nil && done[0].Was == "same"
		})
	}
	f.members = join(t, "", 2, onCluster)
	return f
}

const clusterKeys = 40

func clusterAddr(i int) string { return fmt.Sprintf("203.0.113.%d", i) }

// see counts n requests of each address, at one of the members.
func (f *clusterFleet) see(n int) {
	for i := range clusterKeys {
		f.members[i%2].see(clusterAddr(i), n)
	}
}

// exact waits until the total of each address is want.
func (f *clusterFleet) exact(what string, want int) {
	f.t.Helper()
	var last error
	defer func() {
		if f.t.Failed() {
			for _, m := range f.members {
				f.t.Logf("%s: %+v", m.name, m.link.Stats())
			}
			f.t.Logf("the reader: %v", last)
		}
	}()
	program.Eventually(f.t, what, func() bool {
		for i := range clusterKeys {
			var n int
			if n, last = f.total(clusterAddr(i)); n != want {
				return false
			}
		}
		return true
	})
}

// total is what all nodes together counted of an address.
func (f *clusterFleet) total(addr string) (n int, err error) {
	k := key(addr)
	name := f.names.counts[k.Partition(f.config.Partitions)] + string(k.Append(nil))
	answer, err := f.client.FCallRO(context.Background(), function("split"), []string{name}, time.Now().Unix()/testWidth).Slice()
	for i := 1; i < len(answer); i += 2 {
		one, _ := answer[i].(int64)
		n += int(one)
	}
	return n, err
}

// elsewhere returns a master that does not have the slot.
func (f *clusterFleet) elsewhere(slot int) *redistest.Server {
	f.t.Helper()
	from := f.servers.Owner(slot)
	for _, clock := range f.names.clocks {
		if to := f.servers.Owner(f.servers.Slot(clock)); to != nil && to != from {
			return to
		}
	}
	f.t.Fatal("one master has all partitions")
	return nil
}

// TestCluster: the partitions spread over the masters, and the nodes wait out a
// fail-over and a slot that moves.
func TestCluster(t *testing.T) {
	t.Parallel()
	f := joinCluster(t)
	f.see(3)
	f.exact("totals", 3)
	f.members[0].eventually(t, "the figures of the other", func() bool { return strings.HasSuffix(f.members[0].said(), " edge-b:b:false") })
	f.servers.Failover(f.servers.Owner(f.servers.Slot(f.names.clocks[0])))
	f.see(2)
	f.exact("totals after a fail-over", 5)
	slot := f.servers.Slot(f.names.clocks[1])
	f.servers.Migrate(slot, f.elsewhere(slot), func() { f.see(1) })
	f.exact("totals after a slot has moved", 6)
	for _, m := range f.members {
		m.see("198.51.100.1", 60)
	}
	for _, m := range f.members {
		m.eventually(t, "the block", func() bool { return m.blocked("198.51.100.1") != nil })
	}
	status, err := Status(context.Background(), f.client, f.config)
	if err != nil || len(status.Nodes) != 2 {
		t.Errorf("status: %+v, %v", status, err)
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	install(t, s.Current())
	m := join(t, "", 1, func(c *Config) {
		c.Addresses, c.Sentinel, c.User, c.Password = s.Addrs(), redistest.MasterName, "", ""
	})[0]
	m.see("203.0.113.1", 9)
	m.eventually(t, "the counts", func() bool { return held(t, s.Current(), "203.0.113.1") == 9 })
	s.Failover()
	m.see("203.0.113.1", 9)
	m.eventually(t, "the counts at the new master", func() bool { return held(t, s.Current(), "203.0.113.1") == 18 })
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	fleet[0].see("203.0.113.1", 200)
	fleet[1].eventually(t, "the block", func() bool { return fleet[1].blocked("203.0.113.1") != nil })
	c := testConfig(s.Addr, "asker")
	client, err := NewClient(c) // with a node's rights
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var f Fleet
	program.Eventually(t, "both nodes with one digest", func() bool {
		f, err = Status(context.Background(), client, c)
		return err == nil && len(f.Nodes) == 2 && f.Nodes[0].Changes == f.Changes && f.Nodes[1].Digest == f.Nodes[0].Digest
	})
	version, _ := redistest.Version(t)
	// Both nodes may have crossed before they heard of each other: one block by two changes.
	if f.Partitions != 4 || f.Blocks != 1 || f.Changes < 1 || f.Changes > 2 || f.Policy != "noeviction" || f.Redis != version {
		t.Errorf("%+v", f)
	}
	for i, n := range f.Nodes {
		if n.Node != fleet[i].name || !n.Alive || n.DuplicateName || n.Version != "test" || n.Age > fresh.Seconds() {
			t.Errorf("%+v", n)
		}
	}
	if f, err = Status(t.Context(), s.Client(), c); err != nil || len(f.Faults) != 0 {
		t.Errorf("%q, %v", f.Faults, err)
	}
	if err := s.Client().FunctionFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if f, err = Status(t.Context(), client, c); err != nil || len(f.Faults) != 0 {
		t.Errorf("with rights that do not list functions: %q, %v", f.Faults, err)
	}
	if f, err = Status(t.Context(), s.Client(), c); err != nil || len(f.Faults) != 1 || !strings.Contains(f.Faults[0], "edgeguard fleet install") {
		t.Errorf("without functions: %q, %v", f.Faults, err)
	}
	c.Password = "wrong"
	wrong, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	if _, err := Status(context.Background(), wrong, c); err == nil || !strings.Contains(err.Error(), "fleet.password_file") {
		t.Errorf("%v", err)
	}
}
