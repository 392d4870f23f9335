package quarantine

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// door is a list behind a quarantine, and the detector that sees the requests.
type door struct {
	*Quarantine
	t    *testing.T
	d    *detector.Detector
	list *blocklist.List
	now  time.Time
}

// guarded is protected here.
var guarded = netip.MustParsePrefix("192.0.2.7/32")

func newDoor(t *testing.T) *door {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60000, Guard: "1"}})
	if problems != nil {
		t.Fatal(problems)
	}
	list := blocklist.New(blocklist.Config{Protected: []netip.Prefix{guarded}})
	g := &door{Quarantine: New(list, nil), t: t, list: list, now: time.Unix(1_800_000_000, 0)}
	g.d = detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(16 << 20), List: list, Seed: 1})
	list.OnChange(func(b edgeguard.Block) { g.Changed(g.now, b) })
	return g
}

// asked makes n clients of a /16 send some requests each.
func (g *door) asked(network byte, n, each int) {
	for range each {
		for k := range n {
			event := edgeguard.Event{Time: g.now, Addr: client(network, k), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
			g.d.Decide(g.now, &event)
		}
	}
}

func client(network byte, k int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, network, byte(k >> 8), byte(k)})
}

func (g *door) block(prefix string, version uint64) edgeguard.Block {
	return edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Origin: "edge-2", Since: g.now, Until: g.now.Add(time.Hour), Version: version}
}

// merge admits a signed record, which is weighed by its share, or a forced one without a
// signature.
func (g *door) merge(b edgeguard.Block, forced bool) error {
	_, err := g.Admit(g.now, g.d, b, blocklist.Trust{Forced: forced, Signed: !forced})
	return err
}

// waits checks whether a block is held.
func (g *door) waits(prefix string, want bool) {
	g.t.Helper()
	got := false
	for _, one := range g.HeldRecords() {
		got = got || one.Prefix.String() == prefix
	}
	if got != want {
		g.t.Errorf("%s waits: %v", prefix, got)
	}
}

func (g *door) inForce(prefix string, want bool) {
	g.t.Helper()
	p := netip.MustParsePrefix(prefix)
	if standing, b := g.list.Find(g.now, p.Addr()); (standing == blocklist.Blocked && b.Prefix == p) != want {
		g.t.Errorf("%s is in force: %v", prefix, !want)
	}
}

