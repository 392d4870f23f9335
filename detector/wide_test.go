package detector_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
	"edgeguard/shard"
)

// site64 is an address in the n-th /64 of 2001:db8:SITE::/48.
func site64(site uint16, n int) string {
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}
	binary.BigEndian.PutUint16(a[4:], site)
	binary.BigEndian.PutUint16(a[6:], uint16(n))
	return netip.AddrFrom16(a).String()
}

// login is a POST /login.
func login(addr string, at time.Time) edgeguard.Event {
	ev := request(addr, at)
	ev.Known, ev.Method, ev.Path = edgeguard.FieldMethod|edgeguard.FieldPath, "POST", "/login"
	return ev
}

// page is a GET of a page.
func page(addr string, at time.Time) edgeguard.Event {
	ev := login(addr, at)
	ev.Method, ev.Path = "GET", "/"
	return ev
}

func loginRule() rules.Spec {
	return rules.Spec{Name: "login", Match: rules.Match{Method: []string{"POST"}, Path: []string{"/login"}}, Threshold: 20}
}

// TestManyNetworks is a /48, free at any tunnel broker, that tries 20,000
// passwords, each from another /64: the limit of 19 never sees two of them
// together. Beyond 64 times the limit the /48 is refused its logins, and its
// pages go on.
func TestManyNetworks(t *testing.T) {
	for _, test := range []struct {
		wide   rules.Wide
		passed int
	}{
		{rules.WideOff, 20_000}, {rules.WideReport, 20_000}, {rules.WideDefault, 64 * 19}, {rules.WideStrict, 16 * 19},
	} {
		t.Run(test.wide.String(), func(t *testing.T) {
			spec := loginRule()
			spec.Wide = test.wide
			var crossings []edgeguard.Crossing
			d := newDetector(t, compile(t, spec, rules.Spec{Name: "site", Threshold: 2000, Wide: test.wide}), nil, &crossings)
			passed := 0
			for i := range 20_000 {
				at := epoch.Add(time.Duration(i) * time.Millisecond)
				ev := login(site64(1, i*3), at) // 85 in a /56
				if d.Decide(at, &ev).Action != edgeguard.ActionDeny {
					if passed++; passed > test.passed {
						t.Fatalf("login %d passed", i+1)
					}
				}
			}
			if passed != test.passed {
				t.Errorf("%d passed, want %d", passed, test.passed)
			}
			at := epoch.Add(20 * time.Second)
			for i := range 1000 {
				if ev := page(site64(1, i*3+1), at); d.Decide(at, &ev).Action != edgeguard.ActionPass {
					t.Fatalf("a page was refused: %+v", d.Decide(at, &ev))
				}
			}
			ev := login(site64(2, 0), at)
			if v := d.Decide(at, &ev); v.Action != edgeguard.ActionPass {
				t.Errorf("another /48: %+v", v)
			}
			wantCrossings(t, crossings, test.wide)
		})
	}
}

// wantCrossings holds that a /48 that was refused its logins crossed once, was
// named, and was not blocked.
func wantCrossings(t *testing.T, crossings []edgeguard.Crossing, wide rules.Wide) {
	t.Helper()
	want := edgeguard.Crossing{Node: "here", Rule: "login", Key: edgeguard.Key{Prefix: netip.MustParsePrefix("2001:db8:1::/48")},
		Action: edgeguard.ActionDeny, Count: 64*19 + 1, Limit: 64 * 19, Threshold: 20, Wide: 48}
	switch wide {
	case rules.WideOff:
		if len(crossings) != 0 {
			t.Errorf("crossings: %+v", crossings)
		}
		return
	case rules.WideReport:
		want.Action = edgeguard.ActionAlarm
	case rules.WideStrict:
		want.Count, want.Limit = 16*19+1, 16*19
	}
	if len(crossings) != 1 {
		t.Fatalf("%d crossings: %+v", len(crossings), crossings)
	}
	want.Time = crossings[0].Time
	if crossings[0] != want {
		t.Errorf("got %+v, want %+v", crossings[0], want)
	}
}

