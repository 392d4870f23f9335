package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
	"edgeguard/internal/redistest"
)

const (
	leaseKey = "eg:{test/b}:lease:"
	name     = "cloudflare list"
)

var begin = time.UnixMilli(1_800_000_000_000)

// leaseCrew is some nodes of a fleet, whose clock is the test's.
type leaseCrew struct {
	t      *testing.T
	server *redistest.Server
	fleet  LeaseWay
	nodes  []*Lease
}

// newLeaseCrew starts a Redis where nodes have the rights of ACL alone.
func newLeaseCrew(t *testing.T, nodes int, judge *fleet.Authority) *leaseCrew {
	line := strings.NewReplacer("ACL SETUSER", "user", "PASSWORD", "secret").Replace(ACLLine("edge", "test"))
	c := &leaseCrew{t: t, server: redistest.Start(t, redistest.Options{Users: []string{line}})}
	o := c.server.Options()
	o.Username, o.Password, o.Protocol, o.DisableIdentity = "edge", "secret", 2, true
	o.Dialer = boundedDialer(o)
	client := goredis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	c.fleet = LeaseWay{Client: client, Key: leaseKey, Judge: judge, Now: begin, Timeout: 20 * time.Second}
	for i := range nodes {
		c.nodes = append(c.nodes, NewLease(name, fmt.Sprintf("edge-%d", i)))
	}
	return c
}

func open() *fleet.Authority { return fleet.NewAuthority(nil, false, "test") }

// step has a node make a step so long after the begin, and fails unless the node with
// the lease is this one; -1 for none.
func (c *leaseCrew) step(after time.Duration, node, holder int, spare ...bool) {
	c.t.Helper()
	c.fleet.Now = begin.Add(after)
	if err := c.nodes[node].TakeOrRenew(c.t.Context(), c.fleet, len(spare) > 0); err != nil {
		c.t.Fatal(err)
	}
	c.holds(holder)
}

func (c *leaseCrew) holds(holder int) {
	c.t.Helper()
	for i, n := range c.nodes {
		if until, held := n.Until(time.Now()); held != (i == holder) || held && time.Until(until) > LeaseLasts-leaseMargin {
			c.t.Errorf("node %d holds the lease: %t, until %v from now; it is node %d's", i, held, time.Until(until), holder)
		}
	}
}

func TestLeaseHasOneHolder(t *testing.T) {
	c := newLeaseCrew(t, 3, open())
	c.step(0, 0, 0)
	c.step(time.Second, 1, 0)
	if got := c.nodes[1].Holder(); got != "edge-0" {
		t.Errorf("the holder is %q", got)
	}
	c.step(20*time.Second, 0, 0) // it lasts until 80 s
	c.step(61*time.Second, 1, 0)
	c.step(79*time.Second, 2, 0)
	c.fleet.Now = begin.Add(80 * time.Second)
	if err := c.nodes[2].TakeOrRenew(t.Context(), c.fleet, false); err != nil {
		t.Fatal(err)
	}
	c.step(81*time.Second, 0, 2) // it was away, and learns it
	if err := c.nodes[2].Release(t.Context(), c.fleet); err != nil {
		t.Fatal(err)
	}
	c.holds(-1)
	c.step(82*time.Second, 1, 1)
	if n, err := c.server.Client().HLen(t.Context(), leaseKey+name).Result(); err != nil || n != 1 {
		t.Errorf("%d terms are left, %v", n, err)
	}
	if ttl := c.server.Client().TTL(t.Context(), leaseKey+name).Val(); ttl <= 0 || ttl > leaseKept {
		t.Errorf("Redis keeps it for %v", ttl)
	}
	c.server.Client().FlushAll(t.Context())
	c.step(83*time.Second, 1, 1)
	c.step(84*time.Second, 2, 1)
}

// A node that can do nothing with the lease lets another have it.
func TestLeaseRests(t *testing.T) {
	c := newLeaseCrew(t, 2, open())
	c.step(0, 0, 0)
	c.nodes[0].AbstainUntil(time.Now().Add(time.Hour))
	c.step(time.Second, 0, -1)
	c.step(2*time.Second, 0, -1)
	c.step(3*time.Second, 1, 1)
	c.nodes[0].AbstainUntil(time.Time{})
	c.step(4*time.Second, 0, 1)
}

// A node in mode monitor takes a lease that nobody wants for a term, and gives it to the
// first that does.
func TestLeaseSpare(t *testing.T) {
	c := newLeaseCrew(t, 2, open())
	c.step(0, 0, -1, true)
	c.step(59*time.Second, 0, -1, true)
	c.step(60*time.Second, 0, 0, true)
	c.step(70*time.Second, 0, 0, true)
	c.fleet.Now = begin.Add(71 * time.Second)
	if err := c.nodes[1].TakeOrRenew(t.Context(), c.fleet, false); err != nil {
		t.Fatal(err)
	}
	c.step(72*time.Second, 0, 1, true)
	c.step(131*time.Second, 0, 1, true) // it has just ended, and node 1 may come back
	if got := c.nodes[0].Holder(); got != "" {
		t.Errorf("the holder is %q", got)
	}
}

