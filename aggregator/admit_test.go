package aggregator

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard/shard"
)

func flooder(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

// A flood of fresh addresses fills all room among the suspects many times over;
// a later key with more counts is still reported, whether Redis is there or away.
func TestAFloodHidesNobody(t *testing.T) {
	const room, offenders = 6400, 100
	for name, away := range map[string]bool{"Redis is there": false, "Redis is away": true} {
		t.Run(name, func(t *testing.T) {
			table := shard.New(shard.NewMemory(1<<25), shard.Config{Seed: 1})
			b := &bench{t, table, New(Config{
				Meters: []Meter{{Fingerprint: 7, Width: width, Limit: 100, Table: table}},
				Boot:   boot, MaxNodes: 5, MaxSuspects: room,
			})}
			now := boot
			push := func() {
				if now = now.Add(500 * time.Millisecond); !away {
					b.answer(b.Collect(now, false), Answer{}, now)
				}
			}
			for i := range 10 * room {
				b.hit(flooder(i), now, 1)
				if i%room == room-1 {
					push()
				}
			}
			for range 20 {
				for i := range offenders {
					b.hit(netip.AddrFrom4([4]byte{11, 0, 0, byte(i)}), now, 1)
				}
				push()
			}
			// The flood goes on, with more of each address.
			for i := range room {
				b.hit(flooder(i), now, 3)
			}
			push()
			found := 0
			for i := range b.suspects {
				p := &b.suspects[i]
				for id := range p.known {
					if id.prefix().Addr().As4()[0] == 11 {
						found++
					}
				}
				if len(p.list) > 2*len(p.known)+sampled {
					t.Errorf("%d in the list of %d suspects", len(p.list), len(p.known))
				}
			}
			s := b.Stats()
			if found != offenders || s.Suspects != room || s.Displaced < offenders || s.HeldBack == 0 {
				t.Errorf("%d of %d offenders were reported; %+v", found, offenders, s)
			}
			told := make(map[Key]bool)
			for _, p := range b.Collect(now, true) {
				if told[p.Key] {
					t.Fatalf("%v twice in one round", p.Key)
				}
				told[p.Key] = true
			}
		})
	}
}

func TestTheWatchedStay(t *testing.T) {
	var p suspects
	p.known = make(map[suspectID]suspect)
	for i := range 100 {
		p.known[newSuspectID(0, netip.PrefixFrom(flooder(i), 32), 0)] = suspect{watchedUntil: 9, rank: 1}
	}
	if p.displace(1000, false) || p.displace(1000, true) {
		t.Error("a watched suspect was displaced")
	}
	p.known = map[suspectID]suspect{newSuspectID(0, netip.PrefixFrom(flooder(1), 32), 0): {rank: 5}}
	if p.displace(5, false) {
		t.Error("displaced by one of no higher rank")
	}
	if !p.displace(0, true) || len(p.known) != 0 {
		t.Error("no room for what the fleet watches")
	}
}