// TestCarrier is a mobile carrier's /48: 3,000 of its 65,536 phones, each in a
// /64 of its own, ask for 120 pages within one window, and one in a hundred
// logs in. Nobody is refused.
func TestCarrier(t *testing.T) {
	fulltest.Only(t)
	for _, wide := range []rules.Wide{rules.WideDefault, rules.WideStrict} {
		spec := loginRule()
		spec.Wide = wide
		b := newBench(t, spec, rules.Spec{Name: "site", Threshold: 2000, Wide: wide})
		r := rand.New(rand.NewPCG(1, uint64(wide)))
		phones := r.Perm(1 << 16)[:3000]
		for n := range 120 {
			at := epoch.Add(time.Duration(n) * 2 * time.Second)
			for i, phone := range phones {
				ev := page(site64(1, phone), at)
				if n == 60 && i%100 == 0 {
					ev = login(site64(1, phone), at)
				}
				if v := b.Decide(at, &ev); v.Action != edgeguard.ActionPass {
					t.Fatalf("phone %d, request %d: %+v", i, n, v)
				}
			}
		}
		if len(b.told) > 0 {
			t.Errorf("blocked: %+v", b.told)
		}
	}
}

// TestHome is a home with a /56: beyond 16 times the limit all of it is
// blocked, as one address is beyond the limit, and the next step follows.
func TestHome(t *testing.T) {
	spec := loginRule()
	spec.Escalate = []time.Duration{time.Hour}
	b := newBench(t, spec)
	at := epoch
	for round, lasts := range []time.Duration{10 * time.Minute, time.Hour} {
		n := 0
		for ; ; n++ {
			if ev := login(site64(1, 0x100+n%200), at); b.Decide(at, &ev).Action == edgeguard.ActionDeny {
				break
			}
		}
		if n != 16*19 {
			t.Fatalf("round %d: %d logins passed, want %d", round, n, 16*19)
		}
		block := b.told[len(b.told)-1]
		if len(b.told) != round+1 || block.Prefix != netip.MustParsePrefix("2001:db8:1:100::/56") || block.Until.Sub(at) != lasts ||
			block.Count != 16*19+1 || block.Limit != 16*19 || block.Reason != "over 16 times the limit in one /56" {
			t.Fatalf("round %d: %+v", round, b.told)
		}
		for _, addr := range []string{site64(1, 0x1ff), site64(1, 0x100)} {
			if ev := page(addr, at); b.Decide(at, &ev).Reason != "blocked" {
				t.Errorf("%s is not blocked", addr)
			}
		}
		if ev := login(site64(1, 0x200), at); b.Decide(at, &ev).Action != edgeguard.ActionPass {
			t.Error("the next /56 is refused")
		}
		at = at.Add(lasts + 10*time.Minute)
	}
}

// TestOneKeyIsNotItsNetwork: what one /64 is refused does not bring its /56 or
// /48 over the limit, however long it goes on: one phone must not take the
// logins of 65,535 others.
func TestOneKeyIsNotItsNetwork(t *testing.T) {
	b := newBench(t, loginRule())
	for i := range 100_000 {
		at := epoch.Add(time.Duration(i) * 10 * time.Millisecond)
		ev := login(site64(1, 7), at)
		b.Decide(at, &ev)
	}
	at := epoch.Add(1000 * time.Second)
	if ev := login(site64(1, 8), at); b.Decide(at, &ev).Action != edgeguard.ActionPass {
		t.Error("the neighbour is refused")
	}
	x := b.Explain(at, netip.MustParseAddr(site64(1, 8))).Rules[0].Wide
	if len(x) != 2 || x[0].Count > 20 || x[1].Count > 20 || x[0].Limit != 304 || x[1].Limit != 1216 || x[0].Prefix.Bits() != 56 || x[1].Prefix.Bits() != 48 {
		t.Errorf("wide: %+v", x)
	}
}

// TestKeyOfTwoRules: where two rules share a count, the one that refuses first
// says how much of a key was served, and so how much its network counts.
func TestKeyOfTwoRules(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "low", Threshold: 20}, rules.Spec{Name: "high", Threshold: 2000})
	b.send(5000, site64(1, 1), epoch)
	if len(b.told) != 1 || b.told[0].Prefix.Bits() != 64 {
		t.Errorf("blocked: %+v", b.told)
	}
}

// TestTrapInWideNetworks: an event dearer than the limit adds no more than the
// limit, so that the 17th network that falls into a trap has its /56 blocked.
func TestTrapInWideNetworks(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "trap", Match: rules.Match{Path: []string{"/.env"}}, Threshold: 1, Cost: 2})
	for i := range 17 {
		ev := page(site64(1, i), epoch)
		ev.Path = "/.env"
		b.Decide(epoch, &ev)
	}
	if len(b.told) != 18 || b.told[17].Prefix != netip.MustParsePrefix("2001:db8:1::/56") {
		t.Errorf("%d blocks, the last of %v", len(b.told), b.told[len(b.told)-1].Prefix)
	}
}