// However many ask at the same time, one gets it.
func TestLeaseTakenTogether(t *testing.T) {
	c := newLeaseCrew(t, 12, open())
	for round := range 5 {
		c.fleet.Now = begin.Add(time.Duration(round) * 2 * LeaseLasts)
		var all sync.WaitGroup
		for _, n := range c.nodes {
			all.Go(func() {
				if err := n.TakeOrRenew(t.Context(), c.fleet, false); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, n := range c.nodes {
			if err := n.TakeOrRenew(t.Context(), c.fleet, false); err != nil {
				t.Error(err)
			}
		}
		holders := 0
		for _, n := range c.nodes {
			if _, held := n.Until(time.Now()); held {
				holders++
			}
		}
		if holders != 1 {
			t.Fatalf("round %d: %d holders", round, holders)
		}
	}
}

// Nodes that step, are away, give up and come back in any order never hold one lease at
// one time of the fleet's clock.
func TestLeaseRandom(t *testing.T) {
	c := newLeaseCrew(t, 4, open())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 1))
	ends := make([]time.Time, len(c.nodes)) // when each holder's term ends by the fleet's clock
	for range 400 {
		c.fleet.Now = c.fleet.Now.Add(time.Duration(dice.IntN(30)) * time.Second)
		i := dice.IntN(len(c.nodes))
		if dice.IntN(10) == 0 {
			if err := c.nodes[i].Release(t.Context(), c.fleet); err != nil {
				t.Fatal(err)
			}
		} else if err := c.nodes[i].TakeOrRenew(t.Context(), c.fleet, false); err != nil {
			t.Fatal(err)
		}
		ends[i] = time.Time{}
		if _, held := c.nodes[i].Until(time.Now()); held {
			ends[i] = c.fleet.Now.Add(LeaseLasts)
		}
		holders := 0
		for _, end := range ends {
			if end.After(c.fleet.Now) {
				holders++
			}
		}
		if holders > 1 {
			t.Fatalf("%d holders at %v", holders, c.fleet.Now.Sub(begin))
		}
	}
}

// What no node writes is removed, and is in nobody's way.
func TestLeaseHostile(t *testing.T) {
	far := begin.Add(24 * time.Hour).UnixMilli()
	forged := fmt.Sprintf(`{"node":"x","run":"y","until":%d}`, begin.Add(LeaseLasts).UnixMilli())
	fields := map[string]map[string]string{
		"words":          {"term": "none", "-1": "x", "01": "{}", "1": "[]", "18446744073709551616": ""},
		"for a day":      {"7": fmt.Sprintf(`{"node":"x","until":%d}`, far)},
		"the last term":  {fmt.Sprint(uint64(mostTerm)): `{"node":"x","until":1}`},
		"over the last":  {fmt.Sprint(uint64(mostTerm) + 1): forged},
		"a long one":     {"3": `{"node":"` + strings.Repeat("x", mostValue) + `"}`},
		"a forged one":   {"3": forged},
		"another term's": {"9": ""},
	}
	for what, terms := range fields {
		t.Run(what, func(t *testing.T) {
			judge := judge(t, "a", true)
			c := newLeaseCrew(t, 1, judge)
			for field, value := range terms {
				if value == "" && field == "9" {
					value = judge.SignLease(c.nodes[0].signed(8), forged)
				}
				c.server.Client().HSet(t.Context(), leaseKey+name, field, value)
			}
			c.fleet.Now = begin
			for range 2 {
				if err := c.nodes[0].TakeOrRenew(t.Context(), c.fleet, false); err != nil {
					t.Error(err)
				}
			}
			c.holds(0)
		})
	}
	t.Run("another type", func(t *testing.T) {
		c := newLeaseCrew(t, 1, open())
		c.server.Client().LPush(t.Context(), leaseKey+name, "x")
		_ = c.nodes[0].TakeOrRenew(t.Context(), c.fleet, false)
		c.step(0, 0, 0)
	})
	t.Run("many", func(t *testing.T) {
		c := newLeaseCrew(t, 1, open())
		for i := range 100 {
			c.server.Client().HSet(t.Context(), leaseKey+name, fmt.Sprint(i), strings.Repeat("x", 1<<16))
		}
		_ = c.nodes[0].TakeOrRenew(t.Context(), c.fleet, false)
		c.step(0, 0, 0)
	})
}

// Without a key, what another client writes counts for as long as a term, and no longer.
func TestLeaseUnsigned(t *testing.T) {
	c := newLeaseCrew(t, 1, open())
	value, err := json.Marshal(term{Node: "ghost", Run: "x", Until: begin.Add(LeaseLasts).UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	c.server.Client().HSet(t.Context(), leaseKey+name, "41", value)
	c.step(0, 0, -1)
	if got := c.nodes[0].Holder(); got != "ghost" {
		t.Errorf("the holder is %q", got)
	}
	c.step(LeaseLasts, 0, 0)
}

// Without Redis the lease lasts to its end, and a node that lost it can take none.
func TestLeaseRedisAway(t *testing.T) {
	c := newLeaseCrew(t, 2, open())
	c.step(0, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range c.nodes {
		if err := n.TakeOrRenew(ctx, c.fleet, false); err == nil {
			t.Error("no error")
		}
	}
	c.holds(0)
	if _, held := c.nodes[0].Until(time.Now().Add(LeaseLasts - leaseMargin)); held {
		t.Error("it is held longer than it lasts")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("1", `{"node":"a","run":"b","until":1800000000000}`)
	f.Add("1099511627776", "{}")
	l, x := NewLease(name, "edge"), LeaseWay{Judge: open(), Now: begin}
	f.Fuzz(func(t *testing.T, field, value string) {
		if got, ok := l.open(&x, field, value); ok && (got.number == 0 || got.number > mostTerm || got.Until > begin.Add(LeaseLasts+leaseMargin).UnixMilli() || fmt.Sprint(got.number) != field) {
			t.Errorf("%+v of %q", got, field)
		}
	})
}
