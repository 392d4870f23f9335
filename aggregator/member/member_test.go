package member_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/member"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

var (
	now  = time.Unix(1_800_000_000, 0)
	addr = netip.MustParseAddr("203.0.113.9")
)

// newMember returns a node of two meters, only the first of which is the
// fleet's.
func newMember(t *testing.T, previous *member.Member, memory *shard.Memory) (*member.Member, *blocklist.List) {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{
		{Name: "site", Threshold: 10, Guard: "1"},
		{Name: "own", Threshold: 10, Guard: "1", Window: time.Minute, Scope: rules.ScopeNode},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	list := blocklist.New(blocklist.Config{})
	d := detector.Config{Rules: set, Memory: memory, List: list, Node: "edge-1", Seed: 1}
	c := aggregator.Config{Boot: now, Quiet: false, MaxNodes: 2, Nodes: 1}
	if previous != nil {
		d.Previous, c.Previous = previous.Detector, previous.Totals
	}
	return member.New(d, c), list
}

func request(m *member.Member) {
	m.Decide(now, &edgeguard.Event{Time: now, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
}

// collect returns all that the member has to push.
func collect(m *member.Member) []aggregator.Push {
	return slices.Concat(slices.Collect(m.Totals.Collect(now, 100))...)
}

// A block of this node's own rule of the fleet, and of one of its keys, is
// counted under that key; nothing else is.
func TestMemberKey(t *testing.T) {
	m, _ := newMember(t, nil, shard.NewMemory(1<<20))
	request(m)
	want := collect(m)[0].Key
	if got, ok := m.KeyOfBlock("site", want.Prefix); !ok || got != want {
		t.Errorf("%v, %v: want %v", got, ok, want)
	}
	for rule, prefix := range map[string]netip.Prefix{
		"site": netip.MustParsePrefix("198.51.100.0/24"), // no key of the rule's meter
		"own":  want.Prefix,                              // of scope node
		"none": want.Prefix,
	} {
		if got, ok := m.KeyOfBlock(rule, prefix); ok {
			t.Errorf("%s of rule %s is counted under %v", prefix, rule, got)
		}
	}
}

// What is counted is what is pushed, and a total that comes back blocks.
func TestMember(t *testing.T) {
	memory := shard.NewMemory(1 << 20)
	m, list := newMember(t, nil, memory)
	for range 3 {
		request(m)
	}
	pushes := collect(m)
	if len(pushes) != 1 || pushes[0].Sum != 3 || m.Width(pushes[0].Key.Meter) != 5 {
		t.Fatalf("pushes %+v: want the 3 requests of the fleet's meter alone", pushes)
	}
	key := pushes[0].Key
	if m.Width(key.Meter+1) != 0 {
		t.Error("a meter that the node does not have has a width")
	}
	m.ApplyFleetCount(now, aggregator.Key{Meter: key.Meter + 1, Prefix: key.Prefix}, 100, nil)
	m.ApplyFleetCount(now, key, 10, nil)
	if m.Blocked(now, key) || m.Settled(now, key, 11) || list.Len() != 0 {
		t.Error("blocked by nothing")
	}
	m.ApplyFleetCount(now, key, 11, []aggregator.NodeCount{{Node: "edge-1", Count: 3}, {Node: "edge-2", Count: 8}})
	if _, block := list.Find(now, addr); block == nil || block.Rule != "site" || block.Reason != "over limit in the fleet: edge-2 8, edge-1 3" || !m.Blocked(now, key) || !m.Settled(now, key, 11) {
		t.Errorf("block %+v", block)
	}
}

// A reload keeps what was counted and what is to be pushed.
func TestReload(t *testing.T) {
	memory := shard.NewMemory(1 << 20)
	before, _ := newMember(t, nil, memory)
	request(before)
	after, _ := newMember(t, before, memory)
	before.Close(after.Detector)
	request(after)
	if pushes := collect(after); len(pushes) != 1 || pushes[0].Sum != 2 {
		t.Errorf("pushes %+v, want both requests", pushes)
	}
}

// What is forgotten with an unblock may be in Redis in this node's name, and is no
// forgery; without an unblock it is one. A node that is reloaded remembers.
func TestClear(t *testing.T) {
	for name, cleared := range map[string]bool{"unblocked": true, "counts that went": false} {
		memory := shard.NewMemory(1 << 20)
		m, _ := newMember(t, nil, memory)
		m.Totals.Sweep(now)
		request(m)
		if cleared {
			if n := m.Clear(now, netip.PrefixFrom(addr, 32)); n == 0 {
				t.Error("nothing was forgotten")
			}
		}
		after, _ := newMember(t, m, memory)
		m.Close(after.Detector)
		request(after)
		p := collect(after)[0]
		if out := after.Totals.Answered(&p, aggregator.Answer{Status: aggregator.StatusMore, Peak: 9, Total: 9}, now); out.Forged == cleared || !out.More {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestRestored: after a start without the boot of the process before, the fleet is told what
// comes from then on. What was restored, what is read again and what HAProxy counted before
// is counted here alone; so after a reload.
func TestRestored(t *testing.T) {
	memory := shard.NewMemory(1 << 20)
	m, _ := newMember(t, nil, memory)
	for range 2 {
		request(m) // as if restored
	}
	m.Restored(now)
	for i := range 2 {
		live := edgeguard.Event{Time: now, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
		again := live
		again.Again = true
		m.Decide(now, &live)
		m.Decide(now, &again)
		m.DecideBatch([]time.Time{now, now, now}, []edgeguard.Event{live, again, live}, make([]edgeguard.Verdict, 3))
		for _, at := range []time.Time{now.Add(-time.Millisecond), now} {
			m.DecideIncreases(now, false, []detector.Increase{{Addr: addr, Time: at, Cost: 1, N: 4}}, func(detector.Decided) {})
		}
		pushes := collect(m)
		if here := m.Totals.OwnCount(pushes[0].Key, now); len(pushes) != 1 || pushes[0].Sum != uint32(7*(i+1)) || here != uint32(2+13*(i+1)) {
			t.Errorf("of %d counted, told %+v, want %d", here, pushes, 7*(i+1))
		}
		after, _ := newMember(t, m, memory)
		m.Close(after.Detector)
		m = after
	}
}
