package detector_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// fleet is a detector that is told of a rest of the fleet, and what it tells.
type fleet struct {
	*bench
	rest      uint32
	asked     int
	crossings []edgeguard.Crossing
}

func newFleet(tb testing.TB, specs ...rules.Spec) *fleet {
	f := &fleet{bench: newBench(tb, specs...)}
	f.config.Crossed = func(c edgeguard.Crossing) { f.crossings = append(f.crossings, c) }
	f.config.Fleet = func(int, *shard.Op, uint32) uint32 { f.asked++; return f.rest }
	var tables []detector.Table
	f.config.Until = func(meter int, op *shard.Op, limit uint32) (least, most uint32) {
		return 0, untilOf(tables, meter, op, limit, f.rest)
	}
	f.Detector = detector.New(f.config)
	tables = f.Tables()
	return f
}

// hear tells of a fleet's total of someone.
func (f *fleet) hear(at time.Time, count uint32) {
	f.FleetCount(at, 0, host(someone), 0, count, "over limit in the fleet: a 3, b 2")
}

// takeTold returns the actions of the crossings, and forgets them.
func (f *fleet) takeTold() (told []edgeguard.Action) {
	for _, c := range f.crossings {
		told = append(told, c.Action)
	}
	f.crossings = nil
	return told
}

