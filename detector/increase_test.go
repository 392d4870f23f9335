package detector_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/fulltest"
	"edgeguard/ring"
	"edgeguard/rules"
	"edgeguard/shard"
)

// increasing is a detector that is given increases, or as many events.
type increasing struct {
	*detector.Detector
	list     *blocklist.List
	told     []edgeguard.Crossing
	evidence []edgeguard.Evidence
}

func newIncreasing(set *rules.Set, monitor bool, rest func(meter int, key edgeguard.Key, slot uint32) uint32) *increasing {
	d := &increasing{list: blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.1.5/32"), netip.MustParsePrefix("2001:db8:1:105::/64")}})}
	c := detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: d.list, RollUp: true, Monitor: monitor, Node: "here"}
	c.Crossed = func(x edgeguard.Crossing) {
		d.told = append(d.told, x)
		if e, ok := d.Evidence(&x); ok {
			d.evidence = append(d.evidence, e)
		}
	}
	if rest != nil {
		c.Fleet = func(meter int, op *shard.Op, _ uint32) uint32 {
			return rest(meter, set.Meters[meter].Key(op.Addr, op.With), op.Now)
		}
	}
	d.Detector = detector.New(c)
	return d
}

// columned returns random rules; rules of one host are of one meter, and no two meters
// count the same event.
func columned(t *testing.T, r *rand.Rand) *rules.Set {
	type shared struct {
		window time.Duration
		key    rules.Group
		cost   uint32
	}
	hosts := make([]shared, 3)
	for i := range hosts {
		hosts[i] = shared{[]time.Duration{time.Minute, 5 * time.Minute, time.Hour}[r.IntN(3)], rules.Group{}, 1}
		switch r.IntN(3) {
		case 0:
			hosts[i].key = rules.Group{V4: 24, V6: 48}
		case 1:
			hosts[i].cost = 1 + r.Uint32N(90)
		}
	}
	lengths := []time.Duration{5 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute, time.Hour}
	specs := make([]rules.Spec, 1+r.IntN(6))
	for i := range specs {
		h, k := r.IntN(len(hosts)), r.IntN(len(lengths)-2)
		specs[i] = rules.Spec{
			Name: fmt.Sprintf("r%d", i), Match: rules.Match{Host: []string{fmt.Sprintf("h%d", h)}}, Window: hosts[h].window, Key: hosts[h].key, Cost: hosts[h].cost,
			Threshold: 3 + r.Uint32N(400), WhileOver: r.IntN(3) == 0, BlockFor: lengths[k],
		}
		switch r.IntN(5) {
		case 0:
			specs[i].Action, specs[i].WhileOver = edgeguard.ActionDeny, false
		case 1:
			specs[i].Action, specs[i].WhileOver = edgeguard.ActionShadow, false
		}
		if r.IntN(2) == 0 && specs[i].Action == 0 {
			specs[i].Escalate = lengths[k+1 : k+2+r.IntN(2)]
		}
		if r.IntN(2) == 0 {
			specs[i].Candidates = []uint32{1 + r.Uint32N(specs[i].Threshold-1), specs[i].Threshold + 1 + r.Uint32N(300)}
		}
		if r.IntN(3) == 0 {
			specs[i].Scope = rules.ScopeNode
		}
	}
	return compile(t, specs...)
}

// TestIncreasesOracle: an increase of n is n events, in all that comes of it: verdicts,
// counts, crossings with their counts, evidence, blocks, steps and figures.
func TestIncreasesOracle(t *testing.T) {
	fulltest.Only(t)
	for round := range rounds(60) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 3))
		set := columned(t, r)
		var rest func(meter int, key edgeguard.Key, slot uint32) uint32
		if round%3 == 2 {
			rest = func(meter int, key edgeguard.Key, slot uint32) uint32 {
				h := xxhash.Sum64String(key.String()) ^ seed ^ uint64(meter)<<32 ^ uint64(slot)
				return uint32(h*0x9e3779b97f4a7c15>>32) % 60
			}
		}
		holdIncreases(t, fmt.Sprintf("round %d, seed %d", round, seed), r, set, round%5 == 4, rest)
	}
}

