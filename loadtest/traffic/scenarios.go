package traffic

import (
	"iter"
	"time"

	"edgeguard"
)

// Options says which scenarios [Scenarios] returns.
type Options struct {
	// Slot is a sixtieth of every scenario's window: 1, 5 or 10 s. 0 means 5 s.
	Slot time.Duration
	// Botnet is how many addresses the botnet has; 0 means 200,000. It is the only
	// scenario that takes long to draw at its full size of 20 million.
	Botnet int
}

// plan is the size of the scenarios for one slot.
type plan struct {
	slot, window time.Duration
	site         uint32 // the limit of a rule for a whole site: 2,000 in 5 minutes
	botnet       int
}

// spreadOver is how many nodes the spread attacker reaches.
const spreadOver = 8

// The limits of rules that are about less than a whole site.
const (
	loginLimit  = 20
	burstLimit  = 100
	weightLimit = 200
)

// siteTime is how long scenarios of a whole site last, whatever the window.
const siteTime = 20 * time.Minute

// Scenarios returns all traffic that ways to limit a rate are compared on, each
// in its own order of time.
func Scenarios(o Options) []Scenario {
	p := plan{slot: o.Slot, botnet: orDefault(o.Botnet, 200_000)}
	if p.slot == 0 {
		p.slot = 5 * time.Second
	}
	p.window = edgeguard.Slots * p.slot
	p.site = uint32(400 * p.slot / time.Second)
	return append(p.people(), p.attacks()...)
}

// scenario returns one that is drawn in memory, on one node.
func (p *plan) scenario(name, what string, limit uint32, attackers int, fill func(d *draft)) Scenario {
	return Scenario{Name: name, What: what, Limit: limit, Window: p.window, Nodes: 1,
		Attackers: uint32(attackers), Requests: drawn(name, fill)}
}

// people are scenarios in which most come to read.
func (p *plan) people() []Scenario {
	const crowds, heads, guests = 5, 34, 4000
	visitors := Scenario{Name: "visitors", Window: p.window, Limit: p.site, Nodes: 1, Attackers: 1, Requests: visits,
		What: "20,000 addresses, 100 requests a second, the k-th sends 1/k of what the first does (Zipf); the first is over the limit"}
	return []Scenario{visitors,
		p.scenario("nat-crowd", "5 addresses with 34 people behind each, who together send nine tenths of the limit on average", p.site, 0, func(d *draft) {
			for head := range crowds * heads {
				for at := d.within(time.Minute); at < siteTime; at += 20*time.Second + d.within(80*time.Second) {
					d.burst(at, time.Second, head/heads, 7+d.rng.IntN(8))
				}
			}
		}),
		p.scenario("flash-crowd", "4,000 people come within five minutes, half of them in the first, for a page or three", p.site, 0, func(d *draft) {
			for guest := range guests {
				at := d.within(time.Minute)
				if guest%2 == 1 {
					at = time.Minute + d.within(4*time.Minute)
				}
				for range 1 + d.rng.IntN(3) {
					d.burst(at, 3*time.Second, guest, 12+d.rng.IntN(14))
					at += 5*time.Second + d.within(30*time.Second)
				}
			}
		})}
}

// visits sends a request every 10 ms, jittered.
func visits(seed uint64) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		const every = 10 * time.Millisecond
		d, addresses := draft{rng: stream("visitors", seed)}, newZipf(20_000)
		for at := time.Duration(0); at < siteTime; at += every {
			if !yield(Request{At: at + d.within(every), Client: uint32(addresses.draw(d.rng)), Cost: 1}) {
				return
			}
		}
	}
}

// attacks are scenarios in which everybody who is named is up to no good.
func (p *plan) attacks() []Scenario {
	all := append(p.steady(), p.boundaries()...)
	return append(all,
		p.scenario("pulses", "50 clients send half of the limit in one second, three times in each window", burstLimit, 50, func(d *draft) {
			for client := range 50 {
				for at := d.within(p.window / 3); at < 6*p.window; at += p.window/3 - time.Second + d.within(2*time.Second) {
					d.burst(at, time.Second, client, burstLimit/2)
				}
			}
		}),
		p.scenario("weighted", "20 clients whose requests cost 1, 10 or 50, half as much again as the limit", weightLimit, 20, p.weighted),
		p.botnetScenario(),
		p.spread())
}

