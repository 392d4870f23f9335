package detector_test

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/frontdoor"
	"edgeguard/rules"
	"edgeguard/shard"
)

// A private address is blocked only where its source has shown a public client within a day, or
// the config says that it is a client. A denial is as a block.
func TestFrontDoor(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{
		{Name: "blocks", Threshold: 5, Guard: "1"},
		{Name: "denies", Threshold: 3, Guard: "1", Action: edgeguard.ActionDeny},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	const hour = time.Hour
	for name, c := range map[string]struct {
		addr    string
		public  []time.Duration // when a public client came in the same source, before
		named   bool
		clients []netip.Prefix
		refused bool
	}{
		"balancer":         {addr: "172.31.7.211"},
		"carrier's space":  {addr: "100.64.0.9"},
		"loopback":         {addr: "127.0.0.1"},
		"unique local":     {addr: "fd00::7"},
		"link-local":       {addr: "fe80::7"},
		"public":           {addr: "203.0.113.9", refused: true},
		"beside a client":  {addr: "172.31.7.211", public: []time.Duration{23 * hour}, refused: true},
		"long after one":   {addr: "172.31.7.211", public: []time.Duration{25 * hour}},
		"named by a proxy": {addr: "172.31.7.211", named: true, refused: true},
		"a client":         {addr: "172.31.7.211", clients: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}, refused: true},
		"another's client": {addr: "10.0.0.1", clients: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}},
	} {
		for _, batch := range []bool{false, true} {
			var doors, blocks int
			d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(1 << 20), List: blocklist.New(blocklist.Config{}), Doors: frontdoor.New(1), Clients: c.clients,
				Crossed: func(c edgeguard.Crossing) {
					if c.FrontDoor != "" {
						doors++
					} else if c.Action != edgeguard.ActionAlarm {
						blocks++
					}
				}})
			now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
			decide := func(addr string, at time.Time, source uint8) edgeguard.Verdict {
				ev := edgeguard.Event{Time: at, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Named: c.named, Source: source}
				if !batch {
					return d.Decide(at, &ev)
				}
				var v [1]edgeguard.Verdict
				d.DecideBatch([]time.Time{at}, []edgeguard.Event{ev}, v[:])
				return v[0]
			}
			decide("203.0.113.200", now, 2) // of another source: says nothing of this one
			for _, before := range c.public {
				decide("203.0.113.200", now.Add(-before), 1)
			}
			refused := false
			for range 8 {
				refused = refused || decide(c.addr, now, 1).Action == edgeguard.ActionDeny
			}
			if refused != c.refused || (blocks > 0) != c.refused || (doors == 2) == c.refused {
				t.Errorf("%s, batch %v: refused %v, %d crossings refuse, %d are of a front door", name, batch, refused, blocks, doors)
			}
		}
	}
}

// A batch is decided as its events one by one: a public client that comes after a balancer has
// crossed the limit does not make a client of it.
func TestFrontDoorInABatch(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "blocks", Threshold: 5, Guard: "1"}})
	if problems != nil {
		t.Fatal(problems)
	}
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	events := make([]edgeguard.Event, 20)
	for i := range events {
		addr := "172.31.7.211"
		if i == 10 {
			addr = "203.0.113.9"
		}
		events[i] = edgeguard.Event{Time: now, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Source: 1}
	}
	decide := func(decide func(*detector.Detector, []edgeguard.Event)) (crossings []edgeguard.Crossing) {
		decide(detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(1 << 20), List: blocklist.New(blocklist.Config{}), Doors: frontdoor.New(1),
			Crossed: func(c edgeguard.Crossing) { crossings = append(crossings, c) }}), events)
		return crossings
	}
	one := decide(func(d *detector.Detector, events []edgeguard.Event) {
		for i := range events {
			d.Decide(now, &events[i])
		}
	})
	batch := decide(func(d *detector.Detector, events []edgeguard.Event) {
		d.DecideBatch(slices.Repeat([]time.Time{now}, len(events)), events, make([]edgeguard.Verdict, len(events)))
	})
	if !reflect.DeepEqual(one, batch) || len(one) == 0 || one[0].FrontDoor != frontdoor.Inner {
		t.Errorf("one by one: %+v\nin a batch: %+v", one, batch)
	}
}

// What the fleet counts of a balancer blocks it no more than what this node counts.
func TestFrontDoorOfTheFleet(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "fleet", Threshold: 5, Guard: "1", Scope: rules.ScopeFleet}})
	if problems != nil {
		t.Fatal(problems)
	}
	now, list := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), blocklist.New(blocklist.Config{})
	var heard []edgeguard.Crossing
	d := detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(1 << 20), List: list, Doors: frontdoor.New(1),
		Crossed: func(c edgeguard.Crossing) { heard = append(heard, c) }})
	for _, addr := range []string{"172.31.7.211", "203.0.113.9"} {
		door := netip.MustParseAddr("172.31.7.211")
		d.Decide(now, &edgeguard.Event{Time: now, Addr: door, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Source: 1})
		d.FleetCount(now, 0, netip.PrefixFrom(netip.MustParseAddr(addr), 32), 0, 500, "fleet")
	}
	if len(heard) != 2 || heard[0].FrontDoor != frontdoor.Inner || heard[1].Action != edgeguard.ActionBlock || list.Len() != 1 {
		t.Errorf("crossings %+v, %d blocks", heard, list.Len())
	}
}