func TestOneBlockIsHeld(t *testing.T) {
	const much, little, nobody = "198.18.0.0/16", "198.19.0.0/16", "203.0.0.0/16"
	held := func(g *door) { // much waits
		g.t.Helper()
		g.asked(18, 1000, 3)
		g.asked(19, 200, 2)
		if err := g.merge(g.block(much, 3), false); !errors.Is(err, aggregator.ErrHeld) {
			g.t.Fatalf("a block of most clients: %v", err)
		}
		g.waits(much, true)
		g.inForce(much, false)
	}
	for name, test := range map[string]func(g *door){
		"no traffic": func(g *door) {
			if err := g.merge(g.block(much, 1), false); err != nil {
				g.t.Error(err)
			}
			g.inForce(much, true)
		},
		"others go in": func(g *door) {
			held(g)
			for _, prefix := range []string{little, nobody} {
				if err := g.merge(g.block(prefix, 1), false); err != nil {
					g.t.Error(err)
				}
				g.inForce(prefix, true)
			}
		},
		"comes again": func(g *door) {
			held(g)
			for _, version := range []uint64{3, 2} {
				b := g.block(much, version)
				if g.now = g.now.Add(10 * time.Minute); !errors.Is(g.merge(b, false), aggregator.ErrHeld) {
					g.t.Error("it is in force without confirmation")
				}
			}
			if s := g.Stats(); s.Held != 1 || s.Total != 1 {
				g.t.Errorf("%+v", s)
			}
		},
		"forced": func(g *door) {
			held(g)
			if err := g.merge(g.block(much, 4), true); !errors.Is(err, aggregator.ErrHeld) {
				g.t.Errorf("not signed: %v", err)
			}
			if _, err := g.Admit(g.now, g.d, g.block(much, 4), blocklist.Trust{Forced: true, Signed: true}); err != nil {
				g.t.Errorf("signed: %v", err)
			}
			g.waits(much, false)
			g.inForce(much, true)
		},
		"lifted": func(g *door) {
			held(g)
			old := g.block(much, 2)
			old.Lifted = true
			if err := g.merge(old, false); err != nil {
				g.t.Error(err)
			}
			g.waits(much, true) // that was of a block before it
			lifted := g.block(much, 4)
			lifted.Lifted = true
			if err := g.merge(lifted, false); err != nil {
				g.t.Error(err)
			}
			g.waits(much, false)
		},
		"replaced": func(g *door) {
			held(g)
			if !errors.Is(g.merge(g.block(much, 5), false), aggregator.ErrHeld) {
				g.t.Error("the greater one is in force")
			}
			if all := g.HeldRecords(); len(all) != 1 || all[0].Version != 5 {
				g.t.Errorf("%+v", all)
			}
		},
		"found here too": func(g *door) {
			held(g)
			if _, err := g.list.Merge(g.block(much, 1), g.now); err != nil {
				g.t.Fatal(err)
			}
			g.waits(much, false)
			if err := g.merge(g.block(much, 3), false); err != nil {
				g.t.Errorf("it would refuse nothing new: %v", err)
			}
			if s := g.Stats(); s.ConfirmedByCounts != 1 {
				g.t.Errorf("%+v", s)
			}
		},
		"found while it was weighed": func(g *door) {
			held(g)
			g.list.OnChange(nil)
			if _, err := g.list.Merge(g.block(much, 1), g.now); err != nil {
				g.t.Fatal(err)
			}
			g.Sweep(g.now, g.d)
			g.waits(much, false)
		},
		"over": func(g *door) {
			held(g)
			g.Sweep(g.now.Add(time.Hour-time.Second), g.d)
			g.waits(much, true)
			g.Sweep(g.now.Add(time.Hour), g.d)
			g.waits(much, false)
		},
		"off": func(g *door) {
			held(g)
			g.SetLimit(1)
			g.waits(much, false)
			if err := g.merge(g.block(much, 3), false); err != nil {
				g.t.Error(err)
			}
		},
		"confirmed": func(g *door) {
			held(g)
			b, ok, err := g.Confirm(g.now, netip.MustParsePrefix(much))
			if !ok || err != nil || b.Version <= 3 || !g.list.Trust(b.Prefix).Forced {
				g.t.Errorf("%+v, %v, %v", b, ok, err)
			}
			g.inForce(much, true)
			g.waits(much, false)
			if s := g.Stats(); s.Confirmed != 1 || s.ConfirmedByCounts != 0 {
				g.t.Errorf("%+v", s)
			}
			if _, ok, _ = g.Confirm(g.now, b.Prefix); ok {
				g.t.Error("confirmed twice")
			}
		},
		"confirmed, but allowed now": func(g *door) {
			held(g)
			g.list.SetAllow([]netip.Prefix{netip.MustParsePrefix(much)})
			if _, ok, err := g.Confirm(g.now, netip.MustParsePrefix(much)); !ok || !errors.Is(err, blocklist.ErrAllowed) {
				g.t.Error(ok, err)
			}
			g.waits(much, true)
		},
		"taken back": func(g *door) {
			held(g)
			if got := g.Version(netip.MustParsePrefix(much)); got != 3 {
				g.t.Errorf("version %d", got)
			}
			b, ok := g.Withdraw(g.now, netip.MustParsePrefix(much), "no", "edge-1")
			if !ok || !b.Lifted || b.Version <= 3 || b.Origin != "edge-1" || g.list.Version(b.Prefix) != b.Version {
				g.t.Errorf("%+v, %v", b, ok)
			}
			g.waits(much, false)
			if _, ok = g.Withdraw(g.now, b.Prefix, "no", "edge-1"); ok {
				g.t.Error("withdrawn twice")
			}
		},
		"over a restart": func(g *door) {
			held(g)
			next := newDoor(g.t)
			next.Restore(next.now.Add(time.Hour), g.HeldRecords(), nil)
			next.waits(much, false)
			next.Restore(next.now, g.HeldRecords(), nil)
			if err := next.merge(g.block(much, 3), false); !errors.Is(err, aggregator.ErrHeld) {
				g.t.Errorf("a restart put it in force: %v", err)
			}
		},
		"no room": func(g *door) {
			g.most = 1
			held(g)
			if !errors.Is(g.merge(g.block("198.19.0.0/24", 1), false), aggregator.ErrHeld) {
				g.t.Error("it is in force because the quarantine was full")
			}
			if s := g.Stats(); s.Held != 1 || s.NotRecorded != 1 {
				g.t.Errorf("%+v", s)
			}
		},
		"told of": func(g *door) {
			held(g)
			if w := g.Summary(g.now.Add(time.Second), g.d, 2*time.Second); w.Blocks != 0 {
				g.t.Errorf("too soon: %v", w)
			}
			share := g.d.Sample(g.now).Share(netip.MustParsePrefix(much), func(netip.Addr) bool { return true })
			want := fmt.Sprintf("1 block by edge-2 would refuse %.0f %% of the last 5 minutes' requests here and awaits confirmation: edgeguard blocks held", 100*share)
			if got := g.Summary(g.now.Add(2*time.Second), g.d, 2*time.Second).String(); got != want {
				g.t.Errorf("%s\nwant %s", got, want)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { test(newDoor(t)) })
	}
}

// Very many clients send little each, and few of them are in a sample. Blocks
// of each alone still refuse no more than the limit, to six standard errors of
// the 300 that make it up. That lasts as long as the blocks, and not five minutes. What
// the nodes' counts prove makes room for as many more, and with confirmation all are in
// force.
func TestManySmallBlocksAreHeld(t *testing.T) {
	const clients, most = 12_000, 12_000 * 20 / 100 * 135 / 100
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	order := rng.Perm(clients)
	g := newDoor(t)
	traffic := func() {
		for i, k := range order {
			if i%(clients/200) == 0 {
				g.now = g.now.Add(time.Second)
			}
			event := edgeguard.Event{Time: g.now, Addr: client(18, k), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
			g.d.Decide(g.now, &event)
		}
	}
	refused := func() (n int) {
		for k := range clients {
			if s, _ := g.list.Find(g.now, client(18, k)); s == blocklist.Blocked {
				n++
			}
		}
		return n
	}
	traffic()
	for _, k := range order {
		if err := g.merge(g.block(client(18, k).String()+"/32", 1), false); err != nil && !errors.Is(err, aggregator.ErrHeld) {
			t.Fatal(err)
		}
	}
	if n := refused(); n < clients*13/100 || n > most {
		t.Errorf("%d of %d clients are refused, with a limit of 20 %%", n, clients)
	}
	for range 4 {
		g.now = g.now.Add(time.Second)
		g.Sweep(g.now, g.d)
	}
	if n := refused(); n > most {
		t.Errorf("seconds later, %d", n)
	}
	g.now = g.now.Add(5 * time.Minute)
	g.Sweep(g.now, g.d)
	order = rng.Perm(clients) // the detector samples by a running count: one order twice is not two samples
	traffic()
	before := refused()
	sweep := func() {
		for range 4 {
			g.now = g.now.Add(time.Second)
			g.Sweep(g.now, g.d)
		}
	}
	if sweep(); g.Stats().AdmittedLater != 0 || refused() != before {
		t.Errorf("five minutes later, %d more: %+v", refused()-before, g.Stats())
	}
	for prefix := range maps.Clone(g.budget.charges) {
		g.Found(g.now, prefix)
	}
	sweep()
	if s, n := g.Stats(), refused()-before; s.AdmittedLater == 0 || n > most || n != int(s.AdmittedLater) {
		t.Errorf("with room in the budget, %d more: %+v", n, s)
	}
	for _, one := range g.HeldRecords() {
		if _, ok, err := g.Confirm(g.now, one.Prefix); !ok || err != nil {
			t.Fatal(one.Prefix, ok, err)
		}
	}
	if n := refused(); n != clients {
		t.Errorf("after confirmation, %d", n)
	}
}

// However blocks come, those of the fleet that are admitted in five minutes
// refuse no more than the limit of the requests, and held blocks stay held.
func TestOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, seed))
	for range 8 {
		g := newDoor(t)
		limit := 0.05 + 0.5*rng.Float64()
		g.SetLimit(limit)
		g.asked(18, 1000, 2+rng.IntN(3))
		g.asked(19, 500, 1)
		all, full, before := g.d.Sample(g.now), false, 0.0
		refused := func(addr netip.Addr) bool { s, _ := g.list.Find(g.now, addr); return s == blocklist.Blocked }
		for range 400 {
			addr := client(18+byte(rng.IntN(3)), rng.IntN(1000))
			prefix, _ := addr.Prefix(16 + rng.IntN(17))
			share := all.Share(prefix, func(netip.Addr) bool { return true }) // another node can lift what refuses them
			known, news := g.cameBefore(prefix), g.list.Version(prefix) == 0
			err := g.merge(g.block(prefix.String(), 1), false)
			held := errors.Is(err, aggregator.ErrHeld)
			switch {
			case err != nil && !held:
				t.Fatalf("seed %d: %v", seed, err)
			case held && !known && share > 0 && before+share <= limit-1e-9, held && !known && before == 0 && share <= limit:
				t.Errorf("seed %d: %s waits, with %.3f + %.3f of %.3f", seed, prefix, before, share, limit)
			case !held && news && before+share > limit+1e-9, !held && news && share == 0 && full:
				t.Errorf("seed %d: %s is in force, with %.3f + %.3f of %.3f", seed, prefix, before, share, limit)
			}
			full = full || held && !known && before > 0 && share <= limit
			if !held && news {
				before += share
			}
		}
		if got := all.ShareOf(refused); got > limit+1e-9 {
			t.Errorf("seed %d: %.3f of the requests are refused, over %.3f", seed, got, limit)
		}
		if s := g.Stats(); s.Held == 0 || s.Held != int(s.Total) {
			t.Errorf("seed %d: %+v", seed, s)
		}
		// A word for each ends all waiting.
		for _, one := range g.HeldRecords() {
			if _, ok, err := g.Confirm(g.now, one.Prefix); !ok || err != nil {
				t.Fatal(one.Prefix, ok, err)
			}
			if !g.list.Trust(one.Prefix).Forced || !refused(one.Prefix.Addr()) {
				t.Errorf("seed %d: %s is confirmed and not in force", seed, one.Prefix)
			}
		}
		if s := g.Stats(); s.Held != 0 || s.Confirmed != s.Total {
			t.Errorf("seed %d: %+v", seed, s)
		}
	}
}

