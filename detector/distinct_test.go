package detector_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/shard"
)

// valueOf is what an event shows to a meter of different values, in the slowest way that
// is plainly right for the paths and hosts of these tests.
func valueOf(m *rules.Meter, ev *edgeguard.Event) (string, bool) {
	switch m.Distinct {
	case rules.DistinctPath:
		path, _, _ := strings.Cut(ev.Path, "?")
		return strings.ReplaceAll(path, "//", "/"), ev.Known&edgeguard.FieldPath != 0
	case rules.DistinctAddress:
		p, _ := ev.Addr.Prefix(min(ev.Addr.BitLen(), 48))
		return p.String(), ev.Verified&m.Kind != 0
	case rules.DistinctHost:
		host, _, _ := strings.Cut(strings.ToLower(ev.Host), ":")
		return host, ev.Known&edgeguard.FieldHost != 0
	}
	return "", m.Distinct == 0
}

func TestMaxDistinct(t *testing.T) {
	if rules.MaxDistinct != shard.MaxDistinct {
		t.Errorf("rules allow limits up to %d, and a table is exact to %d", rules.MaxDistinct, shard.MaxDistinct)
	}
}

// shows makes a request of someone for a path.
func shows(path string, at time.Time) *edgeguard.Event {
	ev := request(someone, at)
	ev.Known, ev.Path = edgeguard.FieldPath, path
	return &ev
}

// TestDistinctBoundary: a limit of N lets N different values pass, however often each is
// seen and however it is written, and refuses the next.
func TestDistinctBoundary(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 19, 30, 31, 100, 400} {
		d := newDetector(t, compile(t, rules.Spec{Name: "r", Distinct: "path", Threshold: n, Guard: "1"}), nil, nil)
		for i := range n + 1 {
			for k, path := range []string{"/%d", "//%d?x", "/./%d#a", "/a/%%2e%%2e/%d?y=1"} {
				got := d.Decide(epoch, shows(fmt.Sprintf(path, i), epoch))
				want := edgeguard.ActionPass
				if i == n {
					want = edgeguard.ActionDeny
				}
				if got.Action != want || i == n && (got.Count != n+1 || got.Limit != n) {
					t.Fatalf("limit %d, value %d, sight %d: %+v, want %v", n, i+1, k+1, got, want)
				}
			}
		}
	}
}

// TestDistinctFields: what makes two values one, and that an event without the field is
// not counted.
func TestDistinctFields(t *testing.T) {
	for _, c := range []struct {
		field string
		kind  []string
		same  []func(*edgeguard.Event)
		other func(*edgeguard.Event)
	}{
		{"host", nil, []func(*edgeguard.Event){
			func(ev *edgeguard.Event) { ev.Host = "example.org" },
			func(ev *edgeguard.Event) { ev.Host = "Example.ORG.:8080" },
		}, func(ev *edgeguard.Event) { ev.Host = "www.example.org" }},
		{"agent", nil, []func(*edgeguard.Event){func(ev *edgeguard.Event) { ev.Agent = "curl/8" }}, func(ev *edgeguard.Event) { ev.Agent = "Curl/8" }},
		{"agent", nil, []func(*edgeguard.Event){func(ev *edgeguard.Event) { ev.Agent = "" }}, func(ev *edgeguard.Event) { ev.Agent = "-" }},
		{"port", []string{"handshake"}, []func(*edgeguard.Event){func(ev *edgeguard.Event) { ev.Port = 0 }}, func(ev *edgeguard.Event) { ev.Port = 65535 }},
		{"path", nil, []func(*edgeguard.Event){
			func(ev *edgeguard.Event) { ev.Path = "/" + strings.Repeat("a", 5000) },
			func(ev *edgeguard.Event) { ev.Path = "//" + strings.Repeat("a", 5000) },
		}, func(ev *edgeguard.Event) { ev.Path = "/" + strings.Repeat("a", 5001) }},
	} {
		t.Run(c.field, func(t *testing.T) {
			field, _ := edgeguard.ParseField(c.field)
			d := newDetector(t, compile(t, rules.Spec{Name: "r", Distinct: c.field, Match: rules.Match{Kind: c.kind}, Threshold: 1}), nil, nil)
			decide := func(set func(*edgeguard.Event), known edgeguard.Field) edgeguard.Action {
				ev := request(someone, epoch)
				ev.Kind |= edgeguard.KindHandshake
				ev.Verified, ev.Known = ev.Kind, known
				set(&ev)
				return d.Decide(epoch, &ev).Action
			}
			for range 3 {
				for _, set := range c.same {
					if got := decide(set, field); got != edgeguard.ActionPass {
						t.Fatalf("one value: %v", got)
					}
				}
			}
			if got := decide(c.other, ^field); got != edgeguard.ActionPass {
				t.Errorf("an event that lacks the field: %v", got)
			}
			if got := decide(func(ev *edgeguard.Event) { ev.Answer = true; c.other(ev) }, field); c.field == "port" && got != edgeguard.ActionPass {
				t.Errorf("an answer: %v", got)
			}
			if got := decide(c.other, field); got != edgeguard.ActionDeny {
				t.Errorf("another value: %v", got)
			}
		})
	}
}

