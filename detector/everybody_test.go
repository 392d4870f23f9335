package detector_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/detector"
	"edgeguard/rules"
)

// byPath refuses a path for everybody after five requests in a minute, from wherever.
func byPath() rules.Spec {
	return rules.Spec{
		Name: "path", Key: rules.Group{Everybody: true, With: []string{"path"}},
		Threshold: 5, Guard: "1", Window: time.Minute, Action: edgeguard.ActionDeny, Everybody: true,
	}
}

// visit is a request of a path that is counted as it is asked about.
func visit(addr, path string, at time.Time) edgeguard.Event {
	ev := request(addr, at)
	ev.Method, ev.Path, ev.Known = "GET", path, edgeguard.FieldMethod|edgeguard.FieldPath
	return ev
}

// addressOf returns one of many addresses, of both families.
func addressOf(i int) string {
	if i%2 == 0 {
		return fmt.Sprintf("203.0.113.%d", i)
	}
	return fmt.Sprintf("2001:db8:%x::1", i)
}

// TestEverybody: addresses of both families count in one key, which refuses all of them and no
// other path, whether decided one by one or together.
func TestEverybody(t *testing.T) {
	for _, with := range [][]string{{"path"}, nil} {
		spec := byPath()
		spec.Key.With = with
		var crossings []edgeguard.Crossing
		one, many := newDetector(t, compile(t, spec), nil, &crossings), newDetector(t, compile(t, spec), nil, nil)
		for i := range 9 {
			ev := visit(addressOf(i), "/a", epoch)
			var together [1]edgeguard.Verdict
			many.DecideBatch([]time.Time{epoch}, []edgeguard.Event{ev}, together[:])
			v := one.Decide(epoch, &ev)
			if denied := v.Action == edgeguard.ActionDeny; denied != (i >= 5) || together[0].Action != v.Action {
				t.Errorf("with %v, request %d: %v, together %v", with, i+1, v.Action, together[0].Action)
			}
			if i >= 5 && v.RetryAfter != time.Minute {
				t.Errorf("with %v: retry after %v", with, v.RetryAfter)
			}
		}
		other := visit("203.0.113.0", "/b", epoch)
		if got := one.Decide(epoch, &other).Action == edgeguard.ActionDeny; got != (with == nil) {
			t.Errorf("with %v: another path is refused: %v", with, got)
		}
		want := "everybody"
		if with != nil {
			want += " path=/a"
		}
		if len(crossings) != 1 || crossings[0].Key.String() != want || crossings[0].Key.Prefix.IsValid() {
			t.Errorf("with %v: crossings %+v", with, crossings)
		}
	}
}

// TestEverybodyCollides: two paths whose XXH64 is one are two keys, since six requests to the one
// would refuse the other to all.
func TestEverybodyCollides(t *testing.T) {
	d := newDetector(t, compile(t, byPath()), nil, nil)
	for i := range 6 {
		ev := visit(addressOf(i), "/dv*T(qvuGYhp", epoch)
		d.Decide(epoch, &ev)
	}
	ev := visit("203.0.113.50", "/wp-login.php", epoch)
	if v := d.Decide(epoch, &ev); v.Action != edgeguard.ActionPass {
		t.Errorf("the other path: %+v", v)
	}
}

// TestEverybodyAndBlocks: what a block refuses does not count for everybody, also not of a block
// that is made in the same batch.
func TestEverybodyAndBlocks(t *testing.T) {
	all := byPath()
	all.Threshold = 20
	set := compile(t, rules.Spec{Name: "site", Threshold: 3, Guard: "1"}, all)
	one, many := newDetector(t, set, nil, nil), newDetector(t, set, nil, nil)
	var nows []time.Time
	var events []edgeguard.Event
	for range 50 {
		nows, events = append(nows, epoch), append(events, visit("203.0.113.7", "/a", epoch))
	}
	verdicts := make([]edgeguard.Verdict, len(events))
	many.DecideBatch(nows, events, verdicts)
	for i := range events {
		one.Decide(nows[i], &events[i])
	}
	ev := visit("203.0.113.8", "/a", epoch)
	for name, d := range map[string]*detector.Detector{"one by one": one, "together": many} {
		if n, ok := d.Count(epoch, &ev, 1); n != 4 || !ok {
			t.Errorf("%s: everybody's count is %d, want the 4 before the block", name, n)
		}
	}
}

