package count

import (
	"time"

	"edgeguard"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
)

// Limiters lists what is counted of the ways to limit a rate that edgeguard is
// compared with. They are no rows of the table: nothing here is held to them.
func Limiters() []Operation {
	var all []Operation
	for _, k := range limiter.Algorithms() {
		if k.Name == "ring-0.95" {
			continue // the same code as ring-1
		}
		all = append(all,
			take(k, "cold", "one more request of a client that came once", 1),
			take(k, "dense", "one more request of a client that came in each of 60 slots", edgeguard.Slots))
	}
	return all
}

func take(k limiter.Algorithm, name, does string, slots int) Operation {
	const window, room = 5 * time.Minute, 1 << 20
	return Operation{"Take/" + k.Name + "/" + name, does, 1 << 16, 1, func() step {
		l, begins := k.New(room, window), traffic.Start.Sub(time.Unix(0, 0))
		var last time.Duration
		for slot := range slots {
			last = begins + time.Duration(slot)*window/edgeguard.Slots
			for client := range uint32(fewKeys) {
				admit(l, last, client)
			}
		}
		return func(i int, call bool) {
			if client := uint32(i * 7919 % fewKeys); call {
				admit(l, last, client)
			}
		}
	}}
}

func admit(l limiter.Limiter, now time.Duration, client uint32) {
	if d, err := l.Take(now, client, 1); err != nil || !d.Allowed {
		panic("a request was refused where there was room")
	}
}
