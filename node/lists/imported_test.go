package lists

import (
	"context"
	"iter"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist/imported"
	"edgeguard/enforce"
)

// taught is an enforcer that remembers until when each prefix is installed.
type taught struct {
	kernel bool
	until  map[netip.Prefix]time.Time
	news   chan struct{}
}

func (i *taught) Traits() enforce.Traits { return enforce.Traits{Kernel: i.kernel} }
func (*taught) Close() error             { return nil }

func (i *taught) Replace(_ context.Context, _ time.Time, entries []enforce.Entry) error {
	clear(i.until)
	return i.Apply(context.Background(), begin, entries, nil)
}

func (i *taught) Apply(_ context.Context, _ time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	for _, e := range add {
		i.until[e.Prefix] = e.Until
	}
	for _, p := range remove {
		delete(i.until, p)
	}
	i.news <- struct{}{}
	return nil
}

// Enforcers have the union of the node's own blocks and the imported ones: of a prefix of
// both the later end, and when one is lifted the other. What leaves this host has its own
// only, and the kernel no block that was learned behind a proxy.
func TestUnion(t *testing.T) {
	c := testConfig(t)
	set := imported.New(imported.Config{Own: c.List, Changed: func(p []netip.Prefix) {}})
	c.Imported = set
	e := New(c)
	lists := map[string]*taught{
		"proxy": {}, "kernel": {kernel: true}, "exports": {},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all []*enforcer
	for name, list := range lists {
		list.until, list.news = map[netip.Prefix]time.Time{}, make(chan struct{}, 100)
		f := &enforcer{key: name, name: name, list: list}
		if name == "exports" {
			f.wanted = ownOnly
		}
		blocks := func(now time.Time) iter.Seq[edgeguard.Block] { return e.config.All(now, f.wanted) }
		runner, err := enforce.New(enforce.Config{Name: name, Enforcer: list, Blocks: blocks, Now: c.Now})
		if err != nil {
			t.Fatal(err)
		}
		f.runner = runner
		all = append(all, f)
	}
	e.running.Settle(ctx, all)
	defer func() { cancel(); e.running.Stop() }()
	c.List.OnChange(e.Changed)
	for _, list := range lists {
		<-list.news
	}
	p := netip.MustParsePrefix("192.0.2.1/32")
	step := func(what string, do func(), proxy, kernel, exports time.Duration) {
		t.Helper()
		do()
		for name, want := range map[string]time.Duration{"proxy": proxy, "kernel": kernel, "exports": exports} {
			<-lists[name].news
			if got := lists[name].until[p]; want == 0 != got.IsZero() || want != 0 && !got.Equal(begin.Add(want)) {
				t.Errorf("%s: %s has it until %v, want %v", what, name, got.Sub(begin), want)
			}
		}
	}
	imports := func(d time.Duration) func() {
		return func() {
			set.Replace("list", []imported.Entry{{Prefix: p, Until: begin.Add(d)}}, begin)
			e.ImportedChanged([]netip.Prefix{p})
		}
	}
	own := func(d time.Duration, proxied bool) func() {
		return func() {
			if _, _, err := c.List.Add(edgeguard.Block{Prefix: p, Rule: "site", Since: begin, Until: begin.Add(d), Proxied: proxied}, false, begin); err != nil {
				t.Error(err)
			}
		}
	}
	const h = time.Hour
	step("imported", imports(2*h), 2*h, 2*h, 0)
	step("a shorter own", own(h, false), 2*h, 2*h, h)
	step("lifted here", func() { c.List.Lift(p, begin, "", "") }, 2*h, 2*h, 0)
	step("a longer own behind a proxy", own(3*h, true), 3*h, 2*h, 3*h)
	step("lifted at its source", func() { set.Replace("list", nil, begin); e.ImportedChanged([]netip.Prefix{p}) }, 3*h, 0, 3*h)
	step("imported again", imports(4*h), 4*h, 4*h, 3*h)
	step("the whole list", e.Refresh, 4*h, 4*h, 3*h)
	step("allowed, and then all is read", func() {
		if _, _, err := c.List.Add(edgeguard.Block{Prefix: p, Rule: edgeguard.ManualRule, Allow: true, Since: begin, Until: begin.Add(h)}, false, begin); err != nil {
			t.Error(err)
		}
	}, 0, 0, 0)
	step("of a protected network only the rest", func() {
		c.List.Disallow(p, begin, "", "")
	}, 4*h, 4*h, 0)
}

// In mode monitor enforcers have no imported block; and none of what is allowed or
// protected, or around what a node claims.
func TestImportedAreCut(t *testing.T) {
	c := testConfig(t)
	set := imported.New(imported.Config{Own: c.List})
	c.Imported = set
	e := New(c)
	c.Protected = func() []netip.Prefix { return prefixes("198.51.100.1/32") }
	c.InForce.Protected = c.Protected
	c.Current().Allowlist = prefixes("198.51.100.200/32")
	c.List.SetPeers(nil, prefixes("198.51.100.8/32"))
	set.Replace("list", []imported.Entry{{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Until: begin.Add(time.Hour)}, {Prefix: netip.MustParsePrefix("198.51.100.8/32"), Until: begin.Add(time.Hour)}}, begin)
	holds := func(text string) bool {
		for b := range e.config.All(begin, nil) {
			if b.Prefix.Contains(netip.MustParseAddr(text)) {
				return true
			}
		}
		return false
	}
	for addr, want := range map[string]bool{"198.51.100.1": false, "198.51.100.2": true, "198.51.100.200": false, "198.51.100.8": true, "198.51.100.9": true} {
		if got := holds(addr); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	c.Current().Monitor = true
	if holds("198.51.100.2") {
		t.Error("in mode monitor an imported block is enforced")
	}
}
