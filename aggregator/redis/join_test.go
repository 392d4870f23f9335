package redis

import (
	"context"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/clockguard"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// TestJoinRepeatsUnblocks: after an unblock before the node joined, older
// counts are neither pushed nor left in Redis.
func TestJoinRepeatsUnblocks(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	const addr, old = "203.0.113.1", "203.0.113.2"
	now := time.Now()
	before, p := pusherOf(t, s, "edge-a", nil)
	before.seeAt(addr, 40, now.Add(-time.Minute))
	before.seeAt(old, 40, now.Add(-time.Minute))
	if err := p.Round(context.Background(), now); err != nil {
		t.Fatal(err)
	}

	m := newMember(t, testConfig(s.Addr, "edge-b"))
	lifted := func(addr string, since time.Time) {
		t.Helper()
		b := edgeguard.Block{
			Prefix: key(addr).Prefix, Rule: "site", Origin: m.name, Version: 2, Lifted: true,
			Since: since, Until: now.Add(time.Hour),
		}
		if changed, err := m.list.Merge(b, now); !changed || err != nil {
			t.Fatal(changed, err)
		}
	}
	lifted(addr, now.Add(-30*time.Second))
	lifted(old, now.Add(-10*time.Minute))
	for _, a := range []string{addr, old} {
		m.seeAt(a, 20, now.Add(-time.Minute))
		m.seeAt(a, 3, now)
	}
	m.start(t)
	program.Eventually(t, "what was counted since the unblock", func() bool { return held(t, s, addr) == 3 })
	program.Eventually(t, "what was counted since an older unblock", func() bool { return held(t, s, old) == 63 })
}

// TestJoinReadsWatches: a node that joins late pushes the little that it has of
// a key that the fleet began to watch up to a window ago.
func TestJoinReadsWatches(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	tell := func(addr string, ago time.Duration) {
		t.Helper()
		err := s.Client().XAdd(context.Background(), &goredis.XAddArgs{
			Stream: newNames("test", 4).watch, Values: []any{"k", key(addr).Append(nil)},
			ID: strconv.FormatInt(time.Now().Add(-ago).UnixMilli(), 10) + "-0",
		}).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	const watched, forgotten = "203.0.113.1", "203.0.113.2"
	tell(forgotten, 6*time.Minute)
	tell(watched, 4*time.Minute)
	m := newMember(t, testConfig(s.Addr, "edge-a"))
	m.counts = aggregator.New(aggregator.Config{
		Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Table: m.table}},
		Boot:   time.Now().Add(-5 * time.Minute), Nodes: 1, MaxNodes: 10, Quiet: true,
	})
	m.see(watched, 2)
	m.see(forgotten, 2)
	m.start(t)
	program.Eventually(t, "the counts of what is watched", func() bool { return held(t, s, watched) == 2 })
	rounds := m.link.Stats().Rounds
	m.eventually(t, "a round", func() bool { return m.link.Stats().Rounds > rounds+1 })
	if n := held(t, s, forgotten); n != 0 {
		t.Errorf("%d counts were pushed of a key that is no longer watched", n)
	}
}

// TestSkewIsReported: the node learns how far Redis is ahead of the wall clock,
// the fleet how far the node's time is ahead of Redis, and the config's skew
// decides about alarms.
func TestSkewIsReported(t *testing.T) {
	const behind, corrected = 2 * time.Second, 500 * time.Millisecond
	for _, test := range []struct {
		allowed time.Duration
		alarm   bool
	}{{0, true}, {time.Second, true}, {1600 * time.Millisecond, false}} {
		c := testConfig("localhost:6379", "edge-a")
		c.MaxSkew = test.allowed
		m := newMember(t, c)
		m.epoch = func(local time.Time) time.Time { return local.Add(corrected) }
		var told []time.Duration
		m.skew = func(offset time.Duration, trusted bool) {
			if trusted {
				told = append(told, offset)
			}
		}
		l, err := New(m.config, testPeer{m})
		if err != nil {
			t.Fatal(err)
		}
		defer l.client.Close()
		l.clock.follow() // Redis was not asked yet
		mono := clockguard.Read()
		l.clock.skew.Add(clockguard.Sample{Sent: mono.Mono, Received: mono.Mono, Server: mono.Wall.Add(behind)})
		if ahead := l.clock.ahead(); (ahead + behind - corrected).Abs() > 100*time.Millisecond {
			t.Errorf("%v ahead of Redis, not %v", ahead, corrected-behind)
		}
		l.clock.judge(nil)
		l.clock.follow()
		if len(told) != 1 || (told[0]-behind).Abs() > 100*time.Millisecond {
			t.Errorf("reported %v, not %v", told, behind)
		}
		if alarm := m.alarmed("clock/edge-a") != ""; alarm != test.alarm {
			t.Errorf("%v allowed: alarm %v", test.allowed, alarm)
		}
	}
}
