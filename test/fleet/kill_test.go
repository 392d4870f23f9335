package fleet

import (
	"testing"
	"time"

	"edgeguard/internal/redistest"
)

// Fault 1: Redis is killed at random moments of a push, again and again, under
// load. It comes back with all that it acknowledged, or with nothing. Once the
// library is back, every total becomes the sum of what the nodes counted, and
// every node has the same list.
func TestRedisKilled(t *testing.T) {
	quietly(t, func(t *testing.T, quiet bool) {
		for name, aof := range map[string]bool{"file": true, "empty": false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if underRace && (quiet || aof) {
					notUnderRace(t)
				}
				server := redistest.Start(t, redistest.Options{AOF: aof})
				f := newFleet(t, settings{Quiet: quiet}, server)
				f.start()
				f.feed()
				var slowest time.Duration
				for i := range size(3, 50) {
					f.pause(700 * time.Millisecond)
					f.killAt(server, []point{beforePush, beforeApply, afterApply, beforeBlock}[i%4])
					server.Restart()
					f.install()
					slowest = max(slowest, f.check("a restart of Redis"))
				}
				f.rest()
				f.check("the end")
				f.agree()
				t.Logf("slowest from the library's return to every total exact and every list the same: %v; %d blocks",
					slowest.Round(time.Millisecond), len(f.nodes[0].blocked()))
				f.mustHaveWorked()
			})
		}
	})
}

// killAt kills Redis up to a push interval after a fail point is next passed,
// and without one after a second.
func (f *fleet) killAt(server *redistest.Server, at point) {
	late := time.Duration(f.rng.Int64N(int64(20 * time.Millisecond)))
	struck, disarm := f.strike(at, func() {
		time.Sleep(late)
		server.Kill()
	})
	select {
	case <-struck:
	case <-time.After(time.Second):
	}
	disarm()
	server.Kill()
}

// mustHaveWorked fails a test in which nothing was tested: no push, or no block
// of a key that no node alone saw over its limit.
func (f *fleet) mustHaveWorked() {
	f.t.Helper()
	var keys uint64
	for _, n := range f.nodes {
		keys += n.link.Stats().Keys
	}
	together := 0
	for p, b := range f.nodes[0].blocked() {
		if b.Reason != "over limit" && b.Rule == ruleName && p.IsValid() {
			together++
		}
	}
	if keys < 60 || together == 0 {
		f.t.Errorf("%d keys were pushed, and %d blocked for the fleet's count: nothing was tested", keys, together)
	}
}
