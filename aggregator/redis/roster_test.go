package redis

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/redistest"
)

// TestFarewell: a node that ends is not among the living in Redis, so that the
// others see it go before it has been silent for long. They know its name
// afterwards.
func TestFarewell(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	nodes := join(t, s.Addr, 2, nil)
	a, b := nodes[0], nodes[1]
	a.eventually(t, "both", func() bool { return a.link.Stats().Nodes == 2 })
	seen := func() int64 { return s.Client().ZCard(t.Context(), newNames("test", 4).seen).Val() }
	if n := seen(); n != 2 {
		t.Fatalf("%d nodes are alive in Redis", n)
	}
	b.stop()
	if n := seen(); n != 1 {
		t.Errorf("%d nodes are alive in Redis after one has ended", n)
	}
	a.eventually(t, "the other to be gone", func() bool { return a.link.Stats().Nodes == 1 })
	if name := a.link.beats.nodes.NodeName(b.link.pushes.pusher.id); name != "edge-b" {
		t.Errorf("the node that went is named %q", name)
	}
}

// TestForgedHeartbeat: a heartbeat written past the functions that is old, or
// not later than the node's last, makes nobody alive.
func TestForgedHeartbeat(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	nodes := join(t, s.Addr, 2, nil)
	a, b := nodes[0], nodes[1]
	a.eventually(t, "both", func() bool { return a.link.Stats().Nodes == 2 })
	names := newNames("test", 4)
	field := b.config.Node + "/" + b.link.beats.boot
	last := s.Client().HGet(context.Background(), names.nodes, field).Val()
	b.stop()
	a.eventually(t, "the other to be gone", func() bool { return a.link.Stats().Nodes == 1 })
	_, last, _ = strings.Cut(last, " ")
	beats := a.link.beats.seq.Load()
	write := func(field, text string) {
		t.Helper()
		value := strconv.FormatInt(time.Now().Unix(), 10) + " " + text
		if err := s.Client().HSet(context.Background(), names.nodes, field, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	old := aggregator.Heartbeat{Node: "edge-x", Boot: "0123456789abcdef", At: time.Now().Add(-fleet.Fresh)}
	a.eventually(t, "some heartbeats", func() bool {
		write(field, last) // what it sent last, as if it came now
		write(old.Field(), old.Encode())
		if n := a.link.Stats().Nodes; n != 1 {
			t.Fatalf("%d nodes are alive", n)
		}
		return a.link.beats.seq.Load() >= beats+4
	})
}

// herd is many nodes that send heartbeats as links do, by one connection whose
// bytes are counted.
type herd struct {
	t       testing.TB
	server  *redistest.Server
	client  *goredis.Client
	names   names
	in      atomic.Int64
	rosters []*fleet.Roster
	boots   []int
	at      time.Time // of the next heartbeat
	called  []time.Time
	longest time.Duration // between two heartbeats of a node, by the machine's clock
}

func newHerd(t testing.TB, nodes int) *herd {
	t.Helper()
	h := &herd{t: t, server: redistest.Start(t, redistest.Options{MaxMemory: "1gb"}), names: newNames("t", 16), at: time.Now()}
	if err := h.server.Client().FunctionLoadReplace(context.Background(), LibrarySource).Err(); err != nil {
		t.Fatal(err)
	}
	o := h.server.Options()
	o.PoolSize = 1
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return counted{conn, &h.in}, err
	}
	h.client = goredis.NewClient(o)
	t.Cleanup(func() { _ = h.client.Close() })
	for i := range nodes {
		h.boots = append(h.boots, i)
		h.rosters = append(h.rosters, nil)
		h.called = append(h.called, time.Now())
		h.join(i)
		h.call(i, -1)
	}
	s := h.call(0, 0)
	for i := range nodes { // all have read the whole list, one a second
		h.rosters[i].Apply(h.at.Add(-time.Duration(i)*time.Second), &s, unverified)
	}
	h.in.Store(0)
	return h
}

// join starts the present boot of a node.
func (h *herd) join(i int) {
	h.rosters[i] = fleet.NewRoster(fmt.Sprintf("edge-fra-%04d", i), "", func() float64 { return 0.5 })
}

// beat sends node i's heartbeat.
func (h *herd) beat(i int) {
	h.t.Helper()
	s := h.call(i, h.rosters[i].Since(h.at))
	h.rosters[i].Apply(h.at, &s, unverified)
}

// unverified takes a heartbeat for good, without the cost of a parser.
func unverified(field, value string) (b aggregator.Heartbeat, signed, ok bool) {
	name, boot, _ := strings.Cut(field, "/")
	return aggregator.Heartbeat{Node: name, Boot: boot, At: time.Now(), Run: "x"}, false, value != ""
}

// call sends node i's heartbeat and asks for news, or the whole list, or nothing.
func (h *herd) call(i int, since int64) fleet.State {
	h.t.Helper()
	h.longest, h.called[i] = max(h.longest, time.Since(h.called[i])), time.Now()
	mine := h.own(i)
	answer, err := h.client.FCall(context.Background(), function("beat"), h.names.memberKeys(),
		mine.Field(), mine.Encode()+strings.Repeat(" ", 52), "16", since, "0", mine.Run).Slice() // as long as with a MAC
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := fleet.ParseState(answer)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h *herd) own(i int) aggregator.Heartbeat {
	now := time.Now().UTC().Round(time.Millisecond)
	return aggregator.Heartbeat{
		Node: fmt.Sprintf("edge-fra-%04d", i), Boot: fmt.Sprintf("%016x", h.boots[i]*7919), Version: "1.0.0",
		Started: now, At: now, AheadMS: 1.234, PushLagMS: 431, Changes: 123456, Digest: "0123456789abcdef", Cutoff: now.Unix(),
		Run: fmt.Sprintf("%08x", h.boots[i]), Seq: 1234, Key: "01234567", Mode: "require",
	}
}

// run has all nodes send a heartbeat every two seconds, for so long by their
// clocks; each second one node ends and starts again, if restart is not nil.
func (h *herd) run(long time.Duration, restart func(i int)) (beats int) {
	step := heartbeatEvery / time.Duration(len(h.boots))
	for i, next, at := 0, 0, time.Duration(0); at < long; at += step {
		if restart != nil && at/time.Second != (at-step)/time.Second {
			restart(next)
			next = (next + 1) % len(h.boots)
		}
		h.at = h.at.Add(step)
		h.beat(i)
		i, beats = (i+1)%len(h.boots), beats+1
	}
	return beats
}

// restart ends a node with a farewell and starts it under a new boot, with a
// whole list.
func (h *herd) restart(i int) {
	mine := h.own(i)
	err := h.client.FCall(context.Background(), function("beat"), h.names.memberKeys(), mine.Field(), "", "16", "-1", "0", mine.Run).Err()
	if err != nil {
		h.t.Fatal(err)
	}
	h.boots[i] += 100_000
	h.join(i)
	h.beat(i)
}

// BenchmarkHeartbeats measures what one heartbeat costs Redis as links send them:
// with the whole lists that they read now and then and at each start.
func BenchmarkHeartbeats(b *testing.B) {
	for _, nodes := range []int{3, 300, 1000} {
		for name, restarting := range map[string]bool{"steady": false, "a restart a second": true} {
			if restarting && nodes == 3 {
				continue
			}
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, name), func(b *testing.B) {
				h := newHerd(b, nodes)
				var restart func(int)
				if restarting {
					restart = h.restart
				}
				beats, cpu := 0, h.server.CPU()
				for b.Loop() {
					beats += h.run(10_000*heartbeatEvery/time.Duration(nodes), restart)
				}
				b.ReportMetric(float64((h.server.CPU()-cpu).Microseconds())/float64(beats), "redis-µs/beat")
				b.ReportMetric(float64(h.in.Swap(0))/float64(beats), "B/beat")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestHeartbeatsCost holds what does not depend on the machine: the bytes of a
// heartbeat's answer, whole lists included, which does not depend on the number of nodes:
// who reads more reads less often. Redis drops who is silent for ten seconds: there are
// fewer nodes where the machine is slower than that.
func TestHeartbeatsCost(t *testing.T) {
	for nodes := 250; !heartbeatsCost(t, nodes); nodes /= 2 {
		if nodes < 100 {
			t.Fatalf("the machine is too slow for %d nodes", nodes)
		}
	}
}

// heartbeatsCost reports whether each node was heard often enough for the bytes
// to be judged.
func heartbeatsCost(t *testing.T, nodes int) bool {
	const span = 10 * time.Second
	h := newHerd(t, nodes)
	// By the heartbeats that are due: whole lists are read by the clock, and a
	// slow machine makes fewer heartbeats in that time.
	due := int64(nodes) * int64(span/heartbeatEvery)
	h.run(span, nil)
	steady := h.in.Swap(0) / due
	h.run(span, h.restart)
	restarting := h.in.Load() / due
	t.Logf("at %d nodes a heartbeat is answered by %d bytes, and by %d while one node a second restarts; the longest silence was %v", nodes, steady, restarting, h.longest)
	if h.longest > 5*time.Second {
		return false
	}
	if steady > 1024 || restarting > 3000 {
		t.Errorf("at %d nodes a heartbeat is answered by %d bytes, and by %d while one node a second restarts: more than 1,024 and 3,000", nodes, steady, restarting)
	}
	return true
}