// TestFleetOracle is TestOracle with a fleet: a rest of it in some slots,
// totals of it at random moments, and now and then its loss.
func TestFleetOracle(t *testing.T) {
	for round := range rounds(20) {
		seed := rand.Uint64()
		set := compile(t,
			rules.Spec{Name: "site", Threshold: 40, Guard: "1", BlockFor: time.Minute, Escalate: []time.Duration{2 * time.Minute, time.Hour}},
			rules.Spec{Name: "low", Threshold: 15, Action: edgeguard.ActionShadow, Scope: rules.ScopeNode},
			rules.Spec{Name: "login", Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login*"}}, Threshold: 9, BlockFor: 2 * time.Minute, OnFleetLoss: rules.LossOpen},
			rules.Spec{Name: "api", Key: rules.Group{With: []string{"host"}}, Threshold: 10, Action: edgeguard.ActionDeny, Window: time.Minute},
			rules.Spec{Name: "search", Match: rules.Match{Path: []string{"/search*"}}, Threshold: 30, Action: edgeguard.ActionDeny, OnFleetLoss: rules.LossClosed},
			rules.Spec{Name: "alone", Match: rules.Match{Path: []string{"/search*"}}, Threshold: 20, Action: edgeguard.ActionDeny, Scope: rules.ScopeNode},
			rules.Spec{Name: "net", Key: rules.Group{V4: 24, V6: 48}, Threshold: 70, BlockFor: time.Minute},
		)
		holdAgainstOracle(t, set, seed, round, func(meter int, key edgeguard.Key, slot uint32) uint32 {
			h := xxhash.Sum64String(key.String()) ^ seed ^ uint64(meter)<<32 ^ uint64(slot)
			if h *= 0x9e3779b97f4a7c15; h>>62 != 0 {
				return 0
			}
			return uint32(h >> 32 % 30)
		})
	}
}

// TestFleetAsks: the fleet is asked about proven counts of meters with a rule
// of its scope, with the key as it was counted, and about nothing else.
func TestFleetAsks(t *testing.T) {
	type question struct {
		meter int
		with  string
		count uint32
	}
	var asked []question
	set := compile(t,
		rules.Spec{Name: "both", Threshold: 10},
		rules.Spec{Name: "alone", Threshold: 20, Scope: rules.ScopeNode},
		rules.Spec{Name: "posts", Match: rules.Match{Method: []string{"POST"}}, Threshold: 10, Scope: rules.ScopeNode},
		rules.Spec{Name: "hosts", Key: rules.Group{With: []string{"host"}}, Threshold: 10, Action: edgeguard.ActionDeny},
	)
	d := detector.New(detector.Config{
		Rules: set, Memory: shard.NewMemory(1 << 20), List: blocklist.New(blocklist.Config{Allow: []netip.Prefix{host("192.0.2.9")}}),
		Fleet: func(meter int, op *shard.Op, count uint32) uint32 {
			asked = append(asked, question{meter, strings.Clone(op.With), count})
			return 0
		},
	})
	proven := request(someone, epoch)
	proven.Known, proven.Method, proven.Host = edgeguard.FieldHost|edgeguard.FieldMethod, "POST", "a.org"
	forged, late, spared := proven, proven, proven
	forged.Verified, late.Time, spared.Addr = 0, epoch.Add(-time.Hour), netip.MustParseAddr("192.0.2.9")
	events := []edgeguard.Event{proven, forged, late, spared, proven}
	want := []question{{0, "", 1}, {2, "host=a.org", 1}, {0, "", 2}, {2, "host=a.org", 2}}
	for i := range events {
		d.Decide(epoch, &events[i])
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	asked = nil
	d.Clear(epoch, host(someone))
	d.DecideBatch(slices.Repeat([]time.Time{epoch}, len(events)), events, make([]edgeguard.Verdict, len(events)))
	slices.SortStableFunc(asked, func(a, b question) int { return int(a.count) - int(b.count) })
	if !slices.Equal(asked, want) {
		t.Errorf("asked %v in a batch, want %v", asked, want)
	}
	if got := d.FleetLimits(); !slices.Equal(got, []uint32{10, 0, 10}) {
		t.Errorf("limits %v", got)
	}
}

// TestFleetScopes: the rest counts for a rule of the fleet and not for one of
// the node.
func TestFleetScopes(t *testing.T) {
	for scope, want := range map[rules.Scope]edgeguard.Action{rules.ScopeFleet: edgeguard.ActionDeny, rules.ScopeNode: edgeguard.ActionPass} {
		f := newFleet(t,
			rules.Spec{Name: "r", Threshold: 10, Guard: "1", Scope: scope, Candidates: []uint32{11}, Action: edgeguard.ActionDeny},
			rules.Spec{Name: "other", Threshold: 10_000},
		)
		f.rest = 10
		v := f.send(2, someone, epoch)
		if v.Action != want {
			t.Errorf("scope %v: %+v", scope, v)
		}
		if scope == rules.ScopeFleet {
			if v.Count != 12 || v.Limit != 10 || v.RetryAfter != 300*time.Second {
				t.Errorf("scope %v: %+v, want 12 of 10, and nothing of one's own left", scope, v)
			}
			if over := f.Tallies(0)[0]; over.Over != 1 || over.Crossings != 1 {
				t.Errorf("candidate: %+v", over)
			}
		}
	}
}

// TestFleetCountBlocks: a total over the limit blocks as a local crossing
// does; one that stands is neither extended nor counted as another.
func TestFleetCountBlocks(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1", BlockFor: time.Minute, Escalate: []time.Duration{time.Hour}},
		rules.Spec{Name: "alone", Threshold: 2, Scope: rules.ScopeNode})
	f.hear(epoch, 10)
	if len(f.told)+len(f.crossings) > 0 {
		t.Fatalf("at the limit: %v, %v", f.told, f.crossings)
	}
	f.hear(epoch, 11)
	f.hear(epoch.Add(time.Second), 500)
	f.hear(epoch.Add(time.Minute), 12)
	f.hear(epoch.Add(6*time.Minute), 12)
	if len(f.told) != 3 {
		t.Fatalf("blocks %+v", f.told)
	}
	want := edgeguard.Block{
		Prefix: host(someone), Rule: "r", Reason: "over limit in the fleet: a 3, b 2", Origin: "here",
		Count: 11, Limit: 10, Since: epoch, Until: epoch.Add(time.Minute), Version: 1,
	}
	if f.told[0] != want {
		t.Errorf("got  %+v\nwant %+v", f.told[0], want)
	}
	if again := f.told[1]; again.Until.Sub(again.Since) != time.Minute || again.Version != 2 {
		t.Errorf("the second escalates by what was counted before the first: %+v", again)
	}
	if again := f.told[2]; again.Until.Sub(again.Since) != time.Hour || again.Version != 3 {
		t.Errorf("the third does not escalate: %+v", again)
	}
	crossing := edgeguard.Crossing{
		Time: epoch, Node: "here", Rule: "r", Key: edgeguard.Key{Prefix: host(someone)}, Action: edgeguard.ActionBlock,
		Count: 11, Limit: 10, Threshold: 10, Fleet: true, Until: epoch.Add(time.Minute),
	}
	if len(f.crossings) != 3 || f.crossings[0] != crossing {
		t.Errorf("told %+v", f.crossings)
	}
	if v := f.send(1, someone, epoch.Add(7*time.Minute)); v.Reason != "blocked" || f.asked != 1 {
		t.Errorf("%+v after %d questions", v, f.asked)
	}
}

// TestFleetCountOfNetworks: a block inside a network, or a friend in it, does
// not pass for a block of it; one around it does.
func TestFleetCountOfNetworks(t *testing.T) {
	net := netip.MustParsePrefix("192.0.2.0/24")
	for _, test := range []struct {
		name    string
		allow   []netip.Prefix
		blocked []netip.Prefix
		want    int
	}{
		{"nothing", nil, nil, 1},
		{"its first address is blocked", nil, []netip.Prefix{host("192.0.2.0")}, 1},
		{"its first address is a friend's", []netip.Prefix{host("192.0.2.0")}, nil, 1},
		{"it is blocked", nil, []netip.Prefix{net}, 0},
		{"a network around it is blocked", nil, []netip.Prefix{netip.MustParsePrefix("192.0.0.0/16")}, 0},
		{"it is blocked, and its first address too", nil, []netip.Prefix{net, host("192.0.2.0")}, 0},
		{"it is blocked around a friend", []netip.Prefix{host("192.0.2.0")}, []netip.Prefix{net}, 0},
	} {
		f := newFleet(t, rules.Spec{Name: "r", Threshold: 10, Key: rules.Group{V4: 24}})
		f.list.SetAllow(test.allow)
		for _, p := range test.blocked {
			if _, err := f.list.Merge(edgeguard.Block{Prefix: p, Rule: "manual", Since: epoch, Until: epoch.Add(time.Hour), Version: 1}, epoch); err != nil {
				t.Fatal(err)
			}
		}
		f.told = nil
		f.FleetCount(epoch, 0, net, 0, 11, "")
		if len(f.told) != test.want {
			t.Errorf("%s: blocks %+v, want %d", test.name, f.told, test.want)
		}
	}
}

// TestFleetCrossingsAreToldOnce: whoever sees a crossing first tells of it, and
// it is told again after a whole window without it.
func TestFleetCrossingsAreToldOnce(t *testing.T) {
	shadow, deny, alarm := edgeguard.ActionShadow, edgeguard.ActionDeny, edgeguard.ActionAlarm
	check := func(f *fleet, what string, want ...edgeguard.Action) {
		t.Helper()
		if told := f.takeTold(); !slices.Equal(told, want) {
			t.Errorf("%s: told %v, want %v", what, told, want)
		}
	}
	for _, action := range []edgeguard.Action{shadow, deny} {
		f := newFleet(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1", Action: action})
		f.hear(epoch, 11)
		check(f, "a total", action)
		f.hear(epoch.Add(time.Second), 12)
		f.hear(epoch.Add(4*time.Minute), 13)
		f.send(11, someone, epoch.Add(5*time.Minute))
		check(f, "the same crossing, and its count here")
		f.hear(epoch.Add(9*time.Minute), 14)
		check(f, "still the same")
		f.hear(epoch.Add(14*time.Minute), 15)
		check(f, "a window later", action)
		f.Clear(epoch, host(someone))
		f.rest = 9
		f.send(2, someone, epoch.Add(15*time.Minute))
		f.hear(epoch.Add(15*time.Minute), 11)
		check(f, "cleared, and crossed here first", action)
		f.reload(t, rules.Spec{Name: "r", Threshold: 10, Guard: "1", Action: action})
		f.hear(epoch.Add(15*time.Minute), 12)
		check(f, "after a reload")
		f.Sweep(epoch.Add(15*time.Minute), 100)
		f.hear(epoch.Add(15*time.Minute), 12)
		check(f, "after a sweep")
		if len(f.told) > 0 {
			t.Errorf("%v blocked: %v", action, f.told)
		}
	}
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 10})
	f.list.SetProtected([]netip.Prefix{host(someone)})
	f.hear(epoch, 11)
	f.hear(epoch, 12)
	check(f, "a protected address", alarm)
}

