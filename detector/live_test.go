package detector_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// bench is a detector with what it stands on.
type bench struct {
	*detector.Detector
	list   *blocklist.List
	memory *shard.Memory
	told   []edgeguard.Block
	config detector.Config
	specs  []rules.Spec
}

func newBench(tb testing.TB, specs ...rules.Spec) *bench {
	b := &bench{list: blocklist.New(blocklist.Config{}), memory: shard.NewMemory(64 << 20), specs: specs}
	b.list.OnChange(func(block edgeguard.Block) { b.told = append(b.told, block) })
	b.config = detector.Config{Rules: compile(tb, specs...), Memory: b.memory, List: b.list, Node: "here"}
	b.Detector = detector.New(b.config)
	return b
}

// reload replaces the rules.
func (b *bench) reload(tb testing.TB, specs ...rules.Spec) {
	old := b.Detector
	b.config.Rules, b.config.Previous = compile(tb, specs...), old
	b.Detector = detector.New(b.config)
	old.Close(b.Detector)
}

// send decides n requests of addr at one instant.
func (b *bench) send(n int, addr string, at time.Time) (last edgeguard.Verdict) {
	for range n {
		ev := request(addr, at)
		last = b.Decide(at, &ev)
	}
	return last
}

const someone = "192.0.2.1"

func host(addr string) netip.Prefix { return netip.MustParsePrefix(addr + "/32") }

// TestEscalate: the first block lasts block_for, each after it the next step,
// the last step again and again; a day after the last block's end all is
// forgotten.
func TestEscalate(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3, BlockFor: 10 * time.Minute, Escalate: []time.Duration{time.Hour, 5 * time.Hour}})
	at := epoch
	for i, want := range []time.Duration{10 * time.Minute, time.Hour, 5 * time.Hour, 5 * time.Hour} {
		if v := b.send(4, someone, at); v.RetryAfter != want {
			t.Fatalf("block %d lasts %v, want %v", i+1, v.RetryAfter, want)
		}
		b.send(50, someone, at.Add(time.Minute)) // neither extends nor escalates
		if _, block := b.list.Find(at, netip.MustParseAddr(someone)); block.Until.Sub(at) != want {
			t.Fatalf("block %d was extended to %v", i+1, block.Until)
		}
		at = at.Add(want + 10*time.Minute)
	}
	end := at.Add(-10 * time.Minute)
	if v := b.send(4, "192.0.2.2", at); v.RetryAfter != 10*time.Minute {
		t.Errorf("another address is blocked for %v at first", v.RetryAfter)
	}
	if v := b.send(4, someone, end.Add(24*time.Hour-time.Minute)); v.RetryAfter != 5*time.Hour {
		t.Errorf("within a day: %v", v.RetryAfter)
	}
	end = end.Add(29*time.Hour - time.Minute)
	if v := b.send(4, someone, end.Add(24*time.Hour)); v.RetryAfter != 10*time.Minute {
		t.Errorf("after a day: %v", v.RetryAfter)
	}
}

// TestSteps: what is remembered outlives a reload and a restart, is forgotten
// by an unblock and in time, and is bounded.
func TestSteps(t *testing.T) {
	spec := rules.Spec{Name: "r", Threshold: 3, Escalate: []time.Duration{time.Hour}}
	b := newBench(t, spec)
	b.send(4, someone, epoch)
	spec.Threshold, spec.Window = 2, time.Minute // another meter and another limit
	b.reload(t, spec)
	at := epoch.Add(30 * time.Minute)
	if v := b.send(3, someone, at); v.RetryAfter != time.Hour {
		t.Errorf("after a reload: %v", v)
	}
	saved := slices.Collect(b.Steps())
	if len(saved) != 1 || saved[0].Blocks != 2 || saved[0].Prefix != host(someone) || !saved[0].Until.Equal(at.Add(time.Hour)) {
		t.Fatalf("steps: %+v", saved)
	}
	again := newBench(t, spec)
	bad := append(saved, detector.Step{Rule: "r"}, detector.Step{Rule: "r", Prefix: host("192.0.2.9"), Blocks: 1, Until: at.Add(-24 * time.Hour)})
	if n := again.RestoreSteps(at, bad); n != 1 {
		t.Errorf("%d restored, want 1", n)
	}
	if v := again.send(3, someone, at); v.RetryAfter != time.Hour {
		t.Errorf("after a restart: %v", v)
	}
	again.list.Lift(host(someone), at, "", "")
	again.Clear(at, host(someone))
	if v := again.send(3, someone, at); v.RetryAfter != 10*time.Minute {
		t.Errorf("after an unblock: %v", v)
	}
	again.Sweep(at.Add(100*time.Hour), 10)
	if n := len(slices.Collect(again.Steps())); n != 0 {
		t.Errorf("%d steps after days", n)
	}
}