func holdIncreases(t *testing.T, about string, r *rand.Rand, set *rules.Set, monitor bool, rest func(meter int, key edgeguard.Key, slot uint32) uint32) {
	t.Helper()
	single, bulk := newIncreasing(set, monitor, rest), newIncreasing(set, monitor, rest)
	now := epoch
	for i := range 400 {
		if r.IntN(3) == 0 {
			now = now.Add(time.Duration(r.IntN(9000)) * time.Millisecond)
		}
		if r.IntN(60) == 0 {
			now = now.Add(time.Duration(r.IntN(900)) * time.Second)
		}
		if r.IntN(100) == 0 {
			lost := r.IntN(2) == 0
			single.SetFleetLost(lost)
			bulk.SetFleetLost(lost)
		}
		in := randomIncrease(r, set, now)
		var got, want detector.Decided
		bulk.DecideIncreases(now, i%2 == 0, []detector.Increase{in}, func(x detector.Decided) { got = x })
		want = single.one(now, i%2 == 0, &in, set)
		if want.Denied+want.Shadowed == 0 && !want.Late {
			want = detector.Decided{}
		}
		if got != want {
			t.Fatalf("%s, increase %d of %d at %v: %+v, events: %+v", about, i, in.N, in.Time, got, want)
		}
		if got, want := bulk.told, single.told; !slices.Equal(got, want) {
			t.Fatalf("%s, increase %d of %d:\n%+v, events:\n%+v", about, i, in.N, got, want)
		}
		comparedLists(t, fmt.Sprintf("%s, increase %d", about, i), now, bulk, single)
	}
	bulk.same(t, about, single)
}

// randomIncrease is mostly small, and as often as not of the past.
func randomIncrease(r *rand.Rand, set *rules.Set, now time.Time) detector.Increase {
	in := detector.Increase{Time: now, N: 1 + r.Uint32N(9), Meter: r.IntN(len(set.Meters))}
	_, in.Cost = matched(&set.Meters[in.Meter])
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4:
		in.N = r.Uint32N(500)
	case 5:
		in.N = r.Uint32N(5000)
	}
	switch r.IntN(6) {
	case 0, 1:
		in.Time = now.Add(-time.Duration(r.IntN(320)) * time.Second)
	case 2:
		in.Time = now.Add(time.Duration(r.IntN(20)) * time.Second)
	}
	in.Addr = netip.MustParseAddr(fmt.Sprintf("192.0.%d.%d", r.IntN(2), r.IntN(6)))
	if r.IntN(2) == 0 {
		in.Addr = netip.MustParseAddr(fmt.Sprintf("2001:db8:%d:%d0%d::", r.IntN(2), r.IntN(2), r.IntN(9)))
	}
	return in
}

// one decides an increase event by event.
func (d *increasing) one(now time.Time, proxied bool, in *detector.Increase, set *rules.Set) (out detector.Decided) {
	event, _ := matched(&set.Meters[in.Meter])
	event.Time, event.Addr, event.Proxied = in.Time, in.Addr, proxied
	out.Requests = in.N
	late := d.Stats().Late
	for range in.N {
		switch v := d.Decide(now, &event); {
		case v.Action == edgeguard.ActionDeny || v.Unenforced:
			out.Denied, out.DeniedBy = out.Denied+1, v.Rule
		case v.Action == edgeguard.ActionShadow:
			out.Shadowed, out.ShadowedBy = out.Shadowed+1, v.Rule
		}
	}
	if out.Late = d.Stats().Late > late; out.Late {
		out.Lost, out.LateSteps = in.N, uint64(in.N)
	}
	return out
}

// matched returns an event that the meter matches, and its cost.
func matched(m *rules.Meter) (event edgeguard.Event, cost uint16) {
	event = edgeguard.Event{Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Known: edgeguard.FieldHost}
	for h := range 3 {
		event.Host = fmt.Sprintf("h%d", h)
		if cost, ok := m.Match(&event); ok {
			return event, cost
		}
	}
	panic("no host of the test")
}

// comparedLists holds the blocks and what they refused against each other. A block that
// was extended many times has another version.
func comparedLists(t *testing.T, about string, now time.Time, got, want *increasing) {
	t.Helper()
	blocks := func(d *increasing) (all []edgeguard.Block) {
		for b := range d.list.Records() {
			b.Version = 0
			all = append(all, b)
		}
		slices.SortFunc(all, func(a, b edgeguard.Block) int { return a.Prefix.Compare(b.Prefix) })
		return all
	}
	if got, want := blocks(got), blocks(want); !slices.Equal(got, want) {
		t.Fatalf("%s: blocks\n%+v, events:\n%+v", about, got, want)
	}
	for _, b := range blocks(want) {
		n, at, ok := got.list.Refusals(b.Prefix)
		if m, last, is := want.list.Refusals(b.Prefix); n != m || !at.Equal(last) || ok != is {
			t.Fatalf("%s: %v refused %d until %v, events: %d until %v", about, b.Prefix, n, at, m, last)
		}
	}
}

