package traffic

import (
	"fmt"
	"iter"
	"time"
)

// Crowd is the visitors of many nodes, each request to any node: so many requests a
// second at each of the nodes, of clients who send six in a window. The attackers send a
// quarter more than the limit beside that. It lasts for a window and a quarter.
func Crowd(nodes, perNode, attackers int, window time.Duration) Scenario {
	const name, limit, visit = "crowd", 2000, 6
	lasts := window + window/4
	visitors := nodes * perNode * int(window/time.Second) / visit
	s := Scenario{Name: name, Limit: limit, Window: window, Nodes: nodes, Attackers: uint32(attackers),
		What: fmt.Sprintf("%d visitors and %d attackers, %d requests a second at each of %d nodes", visitors, attackers, perNode, nodes)}
	s.Requests = func(seed uint64) iter.Seq[Request] {
		return func(yield func(Request) bool) {
			rng := stream(name, seed)
			crowd, all := visitors*visit, visitors*visit+attackers*(limit+limit/4) // in a window
			for i := range all + all/4 {
				client := rng.IntN(all)
				if client < crowd {
					client = attackers + client/visit
				} else {
					client = (client - crowd) / (limit + limit/4)
				}
				at := time.Duration(float64(lasts) * float64(i) / float64(all+all/4)).Truncate(time.Microsecond)
				if !yield(Request{At: at, Client: uint32(client), Cost: 1, Node: uint16(rng.IntN(nodes))}) {
					return
				}
			}
		}
	}
	return s
}

// The ways in which a client of [OneWindow] sends what it has.
const (
	Evenly   = "evenly"
	BothEnds = "both-ends" // half as the window begins, half just before it ends
)

// OneWindow is clients that send so many requests each within one window, which begins
// anywhere, and then no more: of an exact log they have at most that many.
func OneWindow(way string, clients, each int, limit uint32, window time.Duration) Scenario {
	name := "one-window-" + way
	return Scenario{Name: name, Limit: limit, Window: window, Nodes: 1, Attackers: uint32(clients),
		What: fmt.Sprintf("%d clients, %d requests of each within one window of %s, %s", clients, each, window, way),
		Requests: drawn(name, func(d *draft) {
			for client := range clients {
				from := d.within(window)
				for i := range time.Duration(each) {
					n := time.Duration(each)
					at := from + (window-time.Microsecond)*i/max(n-1, 1)
					switch {
					case way == BothEnds && i < n/2:
						at = from + i*time.Millisecond
					case way == BothEnds:
						at = from + window - (n-i)*time.Millisecond
					}
					d.add(at.Truncate(time.Microsecond), client)
				}
			}
		})}
}

// Rush is clients that come at any moment of the first window and send evenly so many
// requests a second, three limits in all.
func Rush(clients, perSecond int, limit uint32, window time.Duration) Scenario {
	name := fmt.Sprintf("rush-%d", perSecond)
	return Scenario{Name: name, Limit: limit, Window: window, Nodes: 1, Attackers: uint32(clients),
		What: fmt.Sprintf("%d clients, %d requests of each at %d a second", clients, 3*limit, perSecond),
		Requests: drawn(name, func(d *draft) {
			for client := range clients {
				from := d.within(window)
				for i := range time.Duration(3 * limit) {
					d.add(from+(time.Second*i/time.Duration(perSecond)).Truncate(time.Microsecond), client)
				}
			}
		})}
}

// Steady is clients that send evenly for some windows: in each so many requests, with a
// little jitter.
func Steady(clients, each int, limit uint32, window time.Duration, windows int) Scenario {
	const name = "steady"
	return Scenario{Name: name, Limit: limit, Window: window, Nodes: 1, Attackers: uint32(clients),
		What: fmt.Sprintf("%d clients, %d requests of each in every window of %s", clients, each, window),
		Requests: drawn(name, func(d *draft) {
			every := (window / time.Duration(each)).Truncate(time.Microsecond)
			for client := range clients {
				for at := d.within(window); at < time.Duration(windows)*window; at += every {
					d.add(at+d.within(every/2), client)
				}
			}
		})}
}