func TestStepsAreBounded(t *testing.T) {
	const most = 1 << 16
	b := newBench(t)
	var saved []detector.Step
	for i := range most + 10 {
		saved = append(saved, detector.Step{Rule: "r", Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32), Blocks: 1, Until: epoch})
	}
	b.RestoreSteps(epoch, saved)
	if got := slices.Collect(b.Steps()); len(got) != most || got[0] != saved[10] {
		t.Errorf("%d steps, the first %+v", len(got), got[0])
	}
}

// TestWhileOver: the block holds as long as the count is over and ends when
// the window has fallen to the limit; the list hears of it once a slot.
func TestWhileOver(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 100, Guard: "1", BlockFor: time.Minute, WhileOver: true})
	at := epoch
	for s := range 1200 { // ten a second, for twenty minutes
		at = epoch.Add(time.Duration(s) * time.Second)
		v := b.send(10, someone, at)
		if want := s >= 10; want != (v.Action == edgeguard.ActionDeny) {
			t.Fatalf("second %d: %+v", s, v)
		}
	}
	if slots := 1200 / 5; len(b.told) < slots-3 || len(b.told) > slots {
		t.Errorf("the list changed %d times in %d slots", len(b.told), slots)
	}
	for _, block := range b.told {
		if !block.Since.Equal(b.told[0].Since) || block.Count != 101 {
			t.Fatalf("an extension changes more than the end: %+v", block)
		}
	}
	addr := netip.MustParseAddr(someone)
	_, block := b.list.Find(at, addr)
	table := b.Tables()[0]
	width := table.Meter.Width
	if n := table.Count(addr, "", uint32(block.Until.Unix())/width); n > 100 {
		t.Errorf("the block ends at a count of %d", n)
	}
	if n := table.Count(addr, "", uint32(block.Until.Unix())/width-1); n <= 100 {
		t.Errorf("a slot before the block ends, the count is %d: it should have ended then", n)
	}
	if v := b.LookUpVerdict(block.Until, &edgeguard.Event{Addr: addr}); v.Action != edgeguard.ActionPass {
		t.Errorf("afterwards: %+v", v)
	}
}

// TestWhileOverLeavesOthers: only the rule's own block is extended.
func TestWhileOverLeavesOthers(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3, WhileOver: true})
	manual := edgeguard.Block{Prefix: host(someone), Rule: "manual", Since: epoch, Until: epoch.Add(time.Minute), Version: 1}
	if _, err := b.list.Merge(manual, epoch); err != nil {
		t.Fatal(err)
	}
	b.send(50, someone, epoch)
	if len(b.told) != 1 {
		t.Errorf("changes: %+v", b.told)
	}
}

func TestLook(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Threshold: 3})
	addr := netip.MustParseAddr(someone)
	for range 10 {
		if v := b.LookUpVerdict(epoch, &edgeguard.Event{Addr: addr}); v.Action != edgeguard.ActionPass {
			t.Fatalf("%+v", v)
		}
	}
	if s := b.Stats(); s.Events != 0 || b.Tables()[0].Stats().Keys != 0 {
		t.Errorf("looking counts: %+v", s)
	}
	b.send(4, someone, epoch)
	if v := b.LookUpVerdict(epoch.Add(time.Minute), &edgeguard.Event{Addr: addr}); v.Action != edgeguard.ActionDeny || v.Rule != "r" || v.RetryAfter != 9*time.Minute {
		t.Errorf("blocked: %+v", v)
	}
}

// TestReload: counts and tallies of meters that stay are kept, whatever else
// of the rule changes; those of others go, and their memory with them.
func TestReload(t *testing.T) {
	login := rules.Spec{Name: "login", Threshold: 1000, Window: time.Hour, Candidates: []uint32{3}}
	b := newBench(t, rules.Spec{Name: "site", Threshold: 100, Guard: "1"}, login)
	b.send(50, someone, epoch)
	dropped := b.Tables()[2]
	for range 5 {
		b.reload(t, rules.Spec{Name: "renamed", Threshold: 51, Guard: "1"}, login)
	}
	if v := b.send(1, someone, epoch); v.Action != edgeguard.ActionPass {
		t.Errorf("event 51: %+v", v)
	}
	if got := b.Tallies(1)[0]; got.Over != 48 || got.Crossings != 1 {
		t.Errorf("the candidate's tally: %+v", got)
	}
	if s := b.Stats(); s.Events != 51 {
		t.Errorf("stats: %+v", s)
	}
	used := b.memory.Stats()
	b.reload(t, rules.Spec{Name: "renamed", Threshold: 51, Guard: "1"})
	if n := dropped.Stats().Keys; n != 0 {
		t.Errorf("the dropped table holds %d keys", n)
	}
	if now := b.memory.Stats(); now == used {
		t.Errorf("no memory came back: %+v", now)
	}
	if v := b.send(1, someone, epoch); v.Action != edgeguard.ActionDeny || v.Rule != "renamed" || v.Count != 52 {
		t.Errorf("event 52: %+v", v)
	}
	b.config.Memory = shard.NewMemory(32 << 20)
	b.list.Lift(host(someone), epoch, "", "")
	b.reload(t, rules.Spec{Name: "renamed", Threshold: 51, Guard: "1"})
	if v := b.send(1, someone, epoch); v.Action != edgeguard.ActionPass {
		t.Errorf("with another budget counts begin anew: %+v", v)
	}
}

