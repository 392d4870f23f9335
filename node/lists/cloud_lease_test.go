package lists

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
	"edgeguard/aggregator/redis"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/cloud/cloudtest"
	"edgeguard/internal/redistest"
)

// ownFleet is a Redis and the clock of its nodes.
type ownFleet struct {
	way  redis.LeaseWay
	mu   sync.Mutex // guards all below
	now  time.Time
	away error
}

func newFleet(t *testing.T) *ownFleet {
	s := redistest.Start(t, redistest.Options{})
	client := goredis.NewClient(s.Options())
	t.Cleanup(func() { _ = client.Close() })
	return &ownFleet{now: time.UnixMilli(1_800_000_000_000), way: redis.LeaseWay{Client: client, Key: "eg:{test/b}:lease:", Judge: fleet.NewAuthority(nil, false, "test"), Timeout: 20 * time.Second}}
}

func (f *ownFleet) at() (redis.LeaseWay, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	way := f.way
	way.Now = f.now
	return way, f.away
}

// passes lets time pass for the fleet.
func (f *ownFleet) passes(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *ownFleet) goes(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = err
}

// node is one of the fleet with these lists; nil is a node alone.
func (f *ownFleet) node(monitor bool) CloudDeps {
	return CloudDeps{
		Lead: func(ctx context.Context, l *redis.Lease, spare bool) (bool, error) {
			if f == nil {
				return true, nil
			}
			way, err := f.at()
			if err != nil {
				return false, err
			}
			return false, l.TakeOrRenew(ctx, way, spare)
		},
		Leave: func(ctx context.Context, l *redis.Lease) error {
			if f == nil {
				return nil
			}
			way, err := f.at()
			if err != nil {
				return err
			}
			return l.Release(ctx, way)
		},
		Monitor: func() bool { return monitor }, Log: slog.New(slog.DiscardHandler),
		Rank: func(netip.Prefix) (uint32, time.Time) { return 0, time.Time{} },
	}
}

// withCloudflare returns a config with the server's list.
func withCloudflare(t *testing.T, c *cloudtest.Cloudflare, node string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(cloudtest.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	out := &config.Config{Node: node}
	out.Enforce.Cloudflare = []config.Cloudflare{{
		Account: cloudtest.Account, ID: cloudtest.List, TokenFile: file,
		CloudList: config.CloudList{Most: 2, Every: time.Minute, Mark: "edgeguard", Endpoint: c.URL},
	}}
	return out
}

func kept(t *testing.T, c *config.Config, deps CloudDeps) *keptCloud {
	t.Helper()
	wanted := WantedClouds(c, deps)
	if len(wanted) != 1 {
		t.Fatalf("%+v", wanted)
	}
	list, err := wanted[0].Make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = list.Close() })
	return list.(*keptCloud)
}

func entries(prefixes ...string) (all []enforce.Entry) {
	for _, p := range prefixes {
		all = append(all, enforce.Entry{Prefix: netip.MustParsePrefix(p), Until: time.Now().Add(time.Hour)})
	}
	return all
}

func replace(t *testing.T, l *keptCloud, prefixes ...string) {
	t.Helper()
	if err := l.Replace(t.Context(), time.Now(), entries(prefixes...)); err != nil {
		t.Fatal(err)
	}
}

// Of a fleet one node keeps the list, and the next one takes over when it is gone.
func TestOneKeeps(t *testing.T) {
	c, f := cloudtest.NewCloudflare(t), newFleet(t)
	first := kept(t, withCloudflare(t, c, "edge-1"), f.node(false))
	second := kept(t, withCloudflare(t, c, "edge-2"), f.node(false))
	replace(t, first, "192.0.2.1/32", "192.0.2.2/32", "192.0.2.3/32")
	c.Calls()
	replace(t, second, "192.0.2.9/32")
	if calls := c.Calls(); len(calls) != 0 || len(c.Items()) != 2 {
		t.Errorf("the second node called %v; the list has %v", calls, c.Items())
	}
	if node, others := second.KeptBy(); node != "edge-1" || !others || second.Left() != 0 || second.Refuses()(netip.MustParsePrefix("192.0.2.9/32")) {
		t.Errorf("kept by %q, %t", node, others)
	}
	if _, others := first.KeptBy(); others || first.Left() != 1 || !first.Refuses()(netip.MustParsePrefix("192.0.2.1/32")) {
		t.Errorf("the first node does not keep it, or %d blocks are left out", first.Left())
	}
	f.passes(redis.LeaseLasts)
	replace(t, second, "192.0.2.9/32")
	if items := c.Items(); len(items) != 1 || items["192.0.2.9"] != "edgeguard" {
		t.Errorf("%v", items)
	}
}

