package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/redistest"
)

// Fault 26: Redis is full and accepts nothing more. The nodes say so, go on
// alone, and make up for all of it when there is room.
func TestRedisFull(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	quietly(t, func(t *testing.T, quiet bool) {
		if quiet {
			notUnderRace(t)
		}
		server := redistest.Start(t, redistest.Options{})
		f := newFleet(t, settings{Quiet: quiet}, server)
		f.start()
		f.feed()
		f.pause(time.Second)
		before := f.standing(1)
		server.Client().ConfigSet(background, "maxmemory", fmt.Sprint(server.Memory()/2))
		for _, n := range f.nodes {
			f.eventually(n.name+" to say that Redis is full", func() bool { return n.link.Stats().Fault.Kind == "full" })
		}
		f.pause(time.Duration(size(2, 60)) * time.Second)
		f.decideAlone(before)
		if text := f.nodes[0].link.Stats().Fault.Text; !strings.Contains(text, "maxmemory") {
			t.Errorf("it says %q", text)
		}
		server.Client().ConfigSet(background, "maxmemory", "256mb")
		roomy := time.Now()
		f.up()
		t.Logf("joined %v after there was room, exact %v after", time.Since(roomy).Round(time.Millisecond), f.check("there was room").Round(time.Millisecond))
		f.rest()
		f.agree()
		f.mustHaveWorked()
	})
}

// Fault 26: Redis evicts what was used least. That raises an alarm about its
// config, and what was evicted and is counted again is pushed again.
func TestRedisEvicts(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	quietly(t, func(t *testing.T, quiet bool) {
		if quiet {
			notUnderRace(t)
		}
		server := redistest.Start(t, redistest.Options{Policy: "allkeys-lru"})
		f := newFleet(t, settings{Quiet: quiet, Clients: 300}, server)
		f.start()
		f.feed()
		f.pause(3 * time.Second)
		for _, n := range f.nodes {
			f.eventually(n.name+" to alarm about the policy", func() bool { return n.alarm("eviction", "redis") != "" })
		}
		held := func() (n int64) {
			for k := range f.Clients {
				_, name := f.key(k)
				n += f.redis.Exists(background, name).Val()
			}
			return n
		}
		for range size(2, 20) {
			full := held()
			// Others write much into the same Redis.
			server.Client().ConfigSet(background, "maxmemory", fmt.Sprint(server.Memory()+1<<20))
			filler := strings.Repeat("x", 10_000)
			for i := range 400 {
				server.Client().Set(background, fmt.Sprintf("filler %d", i), filler, 0)
			}
			left := held()
			server.Client().ConfigSet(background, "maxmemory", "256mb")
			took := f.check("keys were evicted")
			t.Logf("%d keys, %d left: exact %v after", full, left, took.Round(time.Millisecond))
			for i := range 400 {
				server.Client().Del(background, fmt.Sprintf("filler %d", i))
			}
		}
		f.rest()
		f.check("the end")
		f.mustHaveWorked()
	})
}