// TestClear: an unblock forgets every key of the address, wider ones too, and
// nobody else's; a prefix takes all in it.
func TestClear(t *testing.T) {
	b := newBench(t,
		rules.Spec{Name: "site", Threshold: 100}, rules.Spec{Name: "net", Threshold: 100, Key: rules.Group{V4: 24}},
		rules.Spec{Name: "hosts", Threshold: 100, Window: time.Minute})
	for i := range 20 {
		b.send(10, fmt.Sprintf("192.0.2.%d", i), epoch)
		b.send(10, fmt.Sprintf("198.51.100.%d", i), epoch)
	}
	ev := request(someone, epoch)
	ev.Verified = 0
	b.Decide(epoch, &ev)
	slot := uint32(epoch.Unix())
	count := func(table int, addr string) uint32 {
		width := b.Tables()[table].Meter.Width
		return b.Tables()[table].Count(netip.MustParseAddr(addr), "", slot/width)
	}
	if n := b.Clear(epoch, host(someone)); n != 6 {
		t.Errorf("%d counts forgotten, want 6: three rules, two kinds of evidence", n)
	}
	for table := range b.Tables() {
		if n := count(table, someone); n != 0 {
			t.Errorf("table %d still counts %d", table, n)
		}
	}
	if count(0, "192.0.2.2") != 10 || count(2, "198.51.100.1") != 200 {
		t.Error("others were forgotten too")
	}
	b.Clear(epoch, netip.MustParsePrefix("198.51.0.0/16"))
	if count(0, "198.51.100.7") != 0 || count(2, "198.51.100.7") != 0 || count(0, "192.0.2.2") != 10 {
		t.Error("a prefix takes all in it and nothing else")
	}
}

// Glance is Explain, but for what takes a search of many keys.
func TestGlance(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "site", Threshold: 20_000}, rules.Spec{Name: "api", Threshold: 20_000, Action: edgeguard.ActionDeny, Key: rules.Group{With: []string{"host"}}})
	ask := func(host int) {
		ev := request(someone, epoch)
		ev.Known, ev.Host = edgeguard.FieldHost, fmt.Sprintf("h%d", host)
		b.Decide(epoch, &ev)
	}
	addr := netip.MustParseAddr(someone)
	for i := range 10_000 {
		ask(i)
	}
	if x, all := b.Glance(epoch, addr), b.Explain(epoch, addr); !reflect.DeepEqual(x, all) || all.Rules[1].Keys != 10_000 {
		t.Errorf("%+v, want %+v", x, all)
	}
	ask(10_000)
	x, all := b.Glance(epoch, addr), b.Explain(epoch, addr)
	if api := x.Rules[1]; !api.Unsearched || api.Count != 0 || api.Keys != 0 {
		t.Errorf("%+v", api)
	}
	if !reflect.DeepEqual(x.Rules[0], all.Rules[0]) || x.Standing != all.Standing || all.Rules[1].Unsearched || all.Rules[1].Keys != 10_001 {
		t.Errorf("%+v beside %+v", x, all)
	}
}

func TestExplain(t *testing.T) {
	b := newBench(t,
		rules.Spec{Name: "site", Threshold: 20, Guard: "1", Candidates: []uint32{5, 500}, Escalate: []time.Duration{time.Hour}},
		rules.Spec{Name: "api", Threshold: 100, Key: rules.Group{With: []string{"host"}}, Action: edgeguard.ActionDeny})
	for s := range 40 {
		at := epoch.Add(time.Duration(s) * time.Second)
		ev := request(someone, at)
		ev.Known, ev.Host = edgeguard.FieldHost, fmt.Sprintf("h%d", min(s, 10)/10)
		b.Decide(at, &ev)
	}
	now := epoch.Add(40 * time.Second)
	x := b.Explain(now, netip.MustParseAddr("::ffff:"+someone))
	if x.Standing != blocklist.Blocked || x.Block.Rule != "site" || len(x.Rules) != 2 {
		t.Fatalf("%+v", x)
	}
	site, api := x.Rules[0], x.Rules[1]
	if site.Count != 40 || site.Limit != 20 || site.Slots[58] != 5 || site.Slots[59] != 0 || site.Blocks != 1 || site.Next != time.Hour || site.Key.String() != someone {
		t.Errorf("%+v", site)
	}
	if !site.Candidates[0].Over || site.Candidates[1].Over {
		t.Errorf("candidates: %+v", site.Candidates)
	}
	under := b.Explain(now.Add(site.Under), x.Addr).Rules[0]
	before := b.Explain(now.Add(site.Under-time.Second), x.Addr).Rules[0]
	if site.Under <= 0 || under.Count > 20 || under.Under != 0 || before.Count <= 20 {
		t.Errorf("under in %v: then %d, a second before %d", site.Under, under.Count, before.Count)
	}
	if api.Keys != 2 || api.Count != 30 || api.Next != 0 {
		t.Errorf("%+v", api)
	}
	if x := b.Explain(now, netip.Addr{}); len(x.Rules) != 0 {
		t.Errorf("no address: %+v", x)
	}
}