// TestWideForgeable: what can be forged is not counted in wide networks, and
// blocks at no width.
func TestWideForgeable(t *testing.T) {
	b := newBench(t, rules.Spec{Name: "r", Match: rules.Match{Kind: []string{"handshake"}}, Threshold: 2})
	for i := range 20_000 {
		ev := request(site64(1, i), epoch)
		ev.Kind, ev.Verified = edgeguard.KindHandshake, 0
		if v := b.Decide(epoch, &ev); v.Action != edgeguard.ActionPass {
			t.Fatalf("event %d: %+v", i, v)
		}
	}
	for _, table := range b.Tables() {
		if n := table.Stats().Keys; table.Wide > 0 && n > 0 {
			t.Errorf("%d keys of /%d", n, table.Wide)
		}
	}
}

// TestWideActions: what is done about each width by each kind of rule.
func TestWideActions(t *testing.T) {
	const none = edgeguard.ActionPass
	path := rules.Match{Path: []string{"/login"}}
	tests := []struct {
		name       string
		spec       rules.Spec
		home, site edgeguard.Action
	}{
		{"with a path", rules.Spec{Match: path}, edgeguard.ActionBlock, edgeguard.ActionDeny},
		{"deny with a path", rules.Spec{Match: path, Action: edgeguard.ActionDeny}, edgeguard.ActionDeny, edgeguard.ActionDeny},
		{"shadow with a path", rules.Spec{Match: path, Action: edgeguard.ActionShadow}, edgeguard.ActionShadow, edgeguard.ActionShadow},
		{"without a term", rules.Spec{}, edgeguard.ActionBlock, edgeguard.ActionAlarm},
		{"deny without a term", rules.Spec{Action: edgeguard.ActionDeny}, edgeguard.ActionDeny, edgeguard.ActionAlarm},
		{"strict", rules.Spec{Match: path, Wide: rules.WideStrict}, edgeguard.ActionBlock, edgeguard.ActionDeny},
		{"report", rules.Spec{Match: path, Wide: rules.WideReport}, edgeguard.ActionAlarm, edgeguard.ActionAlarm},
		{"off", rules.Spec{Match: path, Wide: rules.WideOff}, none, none},
		{"a key of /56", rules.Spec{Match: path, Key: rules.Group{V6: 56}}, edgeguard.ActionBlock, edgeguard.ActionDeny},
		{"a key of /48", rules.Spec{Match: path, Key: rules.Group{V6: 48}}, none, edgeguard.ActionBlock},
		{"a key with attributes", rules.Spec{Match: path, Key: rules.Group{With: []string{"method"}}, Action: edgeguard.ActionDeny}, edgeguard.ActionDeny, edgeguard.ActionDeny},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.spec.Name, test.spec.Threshold = "r", 2
			for _, size := range []struct {
				step  int // /64s apart
				wide  uint8
				wants edgeguard.Action
			}{{1, 56, test.home}, {256, 48, test.site}} {
				got := none
				var crossings []edgeguard.Crossing
				d := newDetector(t, compile(t, test.spec), nil, &crossings)
				for i := range 140 {
					ev := login(site64(1, i*size.step), epoch)
					d.Decide(epoch, &ev)
				}
				for _, c := range crossings {
					if c.Wide == size.wide || c.Wide == 0 && c.Key.Prefix.Bits() == int(size.wide) {
						got = c.Action
					}
				}
				if got != size.wants {
					t.Errorf("/%d: %v, want %v: %+v", size.wide, got, size.wants, crossings)
				}
			}
		})
	}
}

