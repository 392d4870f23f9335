package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

func TestSpreadOffenderIsBlockedEverywhere(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 5, nil)
	const addr, friend = "203.0.113.7", "203.0.113.8"
	for i, m := range fleet {
		m.see(addr, 21+i) // 115 together
		m.see(friend, 20) // 100 together: not over
	}
	for _, m := range fleet {
		m.eventually(t, "the block", func() bool { return m.blocked(addr) != nil })
	}
	b := fleet[0].blocked(addr)
	for _, words := range []string{"over limit in the fleet: edge-", ", 2 more "} {
		if !strings.Contains(b.Reason, words) {
			t.Errorf("reason %q does not say %q", b.Reason, words)
		}
	}
	program.Eventually(t, "exact totals", func() bool { return held(t, s, addr) == 115 && held(t, s, friend) == 100 })
	program.Eventually(t, "one list", func() bool { return oneList(fleet) })
	for _, m := range fleet {
		if m.blocked(friend) != nil {
			t.Errorf("%s blocks an address that is at its limit", m.name)
		}
	}
}

func oneList(fleet []*member) bool {
	for _, m := range fleet[1:] {
		if !slices.Equal(m.records(), fleet[0].records()) {
			return false
		}
	}
	return true
}

func TestUnblockSticks(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 3, nil)
	const addr = "203.0.113.7"
	for _, m := range fleet {
		m.see(addr, 50)
	}
	for _, m := range fleet {
		m.eventually(t, "the block", func() bool { return m.blocked(addr) != nil })
	}
	p := netip.MustParsePrefix(addr + "/32")
	fleet[1].table.Clear(p.Addr(), "")
	fleet[1].list.Lift(p, time.Now(), "a customer", "admin")
	for _, m := range fleet {
		m.eventually(t, "the unblock", func() bool { return m.blocked(addr) == nil })
	}
	program.Eventually(t, "the counts to be forgotten", func() bool { return held(t, s, addr) == 0 })
	for _, m := range fleet {
		rounds := m.link.Stats().Rounds
		m.eventually(t, "a few rounds", func() bool { return m.link.Stats().Rounds > rounds+5 })
		if b := m.blocked(addr); b != nil {
			t.Errorf("%s blocks again: %s", m.name, b.Reason)
		}
	}
}

// TestRestartsHeal kills Redis, which keeps nothing, under load, and wipes it:
// each time every count and every block is there again.
func TestRestartsHeal(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 3, nil)
	totals := map[string]int{}
	load := func() {
		for range 300 {
			addr := fmt.Sprintf("198.51.100.%d", random.IntN(40))
			if totals[addr] < testLimit {
				fleet[random.IntN(3)].see(addr, 1)
				totals[addr]++
			}
		}
	}
	check := func(what string) {
		t.Helper()
		program.Eventually(t, "totals after "+what, func() bool {
			for addr, n := range totals {
				if held(t, s, addr) != n {
					return false
				}
			}
			return true
		})
		program.Eventually(t, "lists after "+what, func() bool {
			return oneList(fleet) && len(fleet[0].records()) > 0 && sameDigest(fleet)
		})
	}
	now := time.Now()
	fleet[0].list.Merge(edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Rule: "manual",
		Origin: "edge-a", Since: now, Until: now.Add(time.Hour), Version: 1}, now)
	load()
	check("the start")
	for range 3 {
		load()
		s.Kill()
		load()
		s.Restart()
		install(t, s)
		load()
		check("a restart")
	}
	if err := s.Client().FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	load()
	check("a wipe")
}

func sameDigest(fleet []*member) bool {
	first, version := fleet[0].link.list.mirror.Digest(0)
	for _, m := range fleet[1:] {
		if d, v := m.link.list.mirror.Digest(0); d != first || v != version {
			return false
		}
	}
	return true
}

func TestHungRedisIsLeftAndFoundAgain(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	m := join(t, s.Addr, 1, func(c *Config) { c.Timeout = 200 * time.Millisecond })[0]
	s.Stop()
	m.eventually(t, "the fault", func() bool { return m.link.Stats().Fault.Kind == "timeout" })
	m.see("203.0.113.9", 30)
	s.Cont()
	m.eventually(t, "the fleet again", func() bool { return m.link.Stats().Up })
	program.Eventually(t, "the counts", func() bool { return held(t, s, "203.0.113.9") == 30 })
}

func TestLastWords(t *testing.T) {
	s := startRedis(t, redistest.Options{})
	m := join(t, s.Addr, 1, func(c *Config) { c.Push = 10 * time.Second })[0]
	m.see("203.0.113.9", 30)
	m.stop()
	if n := held(t, s, "203.0.113.9"); n != 30 {
		t.Errorf("%d counts pushed at the end, not 30", n)
	}
}

func TestWrongRecordsAreRejected(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, 2, nil)
	now := time.Now()
	good := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Rule: "manual", Origin: "x",
		Since: now, Until: now.Add(time.Hour), Version: 1}
	wide, future := good, good
	wide.Prefix = netip.MustParsePrefix("192.0.0.0/8").Masked()
	future.Prefix, future.Since, future.Until = netip.MustParsePrefix("192.0.2.9/32"), now.Add(time.Hour), now.Add(2*time.Hour)
	args := []any{now.UnixMilli()}
	for _, b := range []edgeguard.Block{wide, future, good} {
		args = append(args, b.Prefix.String(), recordOf(t, b), "")
	}
	args = append(args, "not a prefix", recordOf(t, good), "")
	names := newNames("test", 4)
	if err := s.Client().FCall(context.Background(), function("publish"), names.publishKeys(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	for _, m := range fleet {
		m.eventually(t, "the good block", func() bool { return m.blocked("192.0.2.1") != nil })
		m.eventually(t, "the rejected records", func() bool { return m.link.Stats().Rejected >= 3 })
		if m.list.Len() != 1 {
			t.Errorf("%s took %d blocks, not 1", m.name, m.list.Len())
		}
		if m.alarmed("rejected/192.0.0.0/8") == "" {
			t.Errorf("%s raised no alarm: %v", m.name, m.alarms)
		}
		syncs := m.link.Stats().Syncs
		m.link.Resync()
		m.eventually(t, "another full sync", func() bool { return m.link.Stats().Syncs > syncs })
		m.mu.Lock()
		if n := m.raised["rejected/192.0.0.0/8"]; n != 1 {
			t.Errorf("%s alarmed %d times, not once", m.name, n)
		}
		m.mu.Unlock()
	}
}

func recordOf(t testing.TB, b edgeguard.Block) string {
	t.Helper()
	r := aggregatorRecord(b)
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMonitorPublishesNothing(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	watcher := join(t, s.Addr, 1, func(c *Config) { c.Monitor, c.Node = true, "monitor" })[0]
	guard := join(t, s.Addr, 1, nil)[0]
	now := time.Now()
	block := func(m *member, p string) {
		m.list.Merge(edgeguard.Block{Prefix: netip.MustParsePrefix(p), Rule: "manual", Origin: m.name,
			Since: now, Until: now.Add(time.Hour), Version: 1}, now)
	}
	block(watcher, "192.0.2.1/32")
	block(guard, "192.0.2.2/32")
	watcher.eventually(t, "the other's block", func() bool { return watcher.blocked("192.0.2.2") != nil })
	watcher.link.Resync()
	watcher.eventually(t, "a full sync", func() bool { return watcher.link.Stats().Syncs > 1 })
	if guard.blocked("192.0.2.1") != nil || watcher.link.Stats().Published != 0 {
		t.Error("a monitor published a block")
	}
}