// TestDominant: an address is named from a little more than half of all
// requests on, and never much below, in the minute after.
func TestDominant(t *testing.T) {
	for _, c := range []struct {
		percent, others int
		minutes         int
		want            bool
	}{
		{100, 1, 1, true}, {60, 1, 1, true}, {60, 1000, 1, true}, {40, 1000, 1, false}, {40, 2, 1, false}, {5, 20, 1, false},
		{49, 2, 1, false}, {52, 1, 1, true}, {60, 1000, 2, false},
	} {
		b := newBench(t, rules.Spec{Name: "r", Threshold: 60_000, Action: edgeguard.ActionShadow})
		start := epoch.Truncate(time.Minute)
		for i := range 40_000 {
			addr := someone
			if i*37%100 >= c.percent {
				addr = fmt.Sprintf("198.51.%d.%d", i%c.others/250, i%c.others%250)
			}
			b.send(1, addr, start.Add(time.Duration(i)*time.Millisecond))
		}
		if _, _, ok := b.Dominant(start.Add(59 * time.Second)); ok {
			t.Error("before the minute is over")
		}
		addr, share, ok := b.Dominant(start.Add(time.Duration(c.minutes)*time.Minute + time.Second))
		if ok != c.want {
			t.Errorf("%d %% beside %d others, %d minutes later: %v, %v, %v", c.percent, c.others, c.minutes, addr, share, ok)
		}
		if ok && (addr.String() != someone || share < float64(c.percent)/100-0.03 || share > float64(c.percent)/100+0.03) {
			t.Errorf("%d %%: %v with %.3f", c.percent, addr, share)
		}
	}
}

// TestDominantSpares: the allowlist is part of all and never the one; few
// requests say nothing.
func TestDominantSpares(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32")}
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 60_000}), allow, nil)
	start := epoch.Truncate(time.Minute)
	for i := range 5000 {
		for k, addr := range []string{"192.0.2.7", "192.0.2.7", "192.0.2.7", someone, "192.0.2.2"} {
			if ev := request(addr, start); k < 4 || i%10 == 0 {
				d.Decide(start, &ev)
			}
		}
	}
	if addr, share, ok := d.Dominant(start.Add(time.Minute)); ok {
		t.Errorf("%v with %v", addr, share)
	}
	few := newBench(t, rules.Spec{Name: "r", Threshold: 60_000})
	few.send(800, someone, start)
	if _, _, ok := few.Dominant(start.Add(time.Minute)); ok {
		t.Error("800 requests said something")
	}
}

// TestConcurrent decides, reloads, explains and clears at once, for the race
// detector, and loses no event.
func TestConcurrent(t *testing.T) {
	spec := rules.Spec{Name: "r", Threshold: 50, WhileOver: true, Escalate: []time.Duration{time.Hour}}
	b := newBench(t, spec)
	b.list.OnChange(nil)
	first := b.Detector
	next := detector.New(detector.Config{Rules: compile(t, spec), Memory: b.memory, List: b.list, Previous: first})
	var wait sync.WaitGroup
	for g, d := range []*detector.Detector{first, next, first, next} {
		wait.Go(func() {
			for i := range 2000 {
				at := epoch.Add(time.Duration(i*100) * time.Millisecond)
				ev := request(fmt.Sprintf("192.0.2.%d", (i+g)%5), at)
				d.Decide(at, &ev)
				if i%200 == 0 {
					d.Explain(at, ev.Addr)
					d.Clear(at, host("192.0.2.3"))
					d.Dominant(at)
					d.Sweep(at, 4)
					_ = slices.Collect(d.Steps())
				}
			}
		})
	}
	wait.Wait()
	if n := next.Stats().Events; n != 8000 {
		t.Errorf("%d events, want 8000", n)
	}
}
