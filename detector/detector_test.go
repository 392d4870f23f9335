package detector_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

var epoch = time.Unix(1_700_000_000, 0).UTC()

// compile makes a set of specs that must be right.
func compile(tb testing.TB, specs ...rules.Spec) *rules.Set {
	tb.Helper()
	set, problems := rules.Compile(specs)
	if len(problems) > 0 {
		tb.Fatalf("rules: %v", problems)
	}
	return set
}

// newDetector makes a detector with room enough, and collects its crossings.
func newDetector(tb testing.TB, set *rules.Set, allow []netip.Prefix, crossings *[]edgeguard.Crossing) *detector.Detector {
	tb.Helper()
	return detector.New(detector.Config{
		Rules:  set,
		Memory: shard.NewMemory(64 << 20),
		List:   blocklist.New(blocklist.Config{Allow: allow, Protected: []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}}),
		Node:   "here",
		Crossed: func(c edgeguard.Crossing) {
			if crossings != nil {
				*crossings = append(*crossings, c)
			}
		},
	})
}

// request is a verified request of addr at t.
func request(addr string, t time.Time) edgeguard.Event {
	return edgeguard.Event{Time: t, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
}

// TestWorkedExample is the example of the sliding-window counter that the
// product grew from: threshold 2,000 per 5 minutes; 1,950 requests spread over
// the window pass, then 100 come in one second. At guard 1 the 2,001st is the
// first refused; at guard 0.95 it is the 1,901st already.
func TestWorkedExample(t *testing.T) {
	for _, test := range []struct {
		guard        string
		firstRefused int
	}{{"1", 2001}, {"0.95", 1901}} {
		t.Run("guard "+test.guard, func(t *testing.T) {
			d := newDetector(t, compile(t, rules.Spec{Name: "site", Threshold: 2000, Guard: test.guard}), nil, nil)
			first, n := 0, 0
			decide := func(at time.Time) {
				n++
				ev := request("203.0.113.45", at)
				if v := d.Decide(at, &ev); v.Action == edgeguard.ActionDeny && first == 0 {
					first = n
				}
			}
			for i := range 1950 {
				decide(epoch.Add(time.Duration(i) * 290 * time.Second / 1950))
			}
			for i := range 100 {
				decide(epoch.Add(294*time.Second + time.Duration(i)*10*time.Millisecond))
			}
			if first != test.firstRefused {
				t.Errorf("first refused: request %d, want %d", first, test.firstRefused)
			}
		})
	}
}

// TestBoundary: a limit of N lets N events pass and refuses the next.
func TestBoundary(t *testing.T) {
	for _, n := range []uint32{1, 2, 4, 7, 20} {
		d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: n, Guard: "1"}), nil, nil)
		for i := range n + 1 {
			ev := request("192.0.2.1", epoch)
			got, want := d.Decide(epoch, &ev).Action, edgeguard.ActionPass
			if i == n {
				want = edgeguard.ActionDeny
			}
			if got != want {
				t.Errorf("limit %d, event %d: %v, want %v", n, i+1, got, want)
			}
		}
	}
}

func TestActions(t *testing.T) {
	tests := []struct {
		name   string
		spec   rules.Spec
		during edgeguard.Action // on the event over the limit
		after  edgeguard.Action // on an event that the rule does not match
		cross  edgeguard.Action
	}{
		{"block denies whatever the address does", rules.Spec{Action: edgeguard.ActionBlock}, edgeguard.ActionDeny, edgeguard.ActionDeny, edgeguard.ActionBlock},
		{"deny refuses only what matches", rules.Spec{Action: edgeguard.ActionDeny}, edgeguard.ActionDeny, edgeguard.ActionPass, edgeguard.ActionDeny},
		{"shadow only reports", rules.Spec{Action: edgeguard.ActionShadow}, edgeguard.ActionShadow, edgeguard.ActionPass, edgeguard.ActionShadow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.spec.Name, test.spec.Threshold = "r", 3
			test.spec.Match = rules.Match{Method: []string{"POST"}}
			var crossings []edgeguard.Crossing
			d := newDetector(t, compile(t, test.spec), nil, &crossings)
			post, get := request("192.0.2.1", epoch), request("192.0.2.1", epoch)
			post.Known, post.Method = edgeguard.FieldMethod, "POST"
			get.Known, get.Method = edgeguard.FieldMethod, "GET"
			for range 3 {
				if v := d.Decide(epoch, &post); v.Action != edgeguard.ActionPass {
					t.Fatalf("under the limit: %v", v)
				}
			}
			if v := d.Decide(epoch, &post); v.Action != test.during || v.Count != 4 || v.Limit != 3 || v.Rule != "r" {
				t.Errorf("over the limit: %+v", v)
			}
			if v := d.Decide(epoch, &get); v.Action != test.after {
				t.Errorf("another request: %+v", v)
			}
			d.Decide(epoch, &post)
			if len(crossings) != 1 || crossings[0].Action != test.cross || crossings[0].Node != "here" || crossings[0].Threshold != 3 {
				t.Errorf("crossings: %+v", crossings)
			}
		})
	}
}

