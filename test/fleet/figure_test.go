package fleet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"edgeguard/internal/redistest"
)

// figure prints a value beside its goal, and reports it under its unit.
func figure(b *testing.B, what string, value float64, unit string, most float64) {
	verdict := "ok"
	if value > most {
		verdict = "short"
	}
	b.ReportMetric(value, unit)
	fmt.Printf("%s: %s %.3g %s, goal ≤ %.3g: %s\n", b.Name(), what, value, unit, most, verdict)
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// BenchmarkCrossing measures from the request that brings a client over its
// limit, on any of five nodes, to the moment when all five refuse it, while
// they see 20,000 other events a second.
func BenchmarkCrossing(b *testing.B) {
	for _, quiet := range []bool{false, true} {
		b.Run(fmt.Sprintf("quiet=%v", quiet), func(b *testing.B) {
			for range b.N {
				took := crossings(b, quiet, size(400, 1000))
				fmt.Printf("%s: p50 %v, most %v of %d\n", b.Name(), quantile(took, 0.5).Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), len(took))
				b.ReportMetric(float64(quantile(took, 0.5).Milliseconds()), "p50-ms")
				figure(b, "p99 from crossing to block everywhere", float64(quantile(took, 0.99).Milliseconds()), "p99-ms", 700)
			}
		})
	}
}

// crossings sends attackers one after the other, spread evenly over the nodes,
// and returns how long each was let through somewhere, sorted.
func crossings(b *testing.B, quiet bool, attackers int) []time.Duration {
	const limit, clients = 500, 20_000
	server := redistest.Start(b, redistest.Options{})
	f := newFleet(b, settings{
		Nodes: 5, MaxNodes: 5, Quiet: quiet, Limit: limit, Window: 5 * time.Minute, Rate: 4000,
		Clients: clients, Strangers: attackers, Even: true,
	}, server)
	f.start()
	f.feed()
	time.Sleep(3 * time.Second)
	crossed := make([]time.Time, attackers)
	for a := range attackers {
		time.Sleep(time.Duration(f.rng.Int64N(int64(100 * time.Millisecond))))
		begun := f.rng.IntN(len(f.nodes))
		for i := range limit + 1 {
			f.nodes[(begun+i)%len(f.nodes)].see([]int{clients + a})
			if i%50 == 49 {
				time.Sleep(time.Millisecond)
			}
		}
		crossed[a] = time.Now()
	}
	took := make([]time.Duration, attackers)
	for a := range took {
		p := prefix(clients + a)
		f.eventually("every node to block "+p.String(), func() bool { return len(f.arrivals(p, crossed[a])) == len(f.nodes) })
		arrivals := f.arrivals(p, crossed[a])
		took[a] = arrivals[len(arrivals)-1]
	}
	f.end()
	slices.Sort(took)
	return took
}

// BenchmarkPushes measures how many keys four nodes push while each of them
// sees 1,000 clients five times a second, far from the limit.
func BenchmarkPushes(b *testing.B) {
	const clients, limit, maxNodes = 1000, 12_500, 10
	const share = limit / 2 / maxNodes
	server := redistest.Start(b, redistest.Options{})
	f := newFleet(b, settings{
		Nodes: 4, MaxNodes: maxNodes, Quiet: true, Limit: limit, Window: 5 * time.Minute, Rate: 5 * clients, Clients: clients, Even: true,
	}, server)
	f.start()
	for _, n := range f.nodes {
		for c := range clients {
			n.see(slices.Repeat([]int{c}, share))
		}
	}
	f.feed()
	pushed := func() (keys uint64) {
		for _, n := range f.nodes {
			keys += n.link.Stats().Keys
		}
		return keys
	}
	time.Sleep(10 * time.Second) // two slots
	for range b.N {
		const takes = 20 * time.Second
		before := pushed()
		time.Sleep(takes)
		figure(b, "keys pushed", float64(pushed()-before)/takes.Seconds(), "keys/s", 1800)
	}
	f.end()
}
