package traffic

import "time"

// The clients of [Shop]: attackers first, then two crowds, then visitors.
const (
	shopAttackers = 20
	shopVisitors  = 200
)

// Shop is for programs that are asked in real time, and lasts as long as is said: visitors of
// a shop, two crowds with an address each that stay under the limit of a minute, one evenly
// and one in bursts more than a minute apart, and attackers that go on, each at its rate,
// whatever is answered. The slowest crosses the limit after 17 s, the fastest after 4.
func Shop(length time.Duration) Scenario {
	p := plan{window: time.Minute}
	return p.scenario("shop", "200 visitors, two crowds under the limit behind an address each, 20 attackers of 6 to 24 requests a second",
		burstLimit, shopAttackers, func(d *draft) {
			const slowest, fastest = 6, 24
			for n := range shopAttackers {
				d.pace(n, time.Second*(shopAttackers-1)/time.Duration(slowest*(shopAttackers-1)+(fastest-slowest)*n), length)
			}
			d.pace(shopAttackers, min(length, time.Minute)/90, length)
			for at := time.Duration(0); at < length; at += 70 * time.Second {
				d.burst(at, 8*time.Second, shopAttackers+1, 90)
			}
			for n := range shopVisitors {
				for at := d.within(10 * time.Second); at < length; at += 8*time.Second + d.within(12*time.Second) {
					d.burst(at, time.Second, shopAttackers+2+n, 3+d.rng.IntN(6)) // a page, its pictures and scripts
				}
			}
		})
}

// pace lets a client come again and again, each time a little late.
func (d *draft) pace(client int, every, length time.Duration) {
	for at := d.within(every); at < length; at += every {
		d.add((at + d.within(every/4)).Truncate(time.Microsecond), client)
	}
}