// Without Redis the node with the lease goes on until its end; then no node can be
// chosen, which is an error, and the list stays.
func TestRedisAway(t *testing.T) {
	c, f := cloudtest.NewCloudflare(t), newFleet(t)
	first := kept(t, withCloudflare(t, c, "edge-1"), f.node(false))
	second := kept(t, withCloudflare(t, c, "edge-2"), f.node(false))
	replace(t, first, "192.0.2.1/32")
	replace(t, second)
	f.goes(errors.New("cut off"))
	replace(t, first, "192.0.2.2/32")
	if err := second.Replace(t.Context(), time.Now(), nil); err == nil || !strings.Contains(err.Error(), "no node of the fleet can be chosen") {
		t.Error(err)
	}
	if items := c.Items(); len(items) != 1 || items["192.0.2.2"] == "" {
		t.Errorf("%v", items)
	}
}

// A node that cannot write the list lets another try; where there is none, it says so.
func TestTired(t *testing.T) {
	c, f := cloudtest.NewCloudflare(t), newFleet(t)
	bad := withCloudflare(t, c, "edge-1")
	bad.Enforce.Cloudflare[0].TokenFile += ".absent"
	first, second := kept(t, bad, f.node(false)), kept(t, withCloudflare(t, c, "edge-2"), f.node(false))
	for range mostFailures {
		if err := first.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err == nil {
			t.Error("no error")
		}
	}
	if err := first.Replace(t.Context(), time.Now(), nil); err == nil || !strings.Contains(err.Error(), "no other node of the fleet keeps this list") {
		t.Error(err)
	}
	replace(t, second, "192.0.2.1/32")
	replace(t, first)
	if node, _ := first.KeptBy(); node != "edge-2" || len(c.Items()) != 1 {
		t.Errorf("kept by %q, %v", node, c.Items())
	}
}

// A node in mode monitor does not empty what another keeps.
func TestMonitor(t *testing.T) {
	c, f := cloudtest.NewCloudflare(t), newFleet(t)
	monitor := kept(t, withCloudflare(t, c, "edge-1"), f.node(true))
	replace(t, monitor)
	enforcing := kept(t, withCloudflare(t, c, "edge-2"), f.node(false))
	replace(t, enforcing, "192.0.2.1/32")
	f.passes(30 * time.Second)
	replace(t, monitor)
	if len(c.Items()) != 1 {
		t.Errorf("%v", c.Items())
	}
	f.passes(redis.LeaseLasts)
	replace(t, monitor) // it waits whether another wants the list
	f.passes(redis.LeaseLasts)
	replace(t, monitor)
	if len(c.Items()) != 0 {
		t.Errorf("a fleet in mode monitor keeps %v", c.Items())
	}
}

// Watch says when the list becomes this node's, and gives up the lease at its end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		err, left := error(nil), 0
		deps := (*ownFleet)(nil).node(false)
		deps.Lead = func(context.Context, *redis.Lease, bool) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			return err == nil, err
		}
		deps.Leave = func(ctx context.Context, _ *redis.Lease) error {
			left++
			return ctx.Err()
		}
		l := newKept("list", "list", nil, deps)
		ctx, cancel := context.WithCancel(t.Context())
		var changes, done = 0, make(chan struct{})
		go func() { l.Watch(ctx, func() { changes++ }); close(done) }()
		time.Sleep(3*redis.LeaseEvery + time.Second)
		mu.Lock()
		err = errors.New("cut off")
		mu.Unlock()
		time.Sleep(3 * redis.LeaseEvery)
		cancel()
		<-done
		if changes != 1 || left != 1 {
			t.Errorf("%d changes, %d leases given up", changes, left)
		}
	})
}

