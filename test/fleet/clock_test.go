package fleet

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/redistest"
)

// Fault 17: one node's clock is minutes wrong, from its start or suddenly. All
// nodes name it. None of its counts gets into a total, none of the others' is
// lost, and no client is blocked for what it reports.
func TestOneClockWrong(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for name, by := range map[string]time.Duration{
		"ahead": 7 * time.Minute, "behind": -7 * time.Minute, "a little behind": -8 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			if by != 7*time.Minute {
				notUnderRace(t)
			}
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			f := newFleet(t, settings{Nodes: 4, Ahead: func(i int) time.Duration { return by * time.Duration(i/3) }}, server)
			liar := f.nodes[3]
			f.nodes = f.nodes[:3] // the others are the fleet that is checked
			begun := time.Now()
			f.start()
			liar.start()
			f.feed()
			f.feedOne(liar)
			for _, n := range append(f.nodes, liar) {
				f.eventually(n.name+" to name the wrong clock", func() bool { return n.alarm("clock", liar.name) != "" })
			}
			named := time.Since(begun)
			if text := f.nodes[0].alarm("clock", liar.name); !strings.Contains(text, liar.name) || !strings.Contains(text, strings.Fields(name)[len(strings.Fields(name))-1]) {
				t.Errorf("it is named so: %q", text)
			}
			f.pause(time.Duration(size(2, 60)) * time.Second)
			f.rest()
			f.check("a while with a wrong clock")
			f.nothingOf(liar)
			for _, n := range f.nodes {
				n.mu.Lock()
				alarms := slices.Collect(maps.Keys(n.alarms))
				n.mu.Unlock()
				for _, about := range alarms {
					if strings.HasPrefix(about, "clock ") && about != "clock "+liar.name {
						t.Errorf("%s alarms about %s", n.name, about)
					}
				}
			}
			t.Logf("named on every node after %v; the wrong node says %q", named.Round(time.Millisecond), liar.link.Stats().Fault.Text)

			// It is set right, and counts for the fleet again, from the next slot
			// on: what it counted by the wrong clock stays its own.
			liar.offset.Store(-int64(by))
			liar.counts.SetOffset(-by, liar.now())
			for _, n := range f.nodes {
				f.eventually(n.name+" to be calm about the clock", func() bool { return n.alarm("clock", liar.name) == "" })
			}
			time.Sleep(f.Window / window)
			liar.model.forget()
			f.nodes = append(f.nodes, liar)
			f.feed()
			f.up()
			f.pause(time.Second)
			f.checkCounts("the clock was set right")
		})
	}
}

// nothingOf checks that Redis stores no count of a node, and that the fleet's
// list has no block of it that starts in the future.
func (f *fleet) nothingOf(n *node) {
	f.t.Helper()
	for _, end := range []uint32{f.slot(time.Now()) - 1, f.slot(n.epoch(n.now())) - 1} {
		all, err := f.stored(f.lookAt(), end)
		if err != nil {
			// By the wrong clock nothing can be asked about: that is the promise.
			continue
		}
		for k, s := range all {
			if s.parts[n.id] != 0 {
				f.t.Errorf("Redis holds %d of %s from the node whose clock is wrong", s.parts[n.id], prefix(k))
			}
		}
	}
}

// If Redis' clock is wrong and the nodes agree with each other, all name it and
// do not follow it. The test moves all nodes' clocks: what is measured is the
// difference.
func TestRedisClockWrong(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for name, by := range map[string]time.Duration{"seconds": 2 * time.Second, "minutes": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			if by != 2*time.Second {
				notUnderRace(t)
			}
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			f := newFleet(t, settings{Rate: 300, Ahead: func(int) time.Duration { return by }}, server)
			begun := time.Now()
			f.start()
			for _, n := range f.nodes {
				f.eventually(n.name+" to name Redis", func() bool { return n.alarm("clock", "redis") != "" })
				f.eventually(n.name+" to follow it no longer", func() bool {
					n.mu.Lock()
					defer n.mu.Unlock()
					return !n.skew
				})
				for _, other := range f.nodes {
					if text := n.alarm("clock", other.name); text != "" {
						t.Errorf("%s names %s: %s", n.name, other.name, text)
					}
				}
			}
			t.Logf("named after %v: %s", time.Since(begun).Round(time.Millisecond), f.nodes[0].alarm("clock", "redis"))
			f.decideAlone(f.standing(17))
		})
	}
}