// TestFleetCountOfAttributes: the attributes' text is not known, so that the
// crossing shows their names and a part of the fingerprint.
func TestFleetCountOfAttributes(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 10, Action: edgeguard.ActionDeny, Key: rules.Group{With: []string{"method", "host"}}})
	f.FleetCount(epoch, 0, host(someone), 0x1122334455667788, 11, "")
	f.FleetCount(epoch, 0, host(someone), 0x1122334455667789, 11, "")
	f.FleetCount(epoch, 0, host(someone), 0x1122334455667788, 11, "")
	if len(f.crossings) != 2 || f.crossings[0].Key.With != "host,method#55667788" {
		t.Errorf("told %+v", f.crossings)
	}
}

// TestFleetCountIsProxied: where clients of the meter came through a proxy, the
// block says so.
func TestFleetCountIsProxied(t *testing.T) {
	for _, proxied := range []bool{false, true} {
		f := newFleet(t, rules.Spec{Name: "r", Threshold: 10})
		ev := request("198.51.100.7", epoch)
		ev.Proxied = proxied
		f.Decide(epoch, &ev)
		f.send(1, "198.51.100.8", epoch)
		f.hear(epoch, 11)
		if len(f.told) != 1 || f.told[0].Proxied != proxied {
			t.Errorf("proxied %v: %+v", proxied, f.told)
		}
	}
}