// TestBlockAgain: denied events still count, a standing block is not extended,
// and whoever goes on is blocked anew when it is over.
func TestBlockAgain(t *testing.T) {
	var crossings []edgeguard.Crossing
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 5, BlockFor: time.Minute}), nil, &crossings)
	for s := range 130 {
		at := epoch.Add(time.Duration(s) * time.Second)
		ev := request("192.0.2.1", at)
		d.Decide(at, &ev)
	}
	if len(crossings) != 3 {
		t.Fatalf("%d blocks, want 3: at 5 s, 65 s and 125 s: %+v", len(crossings), crossings)
	}
	for i, c := range crossings {
		if want := epoch.Add(time.Duration(5+60*i) * time.Second); !c.Time.Equal(want) || !c.Until.Equal(want.Add(time.Minute)) {
			t.Errorf("block %d: %v until %v, want from %v for a minute", i, c.Time, c.Until, want)
		}
	}
	quiet := epoch.Add(20 * time.Minute)
	ev := request("192.0.2.1", quiet)
	if v := d.Decide(quiet, &ev); v.Action != edgeguard.ActionPass {
		t.Errorf("after a quiet time: %+v", v)
	}
}

// TestRetryAfter: a client that waits as long as it is told is let through,
// and one that comes a second earlier is not.
func TestRetryAfter(t *testing.T) {
	for _, early := range []time.Duration{0, time.Second} {
		d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 3, Action: edgeguard.ActionDeny}), nil, nil)
		var v edgeguard.Verdict
		at := epoch
		for i := range 4 {
			at = epoch.Add(time.Duration(i*37) * time.Second)
			ev := request("192.0.2.1", at)
			v = d.Decide(at, &ev)
		}
		if v.Action != edgeguard.ActionDeny || v.RetryAfter <= 0 {
			t.Fatalf("%+v", v)
		}
		again := at.Add(v.RetryAfter - early)
		ev := request("192.0.2.1", again)
		got := d.Decide(again, &ev).Action
		if want := map[bool]edgeguard.Action{true: edgeguard.ActionPass, false: edgeguard.ActionDeny}[early == 0]; got != want {
			t.Errorf("retry %v early after %v: %v, want %v", early, v.RetryAfter, got, want)
		}
	}
}

// TestForgeable: evidence that a stranger can forge alarms once and blocks
// nobody, and does not add up with proven evidence.
func TestForgeable(t *testing.T) {
	var crossings []edgeguard.Crossing
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 5}), nil, &crossings)
	forged := request("192.0.2.1", epoch)
	forged.Verified = 0
	for range 50 {
		if v := d.Decide(epoch, &forged); v.Action != edgeguard.ActionPass {
			t.Fatalf("forgeable: %+v", v)
		}
	}
	if len(crossings) != 1 || crossings[0].Action != edgeguard.ActionAlarm {
		t.Fatalf("crossings: %+v", crossings)
	}
	proven := request("192.0.2.1", epoch)
	for i := range 5 {
		if v := d.Decide(epoch, &proven); v.Action != edgeguard.ActionPass {
			t.Errorf("proven event %d: %+v", i+1, v)
		}
	}
	if v := d.Decide(epoch, &proven); v.Action != edgeguard.ActionDeny {
		t.Errorf("proven event over the limit: %+v", v)
	}
}

