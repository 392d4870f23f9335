package redis

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// TestReturnIsSpread: nodes that wait for a Redis that hung return spread out,
// by how many they are. Here each believes in a fleet of 400, and so waits up to
// two seconds.
func TestReturnIsSpread(t *testing.T) {
	t.Parallel()
	const members, believed = 30, 400
	s := startRedis(t, redistest.Options{})
	fleet := join(t, s.Addr, members, func(c *Config) { c.Push, c.Timeout = 500*time.Millisecond, time.Second })
	for _, m := range fleet {
		m.link.health.Lasts(time.Now(), believed)
	}
	s.Stop()
	program.Eventually(t, "an outage of two seconds on all nodes", func() bool {
		for _, m := range fleet {
			if st := m.link.Stats(); st.Up || time.Since(st.Since) < 2100*time.Millisecond {
				return false
			}
		}
		return true
	})
	s.Cont()
	returned := time.Now()
	joined := map[*member]time.Duration{}
	program.Eventually(t, "all to be joined again", func() bool {
		for _, m := range fleet {
			if _, known := joined[m]; !known && m.link.IsJoined() {
				joined[m] = time.Since(returned)
			}
		}
		return len(joined) == members
	})
	after := slices.Sorted(maps.Values(joined))
	first, last := after[0], after[members-1]
	t.Logf("the first joined after %v, the last after %v", first, last)
	// Of 30 that wait up to 2 s each, all wait about as long once in 10^11 runs.
	if last-first < 700*time.Millisecond {
		t.Errorf("the first joined after %v, the last after %v: they are not spread out", first, last)
	}
}

// TestCatchingUpIsPaced: in a large fleet a node that may have lost all its
// counts compares them bit by bit.
func TestCatchingUpIsPaced(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	m := join(t, s.Addr, 1, nil)[0]
	const keys = 1000
	for i := range keys {
		m.see(fmt.Sprintf("198.51.%d.%d", 100+i/250, i%250), 3)
	}
	m.eventually(t, "all pushed", func() bool { return m.counts.Stats().Answered >= keys })
	m.link.health.Lasts(time.Now(), 2000)
	before, begun := m.counts.Stats().Reconciled, time.Now()
	m.link.pushes.compareAll()
	m.eventually(t, "some compared", func() bool { return m.counts.Stats().Reconciled >= before+200 })
	n := m.counts.Stats().Reconciled - before
	took := time.Since(begun)
	if most := 50 + 100*(took.Seconds()+0.5); float64(n) > most {
		t.Errorf("%d sums compared in %v, want %.0f at most", n, took, most)
	}
}