// TestOwnNetwork: the /56 of this host, and of what it relies on, is reported
// and never blocked; that of an allowlisted address is, and the address stays
// out of it and out of the counts.
func TestOwnNetwork(t *testing.T) {
	var crossings []edgeguard.Crossing
	friend := netip.MustParseAddr(site64(2, 5))
	list := blocklist.New(blocklist.Config{
		Allow:     []netip.Prefix{netip.PrefixFrom(friend, 128)},
		Protected: []netip.Prefix{netip.MustParsePrefix(site64(1, 5) + "/128")},
	})
	d := detector.New(detector.Config{Rules: compile(t, loginRule()), Memory: shard.NewMemory(64 << 20), List: list,
		Crossed: func(c edgeguard.Crossing) { crossings = append(crossings, c) }})
	for i := range 500 {
		for _, site := range []uint16{1, 2} {
			ev := login(site64(site, i%100), epoch)
			d.Decide(epoch, &ev)
		}
		ev := login(friend.String(), epoch)
		if v := d.Decide(epoch, &ev); v.Reason != "allowlist" {
			t.Fatalf("the friend: %+v", v)
		}
	}
	var own, other edgeguard.Crossing
	for _, c := range crossings {
		switch {
		case c.Wide > 0 && c.Key.Prefix.Contains(friend):
			other = c
		case c.Wide > 0:
			own = c
		}
	}
	if own.Action != edgeguard.ActionAlarm || other.Action != edgeguard.ActionBlock || other.Count != 305 {
		t.Errorf("this host's network: %+v; the other: %+v", own, other)
	}
	for b := range list.All(epoch) {
		if b.Prefix.Contains(netip.MustParseAddr(site64(1, 5))) {
			t.Errorf("a block of %v", b.Prefix)
		}
	}
}

// TestWideBesideNarrow: a /56 is blocked beside the blocks of its /64s, and a
// lift of either does not need another for its addresses to be counted afresh.
func TestWideBesideNarrow(t *testing.T) {
	b := newBench(t, loginRule())
	for i := range 20 { // 16 of them come to 19 each, and are blocked; the 17th is one too many
		for range 20 {
			ev := login(site64(1, i), epoch)
			b.Decide(epoch, &ev)
		}
	}
	home := netip.MustParsePrefix("2001:db8:1::/56")
	if last := b.told[len(b.told)-1]; len(b.told) != 17 || last.Prefix != home {
		t.Fatalf("%d blocks, the last of %v", len(b.told), last.Prefix)
	}
	counts := func(addr string) (wide [2]uint32) {
		for k, x := range b.Explain(epoch, netip.MustParseAddr(addr)).Rules[0].Wide {
			wide[k] = x.Count
		}
		return wide
	}
	if got := counts(site64(1, 99)); got != [2]uint32{20 * 19, 20 * 19} {
		t.Errorf("what was refused is counted too, until each /64 is over its limit: %v", got)
	}
	// The operator takes back the block of the /56, and everything in it counts
	// from nothing.
	b.list.Lift(home, epoch, "", "")
	b.Clear(epoch, home)
	if got := counts(site64(1, 3)); got != [2]uint32{} {
		t.Errorf("after the unblock of the /56: %v", got)
	}
	ev := login(site64(1, 18), epoch)
	if v := b.Decide(epoch, &ev); v.Action != edgeguard.ActionPass {
		t.Errorf("after the unblock of the /56: %+v", v)
	}
	if got := counts(site64(1, 18)); got != [2]uint32{1, 1} {
		t.Errorf("counted afresh: %v", got)
	}
	// The unblock of a /64 forgets what would block it again with its network.
	for i := range 303 { // one less than the limit, with the one above
		ev := login(site64(1, 0x20+i%100), epoch)
		b.Decide(epoch, &ev)
	}
	one := netip.MustParsePrefix(site64(1, 0x20) + "/64").Masked()
	b.Clear(epoch, one)
	ev = login(site64(1, 0x20), epoch)
	if v := b.Decide(epoch, &ev); v.Action != edgeguard.ActionPass {
		t.Errorf("after the unblock of the /64: %+v", v)
	}
	b.Clear(epoch, netip.MustParsePrefix("192.0.2.0/24")) // IPv4 is in none of them
}

// TestWideRetryAfter: a login that its /48 is refused is told when the count
// will have fallen.
func TestWideRetryAfter(t *testing.T) {
	b := newBench(t, loginRule())
	for i := range 64 * 19 {
		ev := login(site64(1, i*50), epoch)
		b.Decide(epoch, &ev)
	}
	at := epoch.Add(30 * time.Second)
	ev := login(site64(1, 65_000), at)
	v := b.Decide(at, &ev)
	if v.Action != edgeguard.ActionDeny || v.RetryAfter != 270*time.Second || v.Limit != 64*19 || v.Count != 64*19+1 {
		t.Errorf("%+v", v)
	}
	at = at.Add(v.RetryAfter)
	ev = login(site64(1, 65_001), at)
	if v := b.Decide(at, &ev); v.Action != edgeguard.ActionPass {
		t.Errorf("when it was told to come: %+v", v)
	}
}