// TestAuthFailures: a rule for failed logins counts these and no requests. Over
// TCP they block; by SIP over UDP, where a stranger can write any source, they
// raise an alarm.
func TestAuthFailures(t *testing.T) {
	for _, test := range []struct {
		verified edgeguard.Kind
		want     edgeguard.Action
	}{{edgeguard.KindAuthFailure, edgeguard.ActionBlock}, {0, edgeguard.ActionAlarm}} {
		var crossings []edgeguard.Crossing
		d := newDetector(t, compile(t, rules.Spec{Name: "logins", Threshold: 3, Match: rules.Match{Kind: []string{"auth_failure"}}}), nil, &crossings)
		asked, failed := request("192.0.2.1", epoch), request("192.0.2.1", epoch)
		failed.Kind, failed.Verified = edgeguard.KindAuthFailure, test.verified
		for range 3 {
			d.Decide(epoch, &asked)
			d.Decide(epoch, &failed)
		}
		if len(crossings) != 0 {
			t.Fatalf("requests are counted as failed logins: %+v", crossings)
		}
		d.Decide(epoch, &failed)
		if len(crossings) != 1 || crossings[0].Action != test.want {
			t.Errorf("verified %v: %+v, want %v", test.verified, crossings, test.want)
		}
	}
}

// TestSpared: the allowlist and the protected addresses pass, uncounted; an
// address that the list refuses to block raises an alarm instead.
func TestSpared(t *testing.T) {
	var crossings []edgeguard.Crossing
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 2}), []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, &crossings)
	for _, addr := range []string{"192.0.2.7", "198.51.100.1", "0.0.0.0"} {
		for range 10 {
			ev := request(addr, epoch)
			if v := d.Decide(epoch, &ev); v.Action != edgeguard.ActionPass {
				t.Fatalf("%s: %+v", addr, v)
			}
		}
	}
	if len(crossings) != 1 || crossings[0].Action != edgeguard.ActionAlarm || crossings[0].Key.String() != "0.0.0.0" {
		t.Errorf("crossings: %+v", crossings)
	}
	if s := d.Stats(); s.Events != 30 || s.Spared != 20 || s.Passed != 30 {
		t.Errorf("stats: %+v", s)
	}
}

func TestMonitor(t *testing.T) {
	d := detector.New(detector.Config{
		Rules: compile(t, rules.Spec{Name: "r", Threshold: 1}), Memory: shard.NewMemory(8 << 20),
		List: blocklist.New(blocklist.Config{}), Monitor: true,
	})
	ev := request("192.0.2.1", epoch)
	for i := range 3 {
		want := edgeguard.ActionShadow
		if i == 0 {
			want = edgeguard.ActionPass
		}
		if v := d.Decide(epoch, &ev); v.Action != want {
			t.Errorf("event %d: %+v", i+1, v)
		}
	}
}

// TestTime: a late event counts in its own slot while that is in the window,
// an older one is dropped and counted as late, one from the future counts now.
func TestTime(t *testing.T) {
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 100}), nil, nil)
	table := d.Tables()[0]
	addr := netip.MustParseAddr("192.0.2.1")
	slot := uint32(epoch.Unix()) / 5
	for _, age := range []time.Duration{0, 200 * time.Second, 295 * time.Second, 296 * time.Second, time.Hour, -time.Hour} {
		ev := request("192.0.2.1", epoch.Add(-age))
		d.Decide(epoch, &ev)
	}
	if got := table.Count(addr, "", slot); got != 4 {
		t.Errorf("count %d, want 4: two are older than the window", got)
	}
	if got := table.Count(addr, "", slot+30); got != 2 {
		t.Errorf("count half a window later %d, want 2", got)
	}
	if s := d.Stats(); s.Late != 2 || s.Early != 1 {
		t.Errorf("stats %+v, want 2 late and 1 early", s)
	}
}

func TestCandidates(t *testing.T) {
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Threshold: 100, Guard: "1", Candidates: []uint32{3, 8}}), nil, nil)
	for i := range 10 {
		ev := request("192.0.2.1", epoch)
		if v := d.Decide(epoch, &ev); v.Action != edgeguard.ActionPass {
			t.Fatalf("event %d: a candidate is never enforced: %+v", i+1, v)
		}
	}
	for i, want := range []uint64{7, 2} {
		if got := d.Tallies(0)[i]; got.Over != want || got.Crossings != 1 {
			t.Errorf("candidate %d: %+v, want %d over, 1 crossing", i, got, want)
		}
	}
}