// same compares all that is left at the end.
func (d *increasing) same(t *testing.T, about string, want *increasing) {
	t.Helper()
	if !reflect.DeepEqual(d.evidence, want.evidence) {
		t.Errorf("%s: evidence\n%+v, events:\n%+v", about, d.evidence, want.evidence)
	}
	if d.Stats() != want.Stats() {
		t.Errorf("%s: figures %+v, events: %+v", about, d.Stats(), want.Stats())
	}
	if got, want := slices.Collect(d.Steps()), slices.Collect(want.Steps()); !slices.Equal(got, want) {
		t.Errorf("%s: steps\n%+v, events:\n%+v", about, got, want)
	}
	windows := func(t detector.Table) map[netip.Prefix]ring.Ring {
		all := make(map[netip.Prefix]ring.Ring)
		t.Windows(func(prefix netip.Prefix, _ uint64, head uint32, counts *ring.Counts) bool {
			all[prefix] = ring.New(head, *counts)
			return true
		})
		return all
	}
	tables := want.Tables()
	for i, table := range d.Tables() {
		got, want := windows(table), windows(tables[i])
		if len(got) != len(want) {
			t.Errorf("%s: table %d has %d keys, events: %d", about, i, len(got), len(want))
		}
		for prefix := range want {
			if got[prefix] != want[prefix] {
				t.Errorf("%s: table %d, %v: %v, events: %v", about, i, prefix, got[prefix], want[prefix])
			}
		}
	}
	for i := range d.Explain(epoch, netip.MustParseAddr(someone)).Rules {
		if got, want := d.Tallies(i), want.Tallies(i); !slices.Equal(got, want) {
			t.Errorf("%s: candidates %+v, events: %+v", about, got, want)
		}
	}
}

// A number that no counter can hold is bounded: a slot stays full, and the address is
// blocked once.
func TestIncreaseOfMany(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 60000, Guard: "1", Cost: 7, Candidates: []uint32{10}})
	var ruled detector.Decided
	in := detector.Increase{Addr: netip.MustParseAddr(someone), Time: epoch, Cost: 7, N: math.MaxUint32}
	b.DecideIncreases(epoch, false, []detector.Increase{in}, func(r detector.Decided) { ruled = r })
	passed := uint32(60000 / 7)
	if want := (detector.Decided{Requests: math.MaxUint32, Denied: math.MaxUint32 - passed, DeniedBy: "r"}); ruled != want {
		t.Errorf("%+v, want %+v", ruled, want)
	}
	if got := b.Explain(epoch, in.Addr).Rules[0].Count; got != 65535 {
		t.Errorf("counted %d", got)
	}
	if s := b.Stats(); s.Passed != uint64(passed) || s.Events != math.MaxUint32 {
		t.Errorf("%+v", s)
	}
	if _, block := b.list.Find(epoch, in.Addr); block == nil || block.Count != (passed+1)*7 || len(b.told) != 1 {
		t.Errorf("%+v, %d changes", block, len(b.told))
	}
	for range 10 { // its sample does not overflow
		b.DecideIncreases(epoch, false, []detector.Increase{in}, func(detector.Decided) {})
	}
	if addr, share, ok := b.Dominant(epoch.Add(time.Minute)); !ok || addr != in.Addr || share < 0.99 {
		t.Errorf("of all requests %v sent %v, %t", addr, share, ok)
	}
	if got := b.Sample(epoch).Share(host(someone), everyone); got < 0.99 {
		t.Errorf("its share is %v", got)
	}
}