// TestEverybodyIsNotAsked: a question that is not counted is not refused by such a count.
func TestEverybodyIsNotAsked(t *testing.T) {
	d := newDetector(t, compile(t, byPath()), nil, nil)
	for i := range 9 {
		ev := visit(addressOf(i), "/a", epoch)
		d.Decide(epoch, &ev)
	}
	ev := question("203.0.113.99", "GET", "/a", epoch)
	if v := d.LookUpVerdict(epoch, &ev); v.Action != edgeguard.ActionPass {
		t.Errorf("asked: %+v", v)
	}
}

// TestEverybodyRefusedVisitor: what such a rule has a visitor told is no evidence against the visitor,
// where the node counted the request itself; where the log counts it, the answer is the site's.
func TestEverybodyRefusedVisitor(t *testing.T) {
	all := byPath()
	all.Match.Kind = []string{"request"}
	set := compile(t, all, rules.Spec{Name: "refusals", Match: rules.Match{Status: []string{"429"}}, Threshold: 100, Action: edgeguard.ActionShadow})
	for _, c := range []struct {
		kinds edgeguard.Kind
		want  uint32
	}{{edgeguard.KindResponse, 0}, {edgeguard.KindRequest | edgeguard.KindResponse, 1}} {
		d := newDetector(t, set, nil, nil)
		for i := range 9 {
			ev := visit(addressOf(i), "/a", epoch)
			d.Decide(epoch, &ev)
		}
		line := answered("203.0.113.8", "GET", "/a", 429, epoch)
		line.Kind, line.Verified, line.TurnedAway = c.kinds, c.kinds, true
		d.Decide(epoch, &line)
		if n, _ := d.Count(epoch, &line, 1); n != c.want {
			t.Errorf("a line of %v counts %d, want %d", c.kinds, n, c.want)
		}
	}
}

// TestEverybodyIsNoAddress: what is said of addresses leaves the count alone: unblocks of all of
// IPv4, of no address, of the widest network; and a client that has the address of its key.
func TestEverybodyIsNoAddress(t *testing.T) {
	all := byPath()
	all.Name, all.Key.With = "all", nil
	d := newDetector(t, compile(t, byPath(), all, rules.Spec{Name: "site", Threshold: 3, Guard: "1", Action: edgeguard.ActionShadow}), nil, nil)
	for i := range 4 {
		ev := visit(addressOf(i), "/a", epoch)
		d.Decide(epoch, &ev)
	}
	held := visit("0.0.0.0", "/b", epoch)
	d.Decide(epoch, &held)
	for _, p := range []string{"0.0.0.0/0", "0.0.0.0/32", "::/0"} {
		d.Clear(epoch, netip.MustParsePrefix(p))
		d.Pardon(epoch, "path", netip.MustParsePrefix(p))
		d.Pardon(epoch, "all", netip.MustParsePrefix(p))
	}
	ev := visit("203.0.113.77", "/a", epoch)
	for rule, want := range []uint32{4, 5} {
		if n, ok := d.Count(epoch, &ev, rule); n != want || !ok {
			t.Errorf("the count is %d, want %d", n, want)
		}
	}
	for _, x := range d.Explain(epoch, ev.Addr).Rules {
		if x.Rule == "path" && (x.Count != 4 || x.Keys != 2 || x.Key.Prefix.IsValid()) {
			t.Errorf("explained: %+v", x)
		}
	}
}

// TestDistinctAddresses: an address counts once, a /48 too, and a forged one not at all; above 400 one figure
// stands for all.
func TestDistinctAddresses(t *testing.T) {
	var crossings []edgeguard.Crossing
	spec := func(threshold uint32) rules.Spec {
		return rules.Spec{Name: fmt.Sprint("from", threshold), Match: rules.Match{Path: []string{"/login"}}, Distinct: "address", Threshold: threshold, Guard: "1",
			Key: rules.Group{Everybody: true, With: []string{"path"}}, Action: edgeguard.ActionShadow}
	}
	d := newDetector(t, compile(t, spec(4), spec(400)), nil, &crossings)
	see := func(addr string) edgeguard.Verdict {
		ev := visit(addr, "/login", epoch)
		return d.Decide(epoch, &ev)
	}
	for _, addr := range []string{"203.0.113.1", "203.0.113.1", "203.0.113.2", "2001:db8:1::1", "2001:db8:1:ffff::1", "2001:db8:2::1"} {
		if v := see(addr); v.Action != edgeguard.ActionPass {
			t.Errorf("%s: %+v", addr, v)
		}
	}
	forged := visit("203.0.113.9", "/login", epoch)
	forged.Verified = 0
	d.Decide(epoch, &forged)
	if n, _ := d.Count(epoch, &forged, 0); n != 0 || len(crossings) != 0 {
		t.Errorf("a forged one counts %d, crossings %v", n, crossings)
	}
	if v := see("203.0.113.3"); v.Action != edgeguard.ActionShadow || v.Count != 5 || v.Limit != 4 {
		t.Errorf("the fifth: %+v", v)
	}
	for i := range 600 {
		see(fmt.Sprintf("198.18.%d.%d", i>>8, i&255))
	}
	measure := compile(t, spec(4)).Meters[0].MeasureOf()
	if v := see("203.0.113.4"); v.Count != 401 || measure.Of(v.Count) != "more than 400 different addresses" || measure.Of(9) != "9 different addresses" {
		t.Errorf("of 606: %+v, %s", v, measure.Of(v.Count))
	}
	if len(crossings) != 2 || crossings[1].Count != 401 {
		t.Errorf("crossings %+v", crossings)
	}
}

