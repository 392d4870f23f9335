package fleet

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

const (
	namespace  = "test"
	partitions = 8
	ruleName   = "site"
)

// protected is of no client, and refused by every node.
var protected = netip.MustParsePrefix("192.0.2.0/28")

// point is a named fail point, where a test can trigger a fault. The proxy
// triggers those "after the write and before the reply".
type point string

const (
	beforePush  point = "before a push"
	beforeBlock point = "before a block of the fleet's count"
	beforeApply point = "before a record is applied"
	afterApply  point = "after a record is applied"
)

// settings are the differences between fleets under test. The comment of each
// field says what its zero value means.
type settings struct {
	Nodes    int           // 3
	MaxNodes int           // one more than Nodes
	Quiet    bool          // tell of every key
	Limit    uint32        // 60, at full length 600
	Window   time.Duration // a minute: a slot is a second
	Clients  int           // 1,000, at full length 50,000
	Rate     int           // events a second and node; 800, at full length 6,500
	// Strangers are keys behind those of the clients that feed never draws.
	Strangers int
	// Even draws all clients alike.
	Even bool
	// Timeout is each exchange's with Redis: 5 s, since a busy machine is no
	// fault. Tests of a Redis that hangs take the default.
	Timeout time.Duration
	// Key gives all nodes a fleet key, in accept: what operators change is not
	// paced, and a confirmation is one for all nodes.
	Key bool
	// Bare leaves the library to the test.
	Bare bool
	// Ahead is how wrong node i's clock is when it starts. Nil: right.
	Ahead func(i int) time.Duration
	// Way has the last word on how node i reaches Redis.
	Way func(i int, c *redis.Config)
}

func (s *settings) setDefaults() {
	orElse(&s.Nodes, 3)
	orElse(&s.MaxNodes, s.Nodes+1)
	orElse(&s.Limit, uint32(size(60, 600)))
	orElse(&s.Window, time.Minute)
	orElse(&s.Timeout, 5*time.Second)
	orElse(&s.Clients, size(1000, 50_000))
	orElse(&s.Rate, size(800, 6500))
}

func orElse[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// fleet is nodes that share a Redis.
type fleet struct {
	settings
	t     testing.TB
	rng   *rand.Rand // of the test's goroutine
	boots *atomic.Uint64
	meter uint64
	nodes []*node
	redis goredis.UniversalClient // of the test itself, which no fault reaches
	audit audit
	lua   string // the prefix of the functions by which the test reads

	points sync.Map // point → func()
	feeds  []func()
	rested time.Time // when the last feed ended
}

// newFleet returns a fleet on one Redis with a proxy for each node, and starts
// nothing. The library is installed.
func newFleet(t testing.TB, s settings, server *redistest.Server) *fleet {
	t.Helper()
	f := newFleetAt(t, s, server.Client(), func(i int, c *redis.Config) *redistest.Proxy {
		proxy := redistest.NewProxy(t, server.Addr)
		c.Addresses = []string{proxy.Addr}
		return proxy
	})
	return f
}

// newFleetAt returns a fleet whose nodes reach Redis as at says.
func newFleetAt(t testing.TB, s settings, client goredis.UniversalClient, at func(i int, c *redis.Config) *redistest.Proxy) *fleet {
	t.Helper()
	s.setDefaults()
	f := &fleet{settings: s, t: t, rng: newRand(t), redis: client, boots: new(atomic.Uint64), lua: redis.LibraryName}
	f.boots.Store(f.rng.Uint64() >> 8)
	if !s.Bare {
		f.install()
	}
	for i := range s.Nodes {
		var c redis.Config
		proxy := at(i, &c)
		n := newNode(f, i, c)
		n.proxy = proxy
		f.nodes = append(f.nodes, n)
	}
	f.audit.begin(f)
	t.Cleanup(f.end)
	return f
}

// width is the slot in seconds.
func (f *fleet) width() uint32 { return uint32(f.Window / window / time.Second) }

// install loads the function library, as an operator would.
func (f *fleet) install() {
	f.t.Helper()
	if _, err := redis.Install(context.Background(), f.redis); err != nil {
		f.t.Fatal(err)
	}
}

// start makes every node join and returns when all have joined.
func (f *fleet) start() {
	f.t.Helper()
	for _, n := range f.nodes {
		n.start()
	}
	f.up()
}

// up waits until every node is joined.
func (f *fleet) up() {
	f.t.Helper()
	for _, n := range f.nodes {
		f.eventually(n.name+" to be joined", func() bool { return n.link.Stats().Up && n.link.Stats().Reconnects > 0 })
	}
}

// end stops everything. If the test has failed, it prints the state of every
// node.
func (f *fleet) end() {
	f.rest()
	for _, n := range f.nodes {
		if f.t.Failed() {
			s := n.link.Stats()
			f.t.Logf("%s: up %v, trouble %q, last error %q, errors %v, %d rounds, %d keys, %d reconnects, %d syncs; %+v; alarms %.300q",
				n.name, s.Up, s.Fault.Kind, s.LastError, s.Errors, s.Rounds, s.Keys, s.Reconnects, s.Syncs, n.counts.Stats(), n.alarms)
		}
		if n.stop != nil {
			n.stop()
		}
		n.detector.Close(nil)
	}
}

// eventually waits for a condition; nothing is measured by it.
func (f *fleet) eventually(what string, holds func() bool) {
	f.t.Helper()
	program.Eventually(f.t, what, holds)
}

// strike calls what once, in a separate goroutine, when a fail point is next
// passed. disarm cancels that, and waits if it is too late.
func (f *fleet) strike(at point, what func()) (struck <-chan struct{}, disarm func()) {
	done := make(chan struct{})
	var once sync.Once
	f.points.Store(at, func() {
		once.Do(func() {
			go func() { defer close(done); what() }()
		})
	})
	return done, func() {
		once.Do(func() { close(done) })
		<-done
	}
}

func (f *fleet) pass(at point) {
	if what, ok := f.points.Load(at); ok {
		what.(func())()
	}
}