// What several columns counted of one address at one time are the same requests: as
// many as the greatest says. Another time or address are others.
func TestIncreasesOfOneRequest(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "site", Threshold: 1000}, rules.Spec{Name: "login", Threshold: 5, Guard: "1", Match: rules.Match{Method: []string{"POST"}}})
	addr, other := netip.MustParseAddr(someone), netip.MustParseAddr("192.0.2.2")
	var ruled []detector.Decided
	b.DecideIncreases(epoch, true, []detector.Increase{
		{Addr: addr, Time: epoch, Meter: 0, Cost: 1, N: 20}, {Addr: addr, Time: epoch, Meter: 1, Cost: 1, N: 8},
		{Addr: other, Time: epoch, Meter: 0, Cost: 1, N: 3},
		{Addr: other, Time: epoch.Add(-time.Second), Meter: 0, Cost: 1, N: 4},
		{Addr: other, Time: epoch.Add(-time.Hour), Meter: 0, Cost: 1, N: 5},
		{Addr: other, Time: epoch, Meter: 1, Cost: 1},
	}, func(r detector.Decided) { ruled = append(ruled, r) })
	want := []detector.Decided{{Requests: 20, Denied: 3, DeniedBy: "login"}, {Requests: 5, Late: true, Lost: 5, LateSteps: 5}}
	if !slices.Equal(ruled, want) {
		t.Errorf("%+v, want %+v", ruled, want)
	}
	if s, want := b.Stats(), (detector.Stats{Events: 32, Passed: 29, Denied: 3, Late: 5}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	if _, block := b.list.Find(epoch, addr); block == nil || !block.Proxied || block.Rule != "login" || block.Count != 6 {
		t.Errorf("%+v", block)
	}
	if got := b.Explain(epoch, addr).Rules[0].Count; got != 20 {
		t.Errorf("site counts %d", got)
	}
}

// Nothing of a request is known, and so no sample of one is kept.
func TestIncreasesHaveNoSamples(t *testing.T) {
	b := newBench(t)
	b.config.Sample = func(time.Time, netip.Prefix, *edgeguard.Event, time.Time) { t.Error("a sample of no request") }
	b.reload(t, rules.Spec{Name: "block", Threshold: 10}, rules.Spec{Name: "deny", Threshold: 8, Action: edgeguard.ActionDeny})
	for i := range 200 {
		b.DecideIncreases(epoch, false, []detector.Increase{{Addr: netip.MustParseAddr(someone), Time: epoch, Cost: 1, N: uint32(i % 3)}}, func(detector.Decided) {})
	}
	if b.Stats().Denied == 0 {
		t.Error("nothing was denied")
	}
}

// One counter is all of a /64: where an address of it is allowed or protected, whose
// requests the counter has too, the neighbours are not blocked for them.
func TestIncreaseOfSpared(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 5})
	b.list.SetAllow([]netip.Prefix{netip.MustParsePrefix("2001:db8:0:1::7/128"), netip.MustParsePrefix("192.0.2.7/32")})
	b.list.SetProtected([]netip.Prefix{netip.MustParsePrefix("2001:db8:0:2::7/128")})
	b.list.SetPeers([]netip.Prefix{netip.MustParsePrefix("2001:db8:0:3::7/128")}, nil)
	for addr, want := range map[string]uint32{
		"2001:db8:0:1::": 0, "2001:db8:0:2::": 0, "192.0.2.7": 0, "192.0.2.6": 9, "2001:db8:0:3::": 9, "2001:db8::": 9,
	} {
		in := detector.Increase{Addr: netip.MustParseAddr(addr), Time: epoch, Cost: 1, N: 9}
		b.DecideIncreases(epoch, false, []detector.Increase{in}, func(detector.Decided) {})
		if got := b.Explain(epoch, in.Addr).Rules[0].Count; got != want {
			t.Errorf("%s: counted %d, want %d", addr, got, want)
		}
	}
	if got := b.Stats().Spared; got != 27 {
		t.Errorf("%d were spared", got)
	}
}

// BenchmarkIncreases is the cost of one increase of one key and meter.
func BenchmarkIncreases(b *testing.B) {
	for _, n := range []uint32{1, 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := benchDetector(b, rules.Spec{Name: "site", Threshold: 60000})
			nows, events := benchEvents()
			var ins []detector.Increase
			for i := range events {
				ins = append(ins, detector.Increase{Addr: events[i].Addr, Time: nows[0], Cost: 1, N: n})
			}
			b.ReportAllocs()
			for i := range b.N / 64 {
				from := i * 64 % len(ins)
				d.DecideIncreases(nows[0].Add(time.Duration(i)*time.Millisecond), false, ins[from:from+64], func(detector.Decided) {})
			}
		})
	}
}