// TestEverybodyOracle holds random rules of keys without an address, among others that block,
// against the slow twin, in a fleet in every third round.
func TestEverybodyOracle(t *testing.T) {
	for round := range rounds(60) {
		seed := rand.Uint64()
		set := randomEverybody(t, rand.New(rand.NewPCG(seed, 5)))
		var rest func(meter int, key edgeguard.Key, slot uint32) uint32
		if round%3 == 1 {
			rest = func(meter int, _ edgeguard.Key, slot uint32) uint32 {
				return uint32((seed ^ uint64(meter)<<32 ^ uint64(slot)) * 0x9e3779b97f4a7c15 >> 60)
			}
		}
		holdAgainstOracle(t, set, seed, round, rest)
	}
}

func randomEverybody(t *testing.T, r *rand.Rand) *rules.Set {
	withs := [][]string{nil, {"path"}, {"host"}, {"method", "host"}, {"query"}, {"query:x"}}
	specs := []rules.Spec{
		{Name: "blocks", Threshold: 10 + r.Uint32N(40), BlockFor: time.Minute, WhileOver: r.IntN(2) == 0},
		{Name: "net", Key: rules.Group{V4: 24, V6: 48}, Threshold: 60 + r.Uint32N(60), Action: edgeguard.ActionDeny},
	}
	for i := range 1 + r.IntN(6) {
		spec := rules.Spec{
			Name: fmt.Sprintf("all%d", i), Key: rules.Group{Everybody: true, With: withs[r.IntN(len(withs))]},
			Threshold: 1 + r.Uint32N(400), Window: []time.Duration{time.Minute, 5 * time.Minute}[r.IntN(2)], Action: edgeguard.ActionShadow,
		}
		if r.IntN(2) == 0 {
			spec.Action, spec.Everybody = edgeguard.ActionDeny, true
		}
		if r.IntN(3) == 0 {
			spec.Distinct, spec.Threshold, spec.Scope = "address", 1+r.Uint32N(15), rules.ScopeNode
		}
		switch r.IntN(6) {
		case 0:
			spec.Match = rules.Match{Method: []string{"POST"}}
		case 1:
			if spec.Distinct != "" {
				break
			}
			spec.Costs = []rules.Charge{{Match: rules.Match{Path: []string{"/search*"}}, Cost: 9}}
		case 2:
			spec.Wide = rules.WideStrict
		case 3:
			spec.Scope = rules.ScopeNode
		case 4:
			if spec.Distinct != "" {
				break
			}
			spec.OnFleetLoss = rules.LossClosed
			if spec.Action == edgeguard.ActionShadow {
				spec.OnFleetLoss = rules.LossOpen
			}
		}
		specs = append(specs, spec)
	}
	return compile(t, specs...)
}

// BenchmarkEverybody decides requests of scattered addresses by a rule of each and, beside it, one of all:
// by one goroutine and by two, each of which makes half of them.
func BenchmarkEverybody(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			d := newDetector(b, compile(b,
				rules.Spec{Name: "site", Threshold: 60000},
				rules.Spec{Name: "all", Threshold: 60000, Window: time.Minute, Key: rules.Group{Everybody: true}, Action: edgeguard.ActionShadow},
			), nil, nil)
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					ev := visit("8.8.0.0", "/a", epoch)
					for i := w; i < b.N; i += workers {
						n := uint32(i) * 0x9e3779b1
						ev.Addr = netip.AddrFrom4([4]byte{8, byte(n >> 24), byte(n >> 16), byte(n >> 8)})
						ev.Time = epoch.Add(time.Duration(i) * 5 * time.Millisecond) // so that nothing is over
						d.Decide(ev.Time, &ev)
					}
				})
			}
			all.Wait()
		})
	}
}