// steady are those who have learnt the limit of a login, and keep just below or
// above it.
func (p *plan) steady() []Scenario {
	pace := func(each int) func(d *draft) {
		every := p.window / time.Duration(each)
		return func(d *draft) {
			for client := range 200 {
				for at := d.within(p.window); at < 5*p.window; at += every {
					d.add((at + d.within(every/2)).Truncate(time.Microsecond), client)
				}
			}
		}
	}
	return []Scenario{
		p.scenario("brute-under", "200 clients guess passwords, evenly but for some jitter; in no window more than the limit of 20", loginLimit, 200, pace(loginLimit-1)),
		p.scenario("brute-over", "the same a little faster: 21 in each window", loginLimit, 200, pace(loginLimit+1)),
	}
}

// boundaries send a whole limit on each side of a boundary: 50 clients, each at
// its own.
func (p *plan) boundaries() []Scenario {
	const clients, near = 50, 100 * time.Millisecond
	sides := func(name, what string, boundary func(d *draft) time.Duration, apart time.Duration) Scenario {
		return p.scenario(name, what, burstLimit, clients, func(d *draft) {
			for client := range clients {
				at := boundary(d)
				d.burst(at-near, near, client, burstLimit)
				d.burst(at+apart, near, client, burstLimit)
			}
		})
	}
	slot := func(d *draft) time.Duration { // never a window's
		return p.window*time.Duration(1+d.rng.IntN(3)) + p.slot*time.Duration(1+d.rng.IntN(edgeguard.Slots-1))
	}
	window := func(d *draft) time.Duration { return p.window * time.Duration(1+d.rng.IntN(4)) }
	minute := func(d *draft) time.Duration { return p.window + time.Minute*time.Duration(1+d.rng.IntN(20)) }
	return []Scenario{
		sides("slot-boundary", "a full limit just before a slot's boundary, and one just after", slot, 0),
		sides("slot-leaves", "a full limit just before a slot's boundary, and one as that slot leaves the 60: the worst for slots", slot, p.window-p.slot),
		sides("window-boundary", "a full limit just before a window's boundary, and one just after: the worst for fixed windows", window, 0),
		sides("minute-boundary", "the same at a minute's boundary", minute, 0),
		p.scenario("late-burst", "a full limit just before a window's boundary, and three evenly over the next window: the worst for two counters", burstLimit, clients, func(d *draft) {
			for client := range clients {
				at := window(d)
				d.burst(at-near, near, client, burstLimit)
				every := p.window / (3 * burstLimit)
				for k := range time.Duration(3 * burstLimit) {
					d.add((at + k*every + d.within(every)).Truncate(time.Microsecond), client)
				}
			}
		}),
	}
}

func (p *plan) weighted(d *draft) {
	for client := range 20 {
		for at := d.within(p.window / 20); at < 6*p.window; at += d.within(p.window / 20) {
			r := Request{At: at, Client: uint32(client), Cost: 1}
			switch n := d.rng.IntN(10); {
			case n == 0:
				r.Cost = 50
			case n < 3:
				r.Cost = 10
			}
			d.all = append(d.all, r)
		}
	}
}

// botnetScenario is drawn as it is read: it need not fit into memory.
func (p *plan) botnetScenario() Scenario {
	n := uint64(p.botnet)
	return Scenario{Name: "botnet", What: "addresses without number, two requests of each",
		Limit: p.site, Window: p.window, Nodes: 1, Attackers: uint32(n),
		Requests: func(seed uint64) iter.Seq[Request] {
			return func(yield func(Request) bool) {
				const prime = 2654435761 // greater than n: a multiplication by it is one to one
				first := stream("botnet", seed).Uint64N(n)
				for i := range 2 * n {
					at := time.Duration(i*uint64(siteTime/time.Microsecond)/(2*n)) * time.Microsecond
					if !yield(Request{At: at, Client: uint32((i + first) % n * prime % n), Cost: 1}) {
						return
					}
				}
			}
		}}
}

// spread is one attacker at a time, on all nodes.
func (p *plan) spread() Scenario {
	s := p.scenario("spread", "10 clients send three limits in each window, each request to any of the nodes", burstLimit, 10, func(d *draft) {
		every := p.window / (3 * burstLimit)
		for client := range 10 {
			for at := d.within(p.window); at < 5*p.window; at += every {
				d.add((at + d.within(every)).Truncate(time.Microsecond), client)
				d.all[len(d.all)-1].Node = uint16(d.rng.IntN(spreadOver))
			}
		}
	})
	s.Nodes = spreadOver
	return s
}
