package tools

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"edgeguard/loadtest/traffic"
)

const (
	attackers = 20
	crowds    = 2
	visitors  = 200
	// The slowest attacker needs 17 s to cross a limit of 100; from each one to the next
	// the rate rises alike.
	slowest, fastest = 6, 24
)

// shop is some hundred visitors of a shop, two crowds that each have one address and stay
// under the limit, one evenly and one in bursts more than a window apart, and attackers
// that go on at a steady rate whatever is answered.
func shop(length time.Duration) traffic.Scenario {
	return traffic.Scenario{
		Name: "shop", What: "200 visitors, two crowds under the limit behind an address each, 20 attackers of 6 to 24 requests a second",
		Limit: 100, Window: time.Minute, Nodes: 1, Attackers: attackers,
		Requests: func(seed uint64) iter.Seq[traffic.Request] {
			d := &draw{rng: rand.New(rand.NewPCG(seed, 3)), length: length}
			d.all()
			slices.SortStableFunc(d.requests, func(a, b traffic.Request) int { return cmp.Compare(a.At, b.At) })
			return slices.Values(d.requests)
		},
	}
}

// draw collects requests in any order.
type draw struct {
	rng      *rand.Rand
	length   time.Duration
	requests []traffic.Request
}

func (d *draw) add(client int, at time.Duration) {
	if at < d.length {
		d.requests = append(d.requests, traffic.Request{At: at, Client: uint32(client), Cost: 1})
	}
}

func (d *draw) all() {
	for n := range attackers {
		rate := slowest * math.Pow(fastest/slowest, float64(n)/(attackers-1))
		d.steady(n, time.Duration(float64(time.Second)/rate))
	}
	d.steady(attackers, min(d.length, time.Minute)/90)
	for burst := time.Duration(0); burst < d.length; burst += 70 * time.Second {
		for range 90 {
			d.add(attackers+1, burst+d.upTo(8*time.Second))
		}
	}
	for n := range visitors {
		for at := d.upTo(10 * time.Second); at < d.length; at += 8*time.Second + d.upTo(12*time.Second) {
			for range 3 + d.rng.IntN(6) { // a page, its pictures and scripts
				d.add(attackers+crowds+n, at+d.upTo(time.Second))
			}
		}
	}
}

// steady lets a client come again and again, each time a little early or late.
func (d *draw) steady(client int, every time.Duration) {
	for at := d.upTo(every); at < d.length; at += every {
		d.add(client, at+d.upTo(every/4))
	}
}

func (d *draw) upTo(most time.Duration) time.Duration {
	return time.Duration(d.rng.Int64N(int64(most)))
}