// A recorded list is emptied of what is ours, unless another node keeps it; a list that
// is gone needs nothing.
func TestEmpty(t *testing.T) {
	c, f := cloudtest.NewCloudflare(t), newFleet(t)
	conf := withCloudflare(t, c, "edge-1")
	alone := WantedClouds(conf, (*ownFleet)(nil).node(false))[0].Owned[0]
	conf.Fleet = &config.Fleet{}
	shared := WantedClouds(conf, f.node(false))[0].Owned[0]
	if !IsCloud(&shared) || IsShared(&alone) || !IsShared(&shared) || strings.Contains(shared.Settings, cloudtest.Token) {
		t.Errorf("%+v", shared)
	}
	l := kept(t, conf, f.node(false))
	replace(t, l, "192.0.2.1/32")
	c.Put("203.0.113.1", "another's")
	other := f.node(false)
	other.Node = "edge-2"
	if err := emptyCloudAlone(t.Context(), &shared, other); !errors.Is(err, enforce.ErrInUse) || len(c.Items()) != 2 {
		t.Errorf("%v, %v", err, c.Items())
	}
	if err := emptyCloudAlone(t.Context(), &shared, (*ownFleet)(nil).node(false)); !errors.Is(err, errShared) || len(c.Items()) != 2 {
		t.Errorf("of a fleet that was left: %v, %v", err, c.Items())
	}
	for range 2 {
		if err := emptyCloudAlone(t.Context(), &alone, (*ownFleet)(nil).node(false)); err != nil || len(c.Items()) != 1 {
			t.Errorf("%v, %v", err, c.Items())
		}
	}
	c.Gone()
	if err := emptyCloud(t.Context(), &shared); err != nil {
		t.Errorf("a list that is gone: %v", err)
	}
	shared.Settings = "{"
	if err := emptyCloud(t.Context(), &shared); err == nil {
		t.Error("no error of a damaged record")
	}
}

// A pair of IP sets is recorded as two, under one lease; what they look like is said.
func TestSets(t *testing.T) {
	const id4, id6 = "a1b2c3d4-5678-90ab-cdef-000000000004", "a1b2c3d4-5678-90ab-cdef-000000000006"
	a := cloudtest.NewAWS(t,
		cloudtest.Set{Name: "eg4", ID: id4, Scope: "REGIONAL", Version: "IPV4", Description: "edgeguard", Addresses: []string{"192.0.2.1/32"}},
		cloudtest.Set{Name: "eg6", ID: id6, Scope: "REGIONAL", Version: "IPV6", Addresses: []string{"2001:0db8:0000:0000:0000:0000:0000:0000/64"}})
	t.Setenv("AWS_ACCESS_KEY_ID", cloudtest.KeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", cloudtest.Secret)
	t.Setenv("AWS_SESSION_TOKEN", "")
	c := &config.Config{}
	c.Enforce.AWSWAF = []config.AWSWAF{{Region: cloudtest.Region, Scope: "REGIONAL", V4: config.AWSWAFSet{Name: "eg4", ID: id4}, V6: config.AWSWAFSet{Name: "eg6", ID: id6},
		CloudList: config.CloudList{Most: 10, Mark: "edgeguard", Endpoint: a.URL}}}
	w := WantedClouds(c, (*ownFleet)(nil).node(false))[0]
	if len(w.Owned) != 2 || w.Name != "awswaf eu-central-1 eg4 eg6" || w.Owned[0].File == w.Owned[1].File {
		t.Fatalf("%+v", w)
	}
	seen := LookAtClouds(t.Context(), c)
	if len(seen) != 1 || len(seen[0].Lines) != 1 || !strings.Contains(seen[0].Lines[0], "eg4 carries the mark and has 1 ") || seen[0].Err == nil {
		t.Errorf("%+v", seen)
	}
	if err := emptyCloud(t.Context(), &w.Owned[0]); err != nil || len(a.Set(id4).Addresses) != 0 {
		t.Errorf("%v, %+v", err, a.Set(id4))
	}
	if err := emptyCloud(t.Context(), &w.Owned[1]); !errors.Is(err, enforce.ErrNotOurs) || len(a.Set(id6).Addresses) != 1 {
		t.Errorf("%v, %+v", err, a.Set(id6))
	}
}