// TestFleetCountOfNothing: what does not fit a meter any more, after a reload,
// is passed over.
func TestFleetCountOfNothing(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 10})
	f.FleetCount(epoch, 1, host(someone), 0, 11, "")
	f.FleetCount(epoch, -1, host(someone), 0, 11, "")
	f.FleetCount(epoch, 0, netip.Prefix{}, 0, 11, "")
	if len(f.told)+len(f.crossings) > 0 {
		t.Errorf("blocks %v, crossings %v", f.told, f.crossings)
	}
}

// TestFleetAllocations: a decision with a fleet allocates nothing.
func TestFleetAllocations(t *testing.T) {
	f := newFleet(t, rules.Spec{Name: "r", Threshold: 60_000},
		rules.Spec{Name: "api", Threshold: 5, Guard: "1", Key: rules.Group{With: []string{"host"}}, Action: edgeguard.ActionDeny})
	ev := request(someone, epoch)
	ev.Known, ev.Host = edgeguard.FieldHost, "a.org"
	events, nows, verdicts := slices.Repeat([]edgeguard.Event{ev}, 64), slices.Repeat([]time.Time{epoch}, 64), make([]edgeguard.Verdict, 64)
	if n := testing.AllocsPerRun(100, func() { f.Decide(epoch, &ev) }); n != 0 && !underRace {
		t.Errorf("Decide allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { f.DecideBatch(nows, events, verdicts) }); n != 0 && !underRace {
		t.Errorf("DecideBatch allocates %v times", n)
	}
}

// TestFleetConcurrent: totals, losses and decisions at once.
func TestFleetConcurrent(t *testing.T) {
	list := blocklist.New(blocklist.Config{})
	d := detector.New(detector.Config{
		Rules:  compile(t, rules.Spec{Name: "r", Threshold: 10, OnFleetLoss: rules.LossOpen}, rules.Spec{Name: "s", Threshold: 5, Action: edgeguard.ActionShadow}),
		Memory: shard.NewMemory(1 << 20), List: list, Crossed: func(edgeguard.Crossing) {},
		Fleet: func(_ int, op *shard.Op, count uint32) uint32 { return count + uint32(len(op.With)) },
	})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 500 {
				at := epoch.Add(time.Duration(i) * time.Second)
				ev := request("192.0.2."+string(rune('0'+i%10)), at)
				switch g {
				case 0:
					d.FleetCount(at, 0, netip.PrefixFrom(ev.Addr, 32), 0, uint32(i%20), "")
				case 1:
					d.SetFleetLost(i%2 == 0)
					d.Sweep(at, 1)
					if i%50 == 0 {
						d.Clear(at, netip.PrefixFrom(ev.Addr, 32))
					}
				default:
					d.Decide(at, &ev)
				}
			}
		})
	}
	all.Wait()
	d.SetFleetLost(false) // who decided may have done so while it was lost
	at := epoch.Add(500 * time.Second)
	if d.FleetCount(at, 0, host(someone), 0, 20, ""); list.BlockOf(at, host(someone)) == nil {
		t.Error("not blocked")
	}
}
