package fleet

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// Fault 4: Redis hangs, is slow, or its connections are half-open. Nothing
// piles up behind it, each node goes on with what it knows and counts, and all
// are one fleet again when it answers. The test does not run in parallel with
// others, whose goroutines would be counted, too.
func TestRedisHangs(t *testing.T) {
	all := func(f *fleet, fault redistest.Fault) {
		for _, n := range f.nodes {
			n.proxy.Set(fault)
		}
	}
	for name, fault := range map[string]struct {
		begin, end func(f *fleet, s *redistest.Server)
	}{
		"stopped": {
			func(f *fleet, s *redistest.Server) { s.Stop() },
			func(f *fleet, s *redistest.Server) { s.Cont() },
		},
		"slow": {
			func(f *fleet, s *redistest.Server) { all(f, redistest.Fault{Delay: 2 * time.Second}) },
			func(f *fleet, s *redistest.Server) { all(f, redistest.Fault{}) },
		},
		"half-open": {
			func(f *fleet, s *redistest.Server) { all(f, redistest.Fault{Swallow: true}) },
			func(f *fleet, s *redistest.Server) { all(f, redistest.Fault{}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "stopped" {
				notUnderRace(t)
			}
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			f := newFleet(t, settings{Timeout: redis.DefaultTimeout}, server)
			f.start()
			f.feed()
			f.check("the start")
			before := f.standing(17)
			goroutines, heap := linkGoroutines(), heapSize()

			fault.begin(f, server)
			begun, most := time.Now(), 0
			for time.Since(begun) < time.Duration(size(3, 120))*time.Second {
				most = max(most, linkGoroutines())
				time.Sleep(50 * time.Millisecond)
			}
			f.decideAlone(before)
			grown := int64(heapSize()) - int64(heap)
			fault.end(f, server)
			ended := time.Now()
			f.up()
			joined := time.Since(ended)
			fresh := f.freshBlock(18, ended)
			f.check("the fault's end")
			t.Logf("at most %d goroutines more, %d MB more; joined %v, a new block everywhere %v, all exact %v after the fault's end",
				most-goroutines, grown>>20, joined.Round(time.Millisecond), fresh.Round(time.Millisecond), time.Since(ended).Round(time.Millisecond))
			if most > goroutines+50 {
				t.Errorf("%d goroutines, after %d", most, goroutines)
			}
			if grown > int64(size(32, 64))<<20 {
				t.Errorf("memory has grown by %d bytes", grown)
			}
		})
	}
}

// standing blocks a client by hand on the first node and waits until all nodes
// do.
func (f *fleet) standing(k byte) edgeguard.Block {
	f.t.Helper()
	n := f.nodes[0]
	b := manual(k, n)
	f.block(n, b)
	f.everywhere(b)
	return b
}

// everywhere waits until every node refuses what a block covers.
func (f *fleet) everywhere(b edgeguard.Block) {
	f.t.Helper()
	for _, n := range f.nodes {
		f.eventually(n.name+" to block "+b.Prefix.String(), func() bool { return n.refuses(b.Prefix.Addr()) })
	}
}

// freshBlock makes a block by hand and returns how long after ended the last
// node had it.
func (f *fleet) freshBlock(k byte, ended time.Time) time.Duration {
	f.t.Helper()
	b := f.standing(k)
	arrivals := f.arrivals(b.Prefix, ended)
	return arrivals[len(arrivals)-1]
}

// decideAlone checks that each node refuses what it refused before, and what it
// sees over the limit itself.
func (f *fleet) decideAlone(before edgeguard.Block) {
	f.t.Helper()
	for i, n := range f.nodes {
		if !n.refuses(before.Prefix.Addr()) {
			f.t.Errorf("%s has let go of %s", n.name, before.Prefix)
		}
		k := f.Clients - 1 - i // somebody of whom little else is seen
		keys := make([]int, f.Limit+1)
		for j := range keys {
			keys[j] = k
		}
		n.see(keys)
		if !n.refuses(address(k)) {
			f.t.Errorf("%s does not block %s on its own count", n.name, prefix(k))
		}
	}
}

// linkGoroutines counts the goroutines of links and of their clients.
func linkGoroutines() (n int) {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "edgeguard/aggregator/redis.") || strings.Contains(stack, "redis/go-redis/") {
			n++
		}
	}
	return n
}

func heapSize() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
