package fleet

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// Fault 2: a tenth of the pushes is carried out and its answer lost, and some
// are carried out again, seconds late and out of order. No total is a count too
// high or too low.
func TestRepliesLost(t *testing.T) {
	quietly(t, func(t *testing.T, quiet bool) {
		if quiet {
			notUnderRace(t)
		}
		const everyPush = 100 * time.Millisecond
		server := redistest.Start(t, redistest.Options{})
		again := &repeater{client: server.Client(), rng: rand.New(rand.NewPCG(rand.Uint64(), 1))}
		var proxies []*redistest.Proxy
		f := newFleetAt(t, settings{Quiet: quiet}, server.Client(), func(i int, c *redis.Config) *redistest.Proxy {
			proxy := redistest.NewProxy(t, newTap(t, server.Addr, again.hear).addr)
			c.Addresses, c.Push = []string{proxy.Addr}, everyPush
			proxies = append(proxies, proxy)
			return proxy
		})
		f.start()
		f.feed()
		lost := func() (n uint64) {
			for _, node := range f.nodes {
				n += node.link.Stats().Errors["push"]
			}
			return n
		}
		const few = 10
		for begun := time.Now(); time.Since(begun) < time.Duration(size(5, 300))*time.Second || (lost() < few || again.accepted() < few) && time.Since(begun) < patience; {
			f.pause(everyPush)
			for _, p := range proxies {
				if f.rng.IntN(3) == 0 {
					// The answers to a round are cut at their first byte, or later:
					// then some of its calls are answered and others not.
					p.Set(redistest.Fault{CutReplyAfter: 1 + f.rng.IntN(2)*f.rng.IntN(3000)})
				}
			}
			f.pause(everyPush)
			for _, p := range proxies {
				p.Heal()
			}
		}
		f.up()
		took := f.check("the last lost reply")
		again.stop()
		f.rest()
		f.check("the last repeated push")
		f.agree()
		var calls uint64
		for _, n := range f.nodes {
			calls += n.link.Stats().Calls
		}
		t.Logf("%d of %d calls lost their answer, %d were repeated, %d of them refused as too old; exact after %v",
			lost(), calls, again.said, again.refused, took.Round(time.Millisecond))
		if lost() < few || again.accepted() < few {
			t.Error("too few to have tested anything")
		}
		f.mustHaveWorked()
	})
}

// repeater sends a tenth of the pushes again, up to three seconds later.
type repeater struct {
	client *goredis.Client

	mu            sync.Mutex // guards the fields below
	rng           *rand.Rand
	stopped       bool
	waiting       sync.WaitGroup
	said, refused int
}

func (r *repeater) hear(command [][]byte) {
	if !calls(command, redis.LibraryName+"_push") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || r.rng.IntN(10) > 0 {
		return
	}
	later := time.Duration(r.rng.Int64N(int64(3 * time.Second)))
	args := make([]any, len(command))
	for i, word := range command {
		args[i] = slices.Clone(word)
	}
	r.waiting.Go(func() {
		time.Sleep(later)
		err := r.client.Do(background, args...).Err()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said++
		if err != nil && strings.Contains(err.Error(), "EDGEGUARD clock") {
			r.refused++
		}
	})
}

// accepted is how many of the repeated pushes were not refused.
func (r *repeater) accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said - r.refused
}

// stop waits until nothing is left to be sent.
func (r *repeater) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.waiting.Wait()
}
