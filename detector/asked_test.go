package detector_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// failing refuses POST /login for twelve failed logins, which a log reports.
func failing() rules.Spec {
	return rules.Spec{
		Name: "login", Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login"}, Status: []string{"401"}},
		Threshold: 11, Guard: "1", Action: edgeguard.ActionDeny, Window: time.Minute,
	}
}

// question is what a proxy asks.
func question(addr, method, path string, at time.Time) edgeguard.Event {
	return edgeguard.Event{Time: at, Addr: netip.MustParseAddr(addr), Method: method, Path: path, Known: edgeguard.FieldMethod | edgeguard.FieldPath}
}

// answered is a log line.
func answered(addr, method, path string, status uint16, at time.Time) edgeguard.Event {
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	ev := question(addr, method, path, at)
	ev.Kind, ev.Verified, ev.Status, ev.Known = both, both, status, ev.Known|edgeguard.FieldStatus
	return ev
}

// both asks by Look and, as a request that is counted, by Decide; they say the same.
func both(t *testing.T, d *detector.Detector, now time.Time, ev edgeguard.Event) edgeguard.Verdict {
	t.Helper()
	looked := d.LookUpVerdict(now, &ev)
	ev.Kind, ev.Verified = edgeguard.KindRequest, edgeguard.KindRequest
	if got := d.Decide(now, &ev); got != looked {
		t.Errorf("%s %s: looked up %+v, decided %+v", ev.Method, ev.Path, looked, got)
	}
	return looked
}

// TestAsked: while the count is over the limit, what meets the terms but the status is
// refused, until it has fallen to the limit; nothing else is, and nobody else.
func TestAsked(t *testing.T) {
	d := newDetector(t, compile(t, failing()), nil, nil)
	for i := range 12 {
		ev := question(someone, "POST", "/login", epoch)
		if v := both(t, d, epoch, ev); v.Action != edgeguard.ActionPass {
			t.Fatalf("the %d. login: %+v", i+1, v)
		}
		failed := answered(someone, "POST", "/login", 401, epoch.Add(time.Duration(i)*time.Second))
		d.Decide(failed.Time, &failed)
	}
	now := epoch.Add(12 * time.Second)
	want := edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "login", Reason: "over limit", Count: 12, Limit: 11, RetryAfter: 48 * time.Second}
	for _, q := range []struct {
		addr, method, path string
		refused            bool
	}{{someone, "POST", "/login", true}, {someone, "post", "//login?a=1", true}, {someone, "GET", "/login", false}, {someone, "POST", "/", false}, {"192.0.2.2", "POST", "/login", false}} {
		got := both(t, d, now, question(q.addr, q.method, q.path, now))
		if q.refused && got != want || !q.refused && got != (edgeguard.Verdict{}) {
			t.Errorf("%+v: %+v", q, got)
		}
	}
	// A line of the log is decided as before, with its own count.
	again := answered(someone, "POST", "/login", 401, now)
	if v := d.Decide(now, &again); v.Action != edgeguard.ActionDeny || v.Count != 13 {
		t.Errorf("an answer: %+v", v)
	}
	fine := answered(someone, "POST", "/login", 302, now)
	if v := d.Decide(now, &fine); v.Action != edgeguard.ActionPass {
		t.Errorf("an answer that does not count: %+v", v)
	}
	// Who stops is free when the window has passed; who goes on and is counted is not.
	free := epoch.Add(61 * time.Second)
	if v := both(t, d, free.Add(-time.Second), question(someone, "POST", "/login", free)); v.RetryAfter != time.Second {
		t.Errorf("a second before the end: %+v", v)
	}
	if v := both(t, d, free, question(someone, "POST", "/login", free)); v.Action != edgeguard.ActionPass {
		t.Errorf("at the end: %+v", v)
	}
}