// mixed is a set of rules that share meters, weigh events and count by
// attribute.
func mixed(tb testing.TB) *rules.Set {
	return compile(tb,
		rules.Spec{Name: "site", Threshold: 40, Guard: "1", BlockFor: time.Minute, Escalate: []time.Duration{2 * time.Minute, time.Hour}},
		rules.Spec{Name: "low", Threshold: 15, Action: edgeguard.ActionShadow},
		rules.Spec{Name: "login", Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login*"}}, Threshold: 6, BlockFor: 2 * time.Minute},
		rules.Spec{Name: "api", Key: rules.Group{With: []string{"host"}}, Threshold: 10, Action: edgeguard.ActionDeny, Window: time.Minute},
		rules.Spec{Name: "dear", Threshold: 60, Cost: 1, Costs: []rules.Charge{{Match: rules.Match{Path: []string{"/search*"}}, Cost: 9}}, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "net", Key: rules.Group{V4: 24, V6: 48}, Threshold: 70, BlockFor: time.Minute},
		rules.Spec{Name: "pages", Distinct: "path", Threshold: 3, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "hosts", Distinct: "host", Match: rules.Match{Method: []string{"POST"}}, Threshold: 1, Candidates: []uint32{2}, Action: edgeguard.ActionShadow},
	)
}

// randomEvents makes events of a few addresses, mostly in order, some late,
// some early, some forgeable.
func randomEvents(r *rand.Rand, n int) (nows []time.Time, events []edgeguard.Event) {
	now := epoch
	paths := []string{"/", "/login", "//login?x=1", "/search?q=a", "/static/a.css"}
	for range n {
		if r.IntN(4) == 0 {
			now = now.Add(time.Duration(r.IntN(8000)) * time.Millisecond)
		}
		if r.IntN(400) == 0 {
			now = now.Add(time.Duration(r.IntN(400)) * time.Second)
		}
		at := now
		switch r.IntN(10) {
		case 0:
			at = now.Add(-time.Duration(r.IntN(320)) * time.Second)
		case 1:
			at = now.Add(time.Duration(r.IntN(20)) * time.Second)
		}
		addr := fmt.Sprintf("192.0.%d.%d", r.IntN(2), r.IntN(6))
		if r.IntN(3) == 0 {
			addr = fmt.Sprintf("2001:db8:%d:%d::%d", r.IntN(2), r.IntN(2), r.IntN(9))
		}
		ev := request(addr, at)
		ev.Known = edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath
		ev.Host, ev.Method, ev.Path = fmt.Sprintf("h%d", r.IntN(2)), []string{"GET", "POST"}[r.IntN(2)], paths[r.IntN(len(paths))]
		if r.IntN(6) == 0 {
			ev.Verified = 0
		}
		nows, events = append(nows, now), append(events, ev)
	}
	return nows, events
}

// TestNoAllocations: deciding allocates nothing, with attributes, odd paths,
// shadows and denials; only a new crossing does.
func TestNoAllocations(t *testing.T) {
	set := compile(t,
		rules.Spec{Name: "site", Threshold: 60000},
		rules.Spec{Name: "login", Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login*"}}, Threshold: 60000},
		rules.Spec{Name: "api", Key: rules.Group{With: []string{"host", "path"}}, Threshold: 1, Action: edgeguard.ActionDeny},
		rules.Spec{Name: "low", Threshold: 1, Action: edgeguard.ActionShadow, Candidates: []uint32{2, 60000}},
	)
	allocatesNothing(t, set)
}

// allocatesNothing decides random events, one by one and together.
func allocatesNothing(t *testing.T, set *rules.Set) {
	t.Helper()
	d := newDetector(t, set, nil, nil)
	nows, events := randomEvents(rand.New(rand.NewPCG(1, 2)), 256)
	verdicts := make([]edgeguard.Verdict, len(events))
	last := nows[len(nows)-1]
	for i := range nows {
		nows[i], events[i].Time = last, last
	}
	d.DecideBatch(nows, events, verdicts)
	d.DecideBatch(nows, events, verdicts)
	if n := testing.AllocsPerRun(50, func() { d.DecideBatch(nows, events, verdicts) }); n != 0 && !underRace {
		t.Errorf("DecideBatch allocates %v times", n)
	}
	for i := range events {
		if n := testing.AllocsPerRun(2, func() { d.Decide(last, &events[i]) }); n != 0 {
			t.Fatalf("Decide allocates %v times for %+v", n, events[i])
		}
	}
}