// TestDistinctPortsApart: ports side by side count in full, whatever one costs.
func TestDistinctPortsApart(t *testing.T) {
	for cost := uint32(1); cost <= rules.MostMarks; cost++ {
		d := newDetector(t, compile(t, rules.Spec{
			Name: "scan", Match: rules.Match{Kind: []string{"handshake"}}, Distinct: "port", Cost: cost, Threshold: 300,
		}), nil, nil)
		ev := request(someone, epoch)
		ev.Kind, ev.Verified, ev.Known = edgeguard.KindHandshake, edgeguard.KindHandshake, edgeguard.FieldPort
		for i, port := range []uint16{0, 1, 2, 3, 4, 22, 23, 21, 65534, 65535} {
			ev.Port = port
			d.Decide(epoch, &ev)
			if got, _ := d.Count(epoch, &ev, 0); got != uint32(i+1)*cost {
				t.Errorf("cost %d: %d ports count %d", cost, i+1, got)
			}
		}
	}
}

// TestDistinctDeny: over the limit, a value that was seen before is refused as well.
func TestDistinctDeny(t *testing.T) {
	var crossings []edgeguard.Crossing
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Distinct: "path", Threshold: 3, Action: edgeguard.ActionDeny}), nil, &crossings)
	for i := range 4 {
		d.Decide(epoch, shows(fmt.Sprint("/", i), epoch))
	}
	nows, events, verdicts := make([]time.Time, 10), make([]edgeguard.Event, 10), make([]edgeguard.Verdict, 10)
	for i := range events {
		nows[i], events[i] = epoch, *shows(fmt.Sprint("/", i%4), epoch)
		if v := d.Decide(epoch, &events[i]); v.Action != edgeguard.ActionDeny || v.Count != 4 {
			t.Errorf("a repeated value over the limit: %+v", v)
		}
	}
	d.DecideBatch(nows, events, verdicts)
	for _, v := range verdicts {
		if v.Action != edgeguard.ActionDeny || v.Count != 4 {
			t.Errorf("a repeated value over the limit, in a batch: %+v", v)
		}
	}
	if len(crossings) != 1 {
		t.Errorf("%d crossings, want 1", len(crossings))
	}
}

// TestDistinctRetryAfter: who waits as long as the answer says is let through with the
// same request, and not a second earlier.
func TestDistinctRetryAfter(t *testing.T) {
	for _, early := range []time.Duration{0, time.Second} {
		d := newDetector(t, compile(t, rules.Spec{Name: "r", Distinct: "path", Threshold: 3, Action: edgeguard.ActionDeny}), nil, nil)
		var v edgeguard.Verdict
		at := epoch
		for i, path := range []string{"/a", "/b", "/a", "/c", "/b", "/d"} { // of /a, /b, /c and /d, /a was seen longest ago
			at = epoch.Add(time.Duration(i*17) * time.Second)
			v = d.Decide(at, shows(path, at))
		}
		if v.Action != edgeguard.ActionDeny || v.RetryAfter <= 0 {
			t.Fatalf("%+v", v)
		}
		again := at.Add(v.RetryAfter - early)
		got := d.Decide(again, shows("/d", again)).Action
		if want := map[bool]edgeguard.Action{true: edgeguard.ActionPass, false: edgeguard.ActionDeny}[early == 0]; got != want {
			t.Errorf("retry %v early after %v: %v, want %v", early, v.RetryAfter, got, want)
		}
	}
}

