package detector_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
	"edgeguard/shard"
)

// TestOracle holds Decide and DecideBatch against the slow twin.
func TestOracle(t *testing.T) {
	for round := range rounds(20) {
		holdAgainstOracle(t, mixed(t), rand.Uint64(), round, nil)
	}
}

// rounds returns how many of n rounds beside an oracle to run: each run has other seeds, so
// two runs have all. One goroutine has nothing to race with, and under the detector each
// takes ten times as long.
func rounds(n int) int {
	if underRace || testing.Short() {
		return n / 5
	}
	return n / 2
}

// holdAgainstOracle decides random events one by one, in batches and by the
// oracle. Where there is a fleet, its totals come in between, and it is lost
// and found.
func holdAgainstOracle(t *testing.T, set *rules.Set, seed uint64, round int, rest func(meter int, key edgeguard.Key, slot uint32) uint32) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	nows, events := randomEvents(r, 3000)
	holdEvents(t, set, r, nows, events, fmt.Sprintf("round %d, seed %d", round, seed), rest)
}

// holdEvents is holdAgainstOracle for these events.
func holdEvents(t *testing.T, set *rules.Set, r *rand.Rand, nows []time.Time, events []edgeguard.Event, about string, rest func(meter int, key edgeguard.Key, slot uint32) uint32) {
	t.Helper()
	if holdFor(t, set, nil, r, nows, events, about, rest) > 0 {
		t.Errorf("%s: the site failed", about)
	}
}

// holdFor is holdEvents for a site with these names. It returns how often the site failed;
// until then the same must come of events one by one and in batches.
func holdFor(t *testing.T, set *rules.Set, own *rules.Hosts, r *rand.Rand, nows []time.Time, events []edgeguard.Event, about string, rest func(meter int, key edgeguard.Key, slot uint32) uint32) (failed int) {
	t.Helper()
	allow := []netip.Prefix{netip.MustParsePrefix("192.0.1.5/32"), netip.MustParsePrefix("2001:db8:1:105::/64")}
	config := func(told *[]edgeguard.Crossing) detector.Config {
		c := detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{Allow: allow}), Own: own}
		c.Crossed = func(c edgeguard.Crossing) { *told = append(*told, c) }
		if rest != nil {
			c.Fleet = func(meter int, op *shard.Op, _ uint32) uint32 {
				return rest(meter, set.Meters[meter].Key(op.Addr, op.With), op.Now)
			}
			c.Rest = c.Fleet
		}
		return c
	}
	var toldOne, toldMany []edgeguard.Crossing
	one, many, slow := detector.New(config(&toldOne)), detector.New(config(&toldMany)), newOracle(set, allow)
	slow.rest, slow.outageTwin = rest, newOutageTwin(set, own)
	slowMany := newOracle(set, allow) // of the batches
	slowMany.rest, slowMany.outageTwin = rest, newOutageTwin(set, own)
	verdicts := make([]edgeguard.Verdict, len(events))
	for from := 0; from < len(events); {
		to := min(len(events), from+1+r.IntN(200))
		many.DecideBatch(nows[from:to], events[from:to], verdicts[from:to])
		slowMany.decideBatch(nows[from:to], events[from:to], func(i int, action edgeguard.Action, rule string) {
			if v := verdicts[from+i]; v.Action != action || v.Rule != rule {
				t.Fatalf("%s, event %d: the batch says %v by %q, the oracle %v by %q", about, from+i, v.Action, v.Rule, action, rule)
			}
		})
		for i := from; i < to; i++ {
			v := one.Decide(nows[i], &events[i])
			action, rule, wait := slow.decide(nows[i], &events[i])
			if v.Action != action || v.Rule != rule || v.Reason == "blocked" && v.RetryAfter != wait {
				t.Fatalf("%s, event %d: got %v by %q for %v, the oracle says %v by %q for %v",
					about, i, v.Action, v.Rule, v.RetryAfter, action, rule, wait)
			}
			if b := slow.blockOf(nows[i], events[i].Addr); v.Reason == "blocked" {
				v.RetryAfter = b.until.Sub(nows[i])
			} else {
				v.RetryAfter = 0
			}
			if slow.failed()+slowMany.failed() == 0 && verdicts[i] != v {
				t.Fatalf("%s, event %d: the batch says %+v, one by one %+v", about, i, verdicts[i], v)
			}
		}
		if rest != nil {
			hearFleet(r, set, nows[to-1], events[r.IntN(to)].Addr, []*detector.Detector{one, many}, []*oracle{slow, slowMany})
		}
		from = to
	}
	if slow.failed()+slowMany.failed() == 0 && !slices.Equal(toldOne, toldMany) {
		t.Errorf("%s: %d crossings, in batches %d or others", about, len(toldOne), len(toldMany))
	}
	if rest == nil {
		compareTold(t, about, toldOne, slow.told)
		compareTold(t, about+", in batches", toldMany, slowMany.told)
	}
	if slow.failed()+slowMany.failed() == 0 && one.Stats() != many.Stats() {
		t.Errorf("%s: stats differ: %+v, in batches %+v", about, one.Stats(), many.Stats())
	}
	for i := range set.Rules {
		if got, want := one.UncountedInOutage(i), slow.heldOf(set.Rules[i].Meter); got != want {
			t.Errorf("%s: rule %d held %d, want %d", about, i, got, want)
		}
	}
	return slow.failed()
}