// TestWideReload: the counts of networks outlive a reload, one that asks for
// them no more gives their memory back, and one that asks again begins at 0.
func TestWideReload(t *testing.T) {
	b := newBench(t, loginRule())
	count := func() (n [2]uint32) {
		for k, x := range b.Explain(epoch, netip.MustParseAddr(site64(1, 1))).Rules[0].Wide {
			n[k] = x.Count
		}
		return n
	}
	for i := range 100 {
		ev := login(site64(1, i), epoch)
		b.Decide(epoch, &ev)
	}
	strict, off := loginRule(), loginRule()
	strict.Wide, off.Wide = rules.WideStrict, rules.WideOff
	b.reload(t, strict)
	if got := count(); got != [2]uint32{100, 100} {
		t.Errorf("after a reload: %v", got)
	}
	wide := b.Tables()[2].Table
	b.reload(t, off)
	if n := wide.Stats().Keys; n != 0 {
		t.Errorf("%d keys where nobody asks for them", n)
	}
	if len(b.Tables()) != 2 {
		t.Errorf("%d tables", len(b.Tables()))
	}
	b.reload(t, strict)
	if got := count(); got != [2]uint32{} {
		t.Errorf("switched on again: %v", got)
	}
}

// TestWideSaturation: a slot of a network's window holds 65,535, so its count
// may be too low in a burst, and is never too high; over several slots it
// comes to what it must.
func TestWideSaturation(t *testing.T) {
	fulltest.Only(t)
	const limit = 2000 // of the /56: 32,000; of the /48: 128,000, more than a slot holds
	b := newBench(t, rules.Spec{Name: "r", Threshold: limit, Guard: "1", Action: edgeguard.ActionDeny, Match: rules.Match{Path: []string{"/login"}}})
	sent, first := 0, 0
	for slot := range 4 {
		at := epoch.Add(time.Duration(slot) * 5 * time.Second)
		for i := range 100_000 {
			ev := login(site64(1, i%60_000), at)
			sent++
			if v := b.Decide(at, &ev); v.Action == edgeguard.ActionDeny && first == 0 {
				first = sent
			}
			if i%10_000 == 0 {
				x := b.Explain(at, netip.MustParseAddr(site64(1, 1))).Rules[0].Wide
				if x[1].Count > uint32(sent) || x[1].Count > uint32(slot+1)*65_535 {
					t.Fatalf("%d sent, counted %d", sent, x[1].Count)
				}
			}
		}
	}
	if want := 100_000 + 128_000 - 65_535 + 1; first != want {
		t.Errorf("the first refused was %d, want %d", first, want)
	}
}

// TestWideWhileOver: the block of a /56 by a while_over rule lasts until the
// count of the /56, and not that of a /64 in it, will have fallen to its limit.
func TestWideWhileOver(t *testing.T) {
	spec := loginRule()
	spec.BlockFor, spec.WhileOver = time.Minute, true
	b := newBench(t, spec)
	for i := range 16*19 + 1 {
		ev := login(site64(1, i%200), epoch)
		b.Decide(epoch, &ev)
	}
	last := b.told[len(b.told)-1]
	if last.Prefix.Bits() != 56 || last.Until.Sub(epoch) != 5*time.Minute {
		t.Fatalf("%v for %v", last.Prefix, last.Until.Sub(epoch))
	}
	at := epoch.Add(4 * time.Minute)
	for i := range 300 {
		ev := login(site64(1, i%200), at)
		b.Decide(at, &ev)
	}
	if last = b.told[len(b.told)-1]; last.Prefix.Bits() != 56 || last.Until.Sub(epoch) != 5*time.Minute {
		t.Errorf("300 more are not over by themselves: %v until %v", last.Prefix, last.Until.Sub(epoch))
	}
	for i := range 5 {
		ev := login(site64(1, 200+i), at)
		b.Decide(at, &ev)
	}
	if last = b.told[len(b.told)-1]; last.Prefix.Bits() != 56 || last.Until.Sub(epoch) != 9*time.Minute {
		t.Errorf("305 more are: %v until %v", last.Prefix, last.Until.Sub(epoch))
	}
}