// TestAskedRefusalsCount: what the proxy answered a refused request counts if the rule names
// that status, and keeps it refused; one that names others lets go of it.
func TestAskedRefusalsCount(t *testing.T) {
	any4xx := failing()
	any4xx.Name, any4xx.Match.Status = "any", []string{"4xx"}
	for _, spec := range []rules.Spec{failing(), any4xx} {
		d := newDetector(t, compile(t, spec), nil, nil)
		for range 12 {
			failed := answered(someone, "POST", "/login", 401, epoch)
			d.Decide(epoch, &failed)
		}
		refused := 0
		for second := range 300 {
			now := epoch.Add(time.Duration(second) * time.Second)
			if v := both(t, d, now, question(someone, "POST", "/login", now)); v.Action == edgeguard.ActionDeny {
				refused++
				line := answered(someone, "POST", "/login", 429, now)
				d.Decide(now, &line)
			}
		}
		if want := map[string]int{"login": 60, "any": 300}[spec.Name]; refused != want {
			t.Errorf("%s: refused for %d seconds, want %d", spec.Name, refused, want)
		}
	}
}

// TestAskedStandings: lists go before rules, a monitor refuses nothing, nobody is refused for
// what a stranger may have forged, and another node is not refused.
func TestAskedStandings(t *testing.T) {
	addr := netip.MustParseAddr(someone)
	over := func(c detector.Config, verified bool) *detector.Detector {
		c.Rules, c.Memory = compile(t, failing()), shard.NewMemory(16<<20)
		if c.List == nil {
			c.List = blocklist.New(blocklist.Config{})
		}
		d := detector.New(c)
		for range 20 {
			ev := answered(someone, "POST", "/login", 401, epoch)
			if !verified {
				ev.Verified = 0
			}
			d.Decide(epoch, &ev)
		}
		return d
	}
	list := func(c blocklist.Config) detector.Config { return detector.Config{List: blocklist.New(c)} }
	blocked := list(blocklist.Config{})
	if _, err := blocked.List.Force(edgeguard.Block{Prefix: host(someone), Rule: "manual", Since: epoch, Until: epoch.Add(time.Hour)}, epoch); err != nil {
		t.Fatal(err)
	}
	peer := list(blocklist.Config{})
	peer.List.SetPeers([]netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}, nil)
	for name, test := range map[string]struct {
		d            *detector.Detector
		action       edgeguard.Action
		rule, reason string
	}{
		"over":      {over(detector.Config{}, true), edgeguard.ActionDeny, "login", "over limit"},
		"monitor":   {over(detector.Config{Monitor: true}, true), edgeguard.ActionShadow, "login", "over limit"},
		"forgeable": {over(detector.Config{}, false), edgeguard.ActionPass, "", ""},
		"allowed":   {over(list(blocklist.Config{Allow: []netip.Prefix{host(someone)}}), true), edgeguard.ActionPass, "", "allowlist"},
		"protected": {over(list(blocklist.Config{Protected: []netip.Prefix{host(someone)}}), true), edgeguard.ActionPass, "", "protected"},
		"blocked":   {over(blocked, true), edgeguard.ActionDeny, "manual", "blocked"},
		"a peer":    {over(peer, true), edgeguard.ActionPass, "", ""},
	} {
		v := both(t, test.d, epoch, question(someone, "POST", "/login", epoch))
		if v.Action != test.action || v.Rule != test.rule || v.Reason != test.reason {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestAskedKeys: the key has the attributes that the request has; one that lacks one is not
// refused. Different values are over as long as their count is.
func TestAskedKeys(t *testing.T) {
	byHost, different := failing(), failing()
	byHost.Key.With = []string{"host"}
	different.Name, different.Match.Path, different.Distinct = "different", nil, "path"
	d := newDetector(t, compile(t, byHost, different), nil, nil)
	for i := range 12 {
		ev := answered(someone, "POST", "/login", 401, epoch)
		ev.Host, ev.Known = "a", ev.Known|edgeguard.FieldHost
		d.Decide(epoch, &ev)
		ev = answered("192.0.2.7", "POST", fmt.Sprint("/", i), 401, epoch)
		d.Decide(epoch, &ev)
	}
	for host, want := range map[string]edgeguard.Action{"a": edgeguard.ActionDeny, "A:80": edgeguard.ActionDeny, "b": edgeguard.ActionPass, "": edgeguard.ActionPass} {
		ev := question(someone, "POST", "/login", epoch)
		if ev.Host = host; host != "" {
			ev.Known |= edgeguard.FieldHost
		}
		if v := both(t, d, epoch, ev); v.Action != want {
			t.Errorf("host %q: %+v", host, v)
		}
	}
	for path, want := range map[string]string{"/0": "different", "/new": "different"} {
		if v := both(t, d, epoch, question("192.0.2.7", "POST", path, epoch)); v.Rule != want {
			t.Errorf("%s: %+v", path, v)
		}
	}
}

// TestAskedWide: a /48 is denied what a rule that blocks matches, and the whole site never.
func TestAskedWide(t *testing.T) {
	part, whole := failing(), failing()
	part.Action, whole.Action = edgeguard.ActionBlock, edgeguard.ActionBlock
	part.Threshold, whole.Threshold = 1, 1
	whole.Name, whole.Match = "whole", rules.Match{Status: []string{"401"}}
	d := newDetector(t, compile(t, part, whole), nil, nil)
	for i := range 70 {
		ev := answered(site64(7, i<<8), "POST", "/login", 401, epoch)
		d.Decide(epoch, &ev)
	}
	fresh := site64(7, 200<<8)
	if v := both(t, d, epoch, question(fresh, "POST", "/login", epoch)); v.Action != edgeguard.ActionDeny || v.Rule != "login" || v.Limit != 64 || v.RetryAfter != time.Minute {
		t.Errorf("%+v", v)
	}
	if v := both(t, d, epoch, question(fresh, "GET", "/", epoch)); v.Action != edgeguard.ActionPass {
		t.Errorf("the rest of the site: %+v", v)
	}
}

// TestAskedSamples: the first of each sixteen refused requests is sampled.
func TestAskedSamples(t *testing.T) {
	sampled := 0
	b := newBench(t, failing())
	b.config.Sample = func(_ time.Time, prefix netip.Prefix, ev *edgeguard.Event, until time.Time) {
		if ev.Known&edgeguard.FieldStatus == 0 {
			if sampled++; prefix != host(someone) || !until.IsZero() {
				t.Errorf("%v until %v", prefix, until)
			}
		}
	}
	d := detector.New(b.config)
	for range 12 {
		ev := answered(someone, "POST", "/login", 401, epoch)
		d.Decide(epoch, &ev)
	}
	for range 33 {
		ev := question(someone, "POST", "/login", epoch)
		d.LookUpVerdict(epoch, &ev)
	}
	if sampled != 3 {
		t.Errorf("%d of 33 were sampled", sampled)
	}
}

// TestAskedAllocates: a question allocates nothing, whatever is said, also in a fleet.
func TestAskedAllocates(t *testing.T) {
	byHost := failing()
	byHost.Name, byHost.Key.With = "host", []string{"host"}
	specs := []rules.Spec{failing(), byHost}
	for i := range 5 {
		s := failing()
		s.Name, s.Match.Path = fmt.Sprint("other", i), []string{fmt.Sprintf("/other/%d/*", i)}
		specs = append(specs, s)
	}
	for _, fleet := range []bool{false, true} {
		c := detector.Config{Rules: compile(t, specs...), Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{})}
		if fleet {
			c.Fleet = func(int, *shard.Op, uint32) uint32 { return 3 }
			c.Rest = c.Fleet
			c.Until = func(int, *shard.Op, uint32) (least, most uint32) { return 1, 2 }
		}
		d := detector.New(c)
		for range 12 {
			ev := answered(someone, "POST", "/login", 401, epoch)
			ev.Host, ev.Known = "www.example.org", ev.Known|edgeguard.FieldHost
			d.Decide(epoch, &ev)
		}
		for _, path := range []string{"/login", "//login?x", "/other/3/x", "/"} {
			ev := question(someone, "POST", path, epoch)
			ev.Host, ev.Known = "www.example.org", ev.Known|edgeguard.FieldHost
			if n := testing.AllocsPerRun(100, func() { d.LookUpVerdict(epoch, &ev) }); n != 0 && !underRace {
				t.Errorf("%s, fleet %t: Look allocates %v times", path, fleet, n)
			}
			ev.Kind, ev.Verified = edgeguard.KindRequest, edgeguard.KindRequest
			if n := testing.AllocsPerRun(100, func() { d.Decide(epoch, &ev) }); n != 0 && !underRace {
				t.Errorf("%s, fleet %t: Decide allocates %v times", path, fleet, n)
			}
		}
	}
}