// hearFleet tells all the same news of the fleet.
func hearFleet(r *rand.Rand, set *rules.Set, now time.Time, addr netip.Addr, quick []*detector.Detector, slow []*oracle) {
	meter, count, lost := r.IntN(len(set.Meters)), r.Uint32N(100), r.IntN(4) == 0
	m := &set.Meters[meter]
	prefix, with := m.Key(addr, "").Prefix, uint64(0)
	if m.Everybody {
		prefix = edgeguard.Everybody
	}
	if len(m.Attributes) > 0 {
		with = shard.Fingerprint("host=h0", false)
	}
	for _, o := range slow {
		o.lost = lost
		o.fleetCount(now, meter, prefix, count)
	}
	for _, d := range quick {
		d.SetFleetLost(lost)
		d.FleetCount(now, meter, prefix, with, count, "over limit in the fleet")
	}
}

// compareTold holds the crossings against those of the oracle, but for the counts.
func compareTold(t *testing.T, about string, got, want []edgeguard.Crossing) {
	t.Helper()
	for i := range got {
		got[i].Node, got[i].Count, got[i].Limit, got[i].Threshold, got[i].Wide = "", 0, 0, 0, 0
		if i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: crossing %d is %+v,\nthe oracle says %+v", about, i, got[i], want[min(i, len(want)-1)])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d crossings, the oracle says %d", about, len(got), len(want))
	}
}

// TestOracleOfBlocks is TestOracle with random rules whose blocks meet: of other
// lengths and widths, with steps, and while the count is over.
func TestOracleOfBlocks(t *testing.T) {
	fulltest.Only(t)
	for round := range rounds(15) {
		seed := rand.Uint64()
		holdAgainstOracle(t, randomBlocks(t, rand.New(rand.NewPCG(seed, 2))), seed, round, nil)
	}
}

func randomBlocks(t *testing.T, r *rand.Rand) *rules.Set {
	lengths := []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute, time.Hour}
	specs := make([]rules.Spec, 1+r.IntN(5))
	for i := range specs {
		k := r.IntN(len(lengths) - 2)
		specs[i] = rules.Spec{
			Name: fmt.Sprintf("r%d", i), Threshold: 3 + r.Uint32N(40), WhileOver: r.IntN(2) == 0, BlockFor: lengths[k],
			Window: []time.Duration{time.Minute, 5 * time.Minute}[r.IntN(2)],
		}
		if r.IntN(2) == 0 {
			specs[i].Escalate = lengths[k+1 : k+2+r.IntN(2)]
		}
		switch r.IntN(6) {
		case 4, 5:
			specs[i].Distinct, specs[i].Threshold, specs[i].Escalate = "path", 2+r.Uint32N(4), nil
		case 0:
			specs[i].Match = rules.Match{Method: []string{"POST"}}
		case 1:
			specs[i].Key = rules.Group{V4: 24, V6: 48}
			specs[i].Threshold *= 3
		case 2:
			specs[i].Costs = []rules.Charge{{Match: rules.Match{Path: []string{"/search*"}}, Cost: 1 + r.Uint32N(60)}}
		}
	}
	return compile(t, specs...)
}

// TestOracleOfPaths is TestOracle with rules of which an event's path leaves most out,
// in a fleet in every other round.
func TestOracleOfPaths(t *testing.T) {
	fulltest.Only(t)
	for round := range rounds(12) {
		seed := rand.Uint64()
		set := randomPaths(t, rand.New(rand.NewPCG(seed, 3)))
		if !set.Indexed() {
			t.Fatal("every meter is asked")
		}
		var rest func(meter int, key edgeguard.Key, slot uint32) uint32
		if round%2 == 1 {
			rest = func(meter int, _ edgeguard.Key, slot uint32) uint32 {
				return uint32((seed ^ uint64(meter)<<32 ^ uint64(slot)) * 0x9e3779b97f4a7c15 >> 60)
			}
		}
		holdAgainstOracle(t, set, seed, round, rest)
	}
}

// randomPaths makes rules that count some of the paths of randomEvents, behind some
// that count none of them.
func randomPaths(t *testing.T, r *rand.Rand) *rules.Set {
	paths := []string{"/", "/login", "/log*", "*.css", "/search*", "/static/*", "/*", "*a*", "/none"}
	var specs []rules.Spec
	for i := range 3 + r.IntN(62) {
		specs = append(specs, rules.Spec{Name: fmt.Sprintf("none%d", i), Threshold: 1, Match: rules.Match{Path: []string{fmt.Sprintf("/none/%d", i)}}})
	}
	for i := range 8 {
		spec := rules.Spec{Name: fmt.Sprintf("r%d", i), Threshold: 3 + r.Uint32N(60), BlockFor: time.Minute, WhileOver: r.IntN(4) == 0}
		if i > 1 {
			spec.Match.Path = []string{paths[r.IntN(len(paths))], paths[r.IntN(len(paths))]}
		}
		switch r.IntN(6) {
		case 0:
			spec.Match.Not = &rules.Match{Path: []string{paths[r.IntN(len(paths))]}}
		case 1:
			spec.Match.Method = []string{"POST"}
		case 2:
			spec.Action, spec.WhileOver, spec.Key = edgeguard.ActionDeny, false, rules.Group{With: []string{"host"}}
		case 3:
			spec.Match.Fold = i > 1
		case 4:
			if i <= 1 { // the oracle's wait is for events that the rule counts
				spec.Distinct, spec.Threshold, spec.WhileOver = "path", 2, false
			}
		}
		if _, problems := rules.Compile([]rules.Spec{spec}); problems == nil {
			specs = append(specs, spec)
		}
	}
	return compile(t, specs...)
}