// cameBefore reports whether a prefix was held already when it came.
func (g *door) cameBefore(prefix netip.Prefix) bool {
	for _, one := range g.HeldRecords() {
		if one.Prefix == prefix {
			return true
		}
	}
	return false
}

func TestSummarySaysWho(t *testing.T) {
	for want, w := range map[string]Summary{
		"2 blocks by edge-2 and others would refuse 41 % of": {Blocks: 2, Origin: "edge-2", Others: true, Share: 0.41},
		"2 blocks by edge-2 would refuse 0 % of the last 5 minutes' requests here and await confirmation, 1 for their width: edgeguard blocks held": {Blocks: 2, Wide: 1, Origin: "edge-2"},
		`1 block by "\x1b[2J" would refuse 41 % of`:                       {Blocks: 1, Origin: "\x1b[2J", Share: 0.41},
		fmt.Sprintf(`1 block by %s`, strings.Repeat("x", 64)) + "… would": {Blocks: 1, Origin: strings.Repeat("x", 99)},
	} {
		if got := w.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A held block is merged into the list once this node has made the same: of one
// crossing the fleet's record stays, and otherwise the greater of the two.
func TestOwnCountsAgree(t *testing.T) {
	for name, c := range map[string]struct {
		later  time.Duration // than the fleet's record ends this node's
		origin string        // whose record stands then
	}{
		"one crossing":          {300 * time.Millisecond, "edge-2"},
		"ends sooner":           {-time.Minute, "edge-2"},
		"a crossing of its own": {time.Minute, "edge-1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newDoor(t)
			g.asked(18, 1000, 3)
			const much = "198.18.0.0/16"
			theirs := g.block(much, 1)
			theirs.Rule = "site"
			if err := g.merge(theirs, false); !errors.Is(err, aggregator.ErrHeld) {
				t.Fatal(err)
			}
			mine := theirs
			mine.Origin, mine.Count, mine.Until = "edge-1", 77, theirs.Until.Add(c.later)
			if _, _, err := g.list.Add(mine, false, g.now); err != nil {
				t.Fatal(err)
			}
			g.waits(much, false)
			if _, b := g.list.Find(g.now, theirs.Prefix.Addr()); b == nil || b.Origin != c.origin {
				t.Errorf("%+v is in force, want that of %s", b, c.origin)
			}
			if s := g.Stats(); s.ConfirmedByCounts != 1 || s.Withdrawn != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
