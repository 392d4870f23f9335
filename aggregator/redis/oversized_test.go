package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// What a node's user wrote once may be of any size. It neither fills a node's memory
// nor keeps it from the fleet.

// huge is more than a node reads of one value.
var huge = strings.Repeat("a", 2<<20)

// oversized are writes, as arguments of a command; of those with many members, these
// are added to it.
var oversized = []struct {
	name    string
	command []any
	members func(i int) []any
}{
	{"a record", []any{"hset", newNames("test", 4).blocks, "10.0.0.0/24", huge}, nil},
	{"a prefix", []any{"hset", newNames("test", 4).blocks, huge, "x"}, nil},
	{"a heartbeat", []any{"hset", newNames("test", 4).nodes, "x/1", fmt.Sprint(time.Now().Unix(), " ", huge)}, nil},
	{"a heartbeat's field", []any{"hset", newNames("test", 4).nodes, huge, fmt.Sprint(time.Now().Unix(), " {}")}, nil},
	{"a change", []any{"xadd", newNames("test", 4).stream, "*", "p", huge, "v", 9}, nil},
	{"a watched key", []any{"xadd", newNames("test", 4).watch, "*", "k", huge}, nil},
	{"a tip", []any{"hset", newNames("test", 4).state, "tip", huge}, nil},
	{"a birth", []any{"hset", newNames("test", 4).state, "born", huge}, nil},
	{"many heartbeats", []any{"hset", newNames("test", 4).nodes}, func(i int) []any {
		return []any{fmt.Sprint("x/", i), fmt.Sprint(time.Now().Unix(), " {}")}
	}},
	{"many that were seen", []any{"zadd", newNames("test", 4).seen}, func(i int) []any { return []any{time.Now().Unix() + 5, i} }},
	{"many that moved", []any{"zadd", newNames("test", 4).moved}, func(i int) []any { return []any{1<<40 + i, i} }},
}

func TestOversized(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	ctx, client := context.Background(), s.Client()
	size := func() (bytes int64) {
		for _, key := range client.Keys(ctx, "*").Val() {
			bytes += client.MemoryUsage(ctx, key).Val()
		}
		return bytes
	}
	for i, one := range oversized {
		command := slices.Clone(one.command)
		for m := 0; one.members != nil && m < 1<<15+1000; m++ {
			command = append(command, one.members(m)...)
		}
		if err := client.Do(ctx, command...).Err(); err != nil {
			t.Fatalf("%s: %v", one.name, err)
		}
		for _, m := range fleet {
			m.link.Resync()
		}
		program.Eventually(t, one.name+" to be gone", func() bool { return size() < 100_000 })
		addr := fmt.Sprint("203.0.113.", i)
		fleet[0].blockByHand(t, addr+"/32")
		for _, m := range fleet {
			m.eventually(t, "the block, after "+one.name, func() bool { return m.blocked(addr) != nil && m.link.IsJoined() })
		}
	}
}

// Every way to Redis is bounded.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{TLS: true})
	c := testConfig("rediss://"+s.Addr, "edge-a")
	c.TLS.CA = s.CAFile()
	cluster := c
	cluster.Addresses, cluster.Cluster = []string{s.Addr}, true
	many, err := NewClient(cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	if many.(*goredis.ClusterClient).Options().Dialer == nil {
		t.Error("a Cluster's answers are not bounded")
	}
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, key := context.Background(), newNames("test", 4).blocks
	if err := s.Client().HSet(ctx, key, "10.0.0.0/24", huge).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.HGetAll(ctx, key).Err(); !errors.Is(err, errLarge) {
		t.Errorf("an answer of %d bytes: %v", len(huge), err)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// More records and MACs than Redis keeps are deleted with the state, as where Redis
// lost its data, and each node's list is there again.
func TestMoreThanTheListKeeps(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"blocks", "macs"} {
		s := redistest.Start(t, redistest.Options{Users: []string{userLine(ACLLine("edge", "test"))}})
		source := strings.Replace(sourceOf(t, 50), "local SPARE = 1024 ", "local SPARE = 10 ", 1)
		if err := s.Client().FunctionLoadReplace(context.Background(), source).Err(); err != nil {
			t.Fatal(err)
		}
		fleet := join(t, s.Addr, 2, nil)
		fleet[0].blockByHand(t, "203.0.113.1/32")
		names := newNames("test", 4)
		key, listed := names.blocks, func() bool { return s.Client().HLen(context.Background(), names.blocks).Val() == 1 }
		if which == "macs" {
			key = names.macs
		}
		program.Eventually(t, "the block in Redis", listed)
		var many []any
		for i := range 120 {
			many = append(many, fmt.Sprintf("10.0.%d.0/24", i), "x")
		}
		if err := s.Client().HSet(context.Background(), key, many...).Err(); err != nil {
			t.Fatal(err)
		}
		program.Eventually(t, "the many to be gone, and the block there", func() bool {
			return s.Client().HLen(context.Background(), names.macs).Val() == 0 && listed()
		})
	}
}

// shrink drops what is too long, step by step, and nothing else.
func TestShrink(t *testing.T) {
	t.Parallel()
	b := newBoth(t, "shrink")
	ctx, key := context.Background(), newNames("t", 1).blocks
	long := strings.Repeat("a", 1025)
	for i := range 1000 {
		b.node.HSet(ctx, key, fmt.Sprint("10.0.0.", i), long[:1024])
		if i%100 == 0 {
			b.node.HSet(ctx, key, fmt.Sprint("10.0.1.", i), long, strconv.Itoa(i)+long, "x")
		}
	}
	steps := 0
	for cursor := "0"; steps == 0 || cursor != "0"; steps++ {
		var err error
		if cursor, err = b.node.FCall(ctx, function("shrink"), []string{key}, cursor).Text(); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.node.HLen(ctx, key).Val(); n != 1000 || steps < 3 {
		t.Errorf("%d are left after %d steps", n, steps)
	}
	for _, args := range [][]any{nil, {"-1"}, {"x"}, {"0", "0"}, {strings.Repeat("1", 21)}} {
		if err := b.node.FCall(ctx, function("shrink"), []string{key}, args...).Err(); err == nil || !strings.HasPrefix(err.Error(), "EDGEGUARD arguments") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A list that could not be read in time is shrunk before it is read again, in smaller
// steps.
func TestListThatIsNotReadInTime(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 1, nil)
	ctx, m, key := context.Background(), fleet[0], newNames("test", 4).blocks
	m.stop()
	if err := s.Client().HSet(ctx, key, "10.0.0.0/24", strings.Repeat("a", 5000)).Err(); err != nil {
		t.Fatal(err)
	}
	l, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	defer l.client.Close()
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.list.scan(short, key, func(string, string) {}); !errors.Is(err, context.Canceled) || !l.list.scanFailed {
		t.Fatalf("%v, failed %v", err, l.list.scanFailed)
	}
	state, err := l.beats.sendHeartbeat(ctx, true)
	if err == nil {
		err = l.list.mergeWholeList(ctx, state)
	}
	if err != nil || l.list.scanFailed || s.Client().HExists(ctx, key, "10.0.0.0/24").Val() {
		t.Errorf("%v, failed %v", err, l.list.scanFailed)
	}
}