// TestDistinctBlockAgain: who goes round the same list stays over the limit, is blocked
// again when a block is over, climbs the steps, and is free when he stops.
func TestDistinctBlockAgain(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Distinct: "path", Threshold: 20, BlockFor: time.Minute, Escalate: []time.Duration{2 * time.Minute, 4 * time.Minute}})
	told := b.hears(t)
	for s := range 600 {
		at := epoch.Add(time.Duration(s) * time.Second)
		b.Decide(at, shows(fmt.Sprint("/", s%24), at))
	}
	var lengths []time.Duration
	for _, c := range *told {
		lengths = append(lengths, c.Until.Sub(c.Time))
	}
	if got := fmt.Sprint(lengths); got != "[1m0s 2m0s 4m0s 4m0s]" {
		t.Errorf("blocks of %v", got)
	}
	_, block := b.list.Find((*told)[0].Time, netip.MustParseAddr(someone))
	if block == nil || !strings.HasSuffix(block.Reason, " different paths in 5m, limit 19 (threshold 20)") {
		t.Errorf("block %+v", block)
	}
	quiet := epoch.Add(30 * time.Minute)
	if v := b.Decide(quiet, shows("/", quiet)); v.Action != edgeguard.ActionPass {
		t.Errorf("after a quiet time: %+v", v)
	}
}

// TestDistinctReload: a new threshold keeps what was seen, and a new seed breaks no value
// in two.
func TestDistinctReload(t *testing.T) {
	spec := rules.Spec{Name: "r", Distinct: "path", Threshold: 10, Guard: "1", Action: edgeguard.ActionDeny}
	b := newBench(t, spec)
	for i := range 5 {
		b.Decide(epoch, shows(fmt.Sprint("/", i), epoch))
	}
	spec.Threshold, b.config.Seed = 4, 99
	b.reload(t, spec)
	if v := b.Decide(epoch, shows("/3", epoch)); v.Action != edgeguard.ActionDeny || v.Count != 5 {
		t.Errorf("after the reload: %+v", v)
	}
	spec.Distinct = ""
	b.reload(t, spec)
	if v := b.Decide(epoch, shows("/3", epoch)); v.Action != edgeguard.ActionPass {
		t.Errorf("a rule that counts events: %+v", v)
	}
}

// TestDistinctExplain: what is known of an address that showed many values.
func TestDistinctExplain(t *testing.T) {
	d := newDetector(t, compile(t, rules.Spec{Name: "r", Distinct: "path", Threshold: 3, Guard: "1", Action: edgeguard.ActionDeny}), nil, nil)
	for i := range 12 {
		at := epoch.Add(time.Duration(i) * 5 * time.Second)
		d.Decide(at, shows(fmt.Sprint("/", i%6), at))
	}
	now := epoch.Add(55 * time.Second)
	x := d.Explain(now, netip.MustParseAddr(someone)).Rules[0]
	if x.Count != 6 || x.Distinct != rules.DistinctPath || x.Under != 285*time.Second {
		t.Errorf("%+v", x)
	}
	for i, n := range x.Slots {
		if want := i >= 54; (n == 1) != want || n > 1 {
			t.Errorf("slot %d has %d", i, n)
		}
	}
	for i := range 450 {
		d.Decide(now, shows(fmt.Sprint("/more/", i), now))
	}
	if x := d.Explain(now, netip.MustParseAddr(someone)).Rules[0]; x.Count < 400 {
		t.Errorf("%d of 456 paths", x.Count)
	}
}

// TestDistinctAllocations: counting values allocates nothing, over the limit or not.
func TestDistinctAllocations(t *testing.T) {
	allocatesNothing(t, compile(t,
		rules.Spec{Name: "paths", Distinct: "path", Threshold: 1, Action: edgeguard.ActionDeny, Candidates: []uint32{2, 400}},
		rules.Spec{Name: "hosts", Distinct: "host", Threshold: 1, Action: edgeguard.ActionShadow},
	))
}

// TestDistinctReason: a block says what its rule allows in values, not in what they cost.
func TestDistinctReason(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Distinct: "path", Cost: 2, Threshold: 10, Guard: "1", BlockFor: time.Minute})
	for s := range 8 {
		at := epoch.Add(time.Duration(s) * time.Second)
		b.Decide(at, shows(fmt.Sprint("/", s), at))
	}
	_, block := b.list.Find(epoch.Add(7*time.Second), netip.MustParseAddr(someone))
	if want := "6 different paths in 5m, limit 5 (threshold 10, each counts 2)"; block == nil || block.Reason != want {
		t.Errorf("block %+v, want %s", block, want)
	}
}
