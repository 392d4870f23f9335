package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

// costWidth is the slot of a window of five minutes, in seconds.
const costWidth = 5

// crowd is some nodes that all push the same suspects to their own server.
type crowd struct {
	server *redistest.Server
	keys   []string
	nodes  [][8]byte
	slot   uint32 // the newest
	last   uint16 // what the slot before it came to
}

func newCrowd(t testing.TB, nodes, keys int) *crowd {
	t.Helper()
	c := &crowd{server: redistest.Start(t, redistest.Options{MaxMemory: "1gb"}), slot: 400_000_000, last: 33}
	client := c.server.Client()
	if err := client.FunctionLoadReplace(context.Background(), LibrarySource).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(context.Background(), clockKey, "claimed", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		c.nodes = append(c.nodes, aggregator.NodeID(fmt.Sprint("edge-", i), "0123456789abcdef"))
	}
	for i := range keys {
		key := []byte("eg:{t/0}:k:meter678\x20")
		c.keys = append(c.keys, string(binary.BigEndian.AppendUint32(key, uint32(0x0a000000+i*7919))))
	}
	return c
}

// round pushes the newest slots at every node, in batches of 200, and returns
// how many keys it pushed. All slots but the newest hold c.last.
func (c *crowd) round(t testing.TB, slots int, newest uint16) (pushed int) {
	t.Helper()
	p := aggregator.Push{First: c.slot - uint32(slots) + 1}
	for range slots - 1 {
		p.Counts = append(p.Counts, c.last)
	}
	p.Counts = append(p.Counts, newest)
	body := string(p.AppendBody(nil))
	for _, node := range c.nodes {
		h := aggregator.NewHeader(node, time.Unix(int64(c.slot)*costWidth, 0), costWidth)
		pipe := c.server.Client().Pipeline()
		for at := 0; at < len(c.keys); at += 200 {
			some := c.keys[at:min(at+200, len(c.keys))]
			args := []any{string(h.Append(nil))}
			for range some {
				args = append(args, body)
			}
			pipe.FCall(context.Background(), LibraryName+"_push", append([]string{clockKey}, some...), args...)
			pushed += len(some)
		}
		if _, err := pipe.Exec(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return pushed
}

// slotful is a slot's ten rounds at a push interval of 500 ms: the first moves
// the heads and brings the last state of the slot before.
func (c *crowd) slotful(t testing.TB) (pushed int) {
	c.slot++
	pushed = c.round(t, 2, 3)
	for i := range 9 {
		pushed += c.round(t, 1, uint16(6+3*i))
	}
	return pushed
}

// plainly is the least that updates of as many keys can cost without a
// function: the fleet's ring and the node's are read, written and expired by
// commands in pipelines of as many keys. Nothing is merged, and two nodes at
// the same time would lose counts.
func (c *crowd) plainly(t testing.TB) (pushed int) {
	t.Helper()
	ctx, fleet, node := context.Background(), strings.Repeat("f", 9+68+3), strings.Repeat("n", 5+68+3)
	for range 10 {
		for _, id := range c.nodes {
			for at := 0; at < len(c.keys); at += 200 {
				pipe := c.server.Client().Pipeline()
				for _, key := range c.keys[at:min(at+200, len(c.keys))] {
					key = "plain" + key
					pipe.HMGet(ctx, key, "f", string(id[:]))
					pipe.HSet(ctx, key, "f", fleet, id[:], node)
					pipe.Expire(ctx, key, 350*time.Second)
					pushed++
				}
				if _, err := pipe.Exec(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return pushed
}

// spent is what some updates cost.
type spent struct {
	updates      int
	server, wall time.Duration
}

func (s *spent) on(c *crowd, work func() int) {
	began, cpu := time.Now(), c.server.CPU()
	s.updates += work()
	s.wall += time.Since(began)
	s.server += c.server.CPU() - cpu
}

// each is the server's time on its processor for one update, in µs.
func (s *spent) each() float64 { return float64(s.server.Microseconds()) / float64(s.updates) }

// BenchmarkPush measures what one update of a key costs Redis: processor time
// of the whole server, alternating with plain commands, and memory.
func BenchmarkPush(b *testing.B) {
	for _, nodes := range []int{1, 4, 16} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			c := newCrowd(b, nodes, max(4000/nodes, 1000))
			before := c.server.Memory()
			c.round(b, 60, 33)
			grown := c.server.Memory() - before
			c.plainly(b)
			var push, plain spent
			for b.Loop() {
				push.on(c, func() int { return c.slotful(b) })
				plain.on(c, func() int { return c.plainly(b) })
			}
			b.ReportMetric(push.each(), "redis-µs/key")
			b.ReportMetric(plain.each(), "plain-µs/key")
			b.ReportMetric(push.each()/plain.each(), "ratio")
			b.ReportMetric(float64(push.updates)/push.wall.Seconds(), "keys/s")
			b.ReportMetric(float64(plain.updates)/plain.wall.Seconds(), "plain-keys/s")
			b.ReportMetric(float64(grown)/float64(len(c.keys)), "bytes/key")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPushFull measures what a full ring costs, as after a reconnect or a
// restart of Redis: of keys that Redis does not have, of keys that only the
// other nodes have pushed, of what it has already, and with counts of two
// bytes.
func BenchmarkPushFull(b *testing.B) {
	for _, v := range []struct {
		name     string
		nodes    int
		count    uint16
		repeated bool
	}{
		{"fresh", 1, 33, false},
		{"shared", 4, 33, false},
		{"repeated", 1, 33, true},
		{"wide", 4, 900, false},
		{"wide-repeated", 1, 900, true},
	} {
		b.Run(v.name, func(b *testing.B) {
			c := newCrowd(b, v.nodes, 4000/v.nodes)
			c.last = v.count
			var push spent
			for b.Loop() {
				if err := c.server.Client().Del(context.Background(), c.keys...).Err(); err != nil {
					b.Fatal(err)
				}
				if v.repeated {
					c.round(b, 60, v.count)
				}
				push.on(c, func() int { return c.round(b, 60, v.count) })
			}
			b.ReportMetric(push.each(), "redis-µs/key")
			b.ReportMetric(float64(push.updates)/push.wall.Seconds(), "keys/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkReconcile measures what a reconcile of a known key costs Redis.
func BenchmarkReconcile(b *testing.B) {
	for _, nodes := range []int{1, 16} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			c := newCrowd(b, nodes, max(4000/nodes, 1000))
			c.round(b, 60, 33)
			var reconcile, full spent
			for b.Loop() {
				reconcile.on(c, func() (pushed int) {
					for range 5 {
						pushed += c.round(b, 1, 0)
					}
					return pushed
				})
				full.on(c, func() int { return c.round(b, 60, 33) })
			}
			b.ReportMetric(reconcile.each(), "redis-µs/key")
			b.ReportMetric(full.each(), "full-µs/key")
			b.ReportMetric(float64(reconcile.updates)/reconcile.wall.Seconds(), "keys/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// slidingLog is what is compared with: the exact sliding-window log that most
// limiters run in Redis, one script for each request.
const slidingLog = `
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local n = redis.call('ZCARD', KEYS[1])
if n >= limit then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
return 1`

// requestsPerSlot is the load that both ways are compared at: 33 requests per
// 5 s and address, which is 2,000 in five minutes.
const requestsPerSlot = 33

// perRequest is Redis' processor time for one request by the sliding log: 64
// clients, each of which waits for an answer before its next request, as
// requests at a node do.
func perRequest(t testing.TB, requests int) time.Duration {
	t.Helper()
	const clients = 64
	server := redistest.Start(t, redistest.Options{MaxMemory: "1gb"})
	o := server.Options()
	o.PoolSize = clients
	client := goredis.NewClient(o)
	defer client.Close()
	ctx, script := context.Background(), goredis.NewScript(slidingLog)
	if err := script.Load(ctx, client).Err(); err != nil {
		t.Fatal(err)
	}
	began := server.CPU()
	var all sync.WaitGroup
	for at := range clients {
		all.Go(func() {
			for i := at; i < requests; i += clients {
				if err := script.EvalSha(ctx, client, []string{fmt.Sprint("log:", i%100)}, i*2, 300_000, 1900, i).Err(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return (server.CPU() - began) / time.Duration(requests)
}

// perPush is Redis' processor time for one request by pushes, where a node
// counts requestsPerSlot of an address in each slot.
func perPush(t testing.TB, slots int) time.Duration {
	t.Helper()
	c := newCrowd(t, 1, 1000)
	c.slotful(t)
	began, requests := c.server.CPU(), 0
	for range slots {
		c.slotful(t)
		requests += requestsPerSlot * len(c.keys)
	}
	return (c.server.CPU() - began) / time.Duration(requests)
}

// BenchmarkRequest compares what a request costs Redis: goal, a tenth of the
// sliding log.
func BenchmarkRequest(b *testing.B) {
	var push, log time.Duration
	for b.Loop() {
		log += perRequest(b, 100_000)
		push += perPush(b, 10)
	}
	b.ReportMetric(float64(push.Nanoseconds())/float64(b.N), "push-ns/request")
	b.ReportMetric(float64(log.Nanoseconds())/float64(b.N), "log-ns/request")
	b.ReportMetric(float64(push)/float64(log), "ratio")
	b.ReportMetric(0, "ns/op")
}

// TestCost holds what does not depend on the machine: a key's memory, and that
// one more node does not make an update dearer by more than noise explains.
func TestCost(t *testing.T) {
	const keys = 2000
	var bytes [2]float64
	for i, nodes := range []int{1, 4} {
		c := newCrowd(t, nodes, keys)
		before := c.server.Memory()
		c.round(t, 60, 33)
		bytes[i] = float64(c.server.Memory()-before) / keys
	}
	further := (bytes[1] - bytes[0]) / 3
	t.Logf("a key takes %.0f bytes, each further node %.0f", bytes[0], further)
	if bytes[0] > 640 || further > 220 {
		t.Errorf("a key takes %.0f bytes and each further node %.0f: more than 640 and 220", bytes[0], further)
	}
}

// BenchmarkSplit measures what the proof of one key costs Redis: who of the nodes counted it,
// in sums and with the slots, which a rule that acts at each event needs. Counts of more than
// 255 a slot are sent in two bytes each.
func BenchmarkSplit(b *testing.B) {
	for _, nodes := range []int{4, 50} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			c := newCrowd(b, nodes, 1000)
			var split, slots, many spent
			var sent, slotsSent, manySent int
			for b.Loop() {
				c.last = 33
				c.round(b, 60, 33)
				split.on(c, func() int { return c.splits(b, &sent) })
				slots.on(c, func() int { return c.splits(b, &slotsSent, "slots") })
				c.slot, c.last = c.slot+aggregator.Kept, 999
				c.round(b, 60, 999)
				many.on(c, func() int { return c.splits(b, &manySent, "slots") })
				c.slot += aggregator.Kept
			}
			b.ReportMetric(split.each(), "redis-µs/key")
			b.ReportMetric(slots.each(), "slots-µs/key")
			b.ReportMetric(many.each(), "many-µs/key")
			b.ReportMetric(float64(sent)/float64(split.updates), "B/key")
			b.ReportMetric(float64(slotsSent)/float64(slots.updates), "slots-B/key")
			b.ReportMetric(float64(manySent)/float64(many.updates), "many-B/key")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// splits reads the split of each key, and returns how many. It adds the bytes of the answers.
func (c *crowd) splits(t testing.TB, size *int, words ...any) (keys int) {
	t.Helper()
	for some := range slices.Chunk(c.keys, callKeys) {
		pipe := c.server.Client().Pipeline()
		for _, key := range some {
			pipe.FCallRO(context.Background(), function("split"), []string{key}, append([]any{c.slot}, words...)...)
		}
		answers, err := pipe.Exec(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			*size += onWire(a.(*goredis.Cmd).Val())
		}
		keys += len(some)
	}
	return keys
}

// onWire is the bytes of an answer.
func onWire(answer any) (size int) {
	switch v := answer.(type) {
	case []any:
		size = len(fmt.Sprintf("*%d\r\n", len(v)))
		for _, one := range v {
			size += onWire(one)
		}
	case string:
		size = len(fmt.Sprintf("$%d\r\n%s\r\n", len(v), v))
	case int64:
		size = len(fmt.Sprintf(":%d\r\n", v))
	}
	return size
}
