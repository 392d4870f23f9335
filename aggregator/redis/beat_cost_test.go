package redis

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/redistest"
)

// counted counts what a connection receives.
type counted struct {
	net.Conn
	in *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

// choir is a fleet of nodes that send heartbeats to their own server.
type choir struct {
	t      testing.TB
	server *redistest.Server
	client *goredis.Client
	in     atomic.Int64
	names  names
	boots  []int   // of each node
	known  []int64 // the membership version that each node knows
}

func newChoir(t testing.TB, nodes int) *choir {
	t.Helper()
	c := &choir{t: t, server: redistest.Start(t, redistest.Options{MaxMemory: "1gb"}), names: newNames("t", 16), boots: make([]int, nodes), known: make([]int64, nodes)}
	if err := c.server.Client().FunctionLoadReplace(context.Background(), LibrarySource).Err(); err != nil {
		t.Fatal(err)
	}
	o := c.server.Options()
	o.PoolSize = 1
	o.Dialer = func(_ context.Context, network, _ string) (net.Conn, error) {
		conn, err := net.Dial(network, c.server.Addr)
		return counted{conn, &c.in}, err
	}
	c.client = goredis.NewClient(o)
	t.Cleanup(func() { _ = c.client.Close() })
	for i := range nodes {
		c.beat(i, -1)
	}
	for i := range nodes {
		c.known[i] = c.beat(i, -1)
	}
	return c
}

// field and text are as long as those of a node with two addresses and a MAC.
func (c *choir) field(i int) string { return fmt.Sprintf("edge-fra-%04d/%016x", i, c.boots[i]) }

func (c *choir) text(i int) string {
	return fmt.Sprintf(`{"node":"edge-fra-%04d","boot":"%016x","version":"1.0.0","started":"2026-01-02T03:04:05.678Z","at":"2026-01-02T03:04:05.678Z",`+
		`"ahead_ms":1.234,"within_ms":0.567,"measured":true,"push_lag_ms":431,"changes":123456,"digest":"0123456789abcdef","cutoff":1790000000,`+
		`"own":["203.0.113.17","2001:db8:17::1"],"key":"01234567","mode":"accept","held":0,"run":"%08x","seq":1234,"mac":"0123456789abcdef0123456789abcdef0123456789"}`,
		i, c.boots[i], i)
}

// beat sends a node's heartbeat and returns the version for the next.
func (c *choir) beat(i int, since int64) int64 {
	c.t.Helper()
	answer, err := c.client.FCall(context.Background(), function("beat"), c.names.memberKeys(),
		c.field(i), c.text(i), "16", strconv.FormatInt(since, 10), "0", fmt.Sprintf("%08x", i)).Slice()
	if err != nil {
		c.t.Fatal(err)
	}
	return answer[7].(int64)
}

// restart has a node say farewell and begin again, with a new boot or the one it
// had.
func (c *choir) restart(i int, keep bool) {
	c.t.Helper()
	if err := c.client.FCall(context.Background(), function("beat"), c.names.memberKeys(), c.field(i), "", "16", "-1", "0", "").Err(); err != nil {
		c.t.Fatal(err)
	}
	if !keep {
		c.boots[i]++
	}
	c.beat(i, -1)
}

// measure reports what each call of work costs Redis and how many bytes come
// back. What work does beside is part of it.
func (c *choir) measure(b *testing.B, name string, calls int, work func(k int)) {
	b.Helper()
	began, in := c.server.CPU(), c.in.Load()
	for k := range calls {
		work(k)
	}
	b.ReportMetric(float64((c.server.CPU()-began).Microseconds())/float64(calls), name+"-µs")
	b.ReportMetric(float64(c.in.Load()-in)/float64(calls), name+"-B")
}

// BenchmarkBeat measures what a heartbeat costs Redis: processor time, and bytes
// to the node. TIME alone shows what any command costs. In rolling and kept, a
// node of a large fleet restarts each second, with a new boot or the one it had.
func BenchmarkBeat(b *testing.B) {
	for _, nodes := range []int{3, 300, 1000} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			for b.Loop() {
				c := newChoir(b, nodes)
				rolling := func(keep bool) func(int) {
					return func(k int) {
						if i := k % nodes; k%(nodes/2) == 0 {
							c.restart((k/(nodes/2)*7)%nodes, keep)
						} else {
							c.known[i] = c.beat(i, c.known[i])
						}
					}
				}
				c.measure(b, "time", 10_000, func(int) { c.client.Time(context.Background()) })
				c.measure(b, "beat", 10_000, func(k int) { c.known[k%nodes] = c.beat(k%nodes, c.known[k%nodes]) })
				c.measure(b, "whole", 500, func(k int) { c.beat(k%nodes, 0) })
				if nodes >= 300 {
					c.measure(b, "rolling", 6*nodes, rolling(false))
					c.measure(b, "kept", 6*nodes, rolling(true))
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestBeatBytes holds what does not depend on the machine: a beat that finds
// nothing new is as short at 300 nodes as at 3, and one of a rolling restart has
// the nodes that restarted since.
func TestBeatBytes(t *testing.T) {
	t.Parallel()
	var bytes [2]int64
	for i, nodes := range []int{3, 300} {
		c := newChoir(t, nodes)
		c.known[0] = c.beat(0, c.known[0])
		before := c.in.Load()
		c.beat(0, c.known[0])
		bytes[i] = c.in.Load() - before
		c.restart(1, false)
		before = c.in.Load()
		c.beat(0, c.known[0])
		if news := c.in.Load() - before - bytes[i]; news < 500 || news > 900 {
			t.Errorf("a restart among %d nodes takes %d bytes of a beat", nodes, news)
		}
	}
	if bytes[0] > 200 || bytes[1] > bytes[0]+10 {
		t.Errorf("a beat is answered in %d bytes of 3 nodes, and in %d of 300", bytes[0], bytes[1])
	}
}
