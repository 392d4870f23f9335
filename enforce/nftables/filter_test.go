//go:build linux

package nftables

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
)

// hour returns entries that end in an hour.
func hour(prefixes ...string) []enforce.Entry { return lasting(time.Hour, prefixes...) }

func lasting(rest time.Duration, prefixes ...string) (all []enforce.Entry) {
	for _, p := range prefixes {
		all = append(all, enforce.Entry{Prefix: netip.MustParsePrefix(p), Until: time.Now().Add(rest)})
	}
	return all
}

func (b *bed) replace(e *Filter, entries []enforce.Entry) {
	b.t.Helper()
	if err := e.Replace(b.t.Context(), time.Now(), entries); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) apply(e *Filter, add []enforce.Entry, remove ...string) {
	b.t.Helper()
	var gone []netip.Prefix
	for _, p := range remove {
		gone = append(gone, netip.MustParsePrefix(p))
	}
	if err := e.Apply(b.t.Context(), time.Now(), add, gone); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) want(e *Filter, dropped bool, from ...string) {
	b.t.Helper()
	for _, a := range from {
		if got := b.drops(e, a); got != dropped {
			b.t.Errorf("%s: dropped is %t, want %t", a, got, dropped)
		}
	}
}

// The suite of all enforcers, by real packets.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, device := range map[string]string{"prerouting": "", "ingress": "eth0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			enforcetest.Run(t, enforcetest.Bench{
				New: func(*testing.T) enforce.Enforcer { return b.new(Config{Device: device}) },
				Denied: func(_ *testing.T, addr netip.Addr) bool {
					if addr.IsLoopback() {
						return b.listed(addr) // no network sends from it
					}
					return b.drops(b.new(Config{Device: device}), addr.String())
				},
				Rounds: 10,
			})
			b.replace(b.new(Config{Device: device}), nil)
			if left := b.host.run("nft", "list", "sets"); strings.Count(left, "set blocked") != len(usual) {
				t.Errorf("a set that holds nothing is left:\n%s", left)
			}
		})
	}
}

// listed asks nft whether an element of any set holds an address.
func (b *bed) listed(addr netip.Addr) bool {
	for _, text := range strings.Fields(b.host.run("nft", "list", "sets")) {
		l, isLength := lengthNamed(text)
		if !isLength || l.v6 != addr.Is6() {
			continue
		}
		cut, _ := addr.Prefix(l.bits)
		if _, err := b.host.try("nft", "get", "element", "inet", "edgeguard", text, "{ "+cut.Addr().String()+" }"); err == nil {
			return true
		}
	}
	return false
}

// Single addresses and prefixes that lie inside each other each have their own end.
func TestEachEntryHasItsEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	b.replace(e, nil)
	for _, nest := range [][2]string{{"198.51.100.0/24", "198.51.100.7/32"}, {"2001:db8::/48", "2001:db8::7/128"}} {
		outer, inner := netip.MustParsePrefix(nest[0]), netip.MustParsePrefix(nest[1])
		denied := func(_ *testing.T, a netip.Addr) bool { return b.drops(e, a.String()) }
		enforcetest.Ends(t, outer.Addr().Next(), denied, func(until time.Time) {
			b.apply(e, append(hour(inner.String()), enforce.Entry{Prefix: outer, Until: until}))
		})
		b.want(e, true, inner.Addr().String())
		b.apply(e, nil, inner.String())
		b.want(e, false, inner.Addr().String())
	}
}

// An end that is moved, later or earlier, is the one in force.
func TestEndsMove(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	const addr = "203.0.113.7/32"
	for name, install := range map[string]func([]enforce.Entry){
		"replace": func(all []enforce.Entry) { b.replace(e, all) },
		"apply":   func(all []enforce.Entry) { b.apply(e, all) },
	} {
		b.replace(e, nil)
		for _, rest := range []time.Duration{time.Hour, 3 * time.Hour, time.Minute, 200 * 365 * 24 * time.Hour} {
			install(lasting(rest, addr))
			if ends := b.ends(e, addr); (ends - rest).Abs() > time.Minute/2 {
				t.Errorf("%s: it ends in %s, want %s", name, ends, rest)
			}
		}
	}
}

// ends returns how long an element of the kernel lasts, asked by another enforcer.
func (b *bed) ends(of *Filter, prefix string) time.Duration {
	b.t.Helper()
	e := b.new(of.config)
	if _, err := e.recall(); err != nil {
		b.t.Fatal(err)
	}
	return e.in[netip.MustParsePrefix(prefix)] - e.clock()
}

// A list as is installed already changes nothing in the kernel, and another only what
// differs.
func TestReplaceWritesDifferences(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	list := hour("203.0.113.7/32", "198.51.100.0/24", "2001:db8::/64")
	b.replace(e, list)
	generation := func() uint32 {
		g, err := e.kernel.generation()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	before := generation()
	b.replace(e, list)
	if generation() != before {
		t.Error("a second Replace by the same list changed something")
	}
	again := b.new(Config{})
	b.replace(again, list) // as after a restart
	if generation() != before {
		t.Error("a restart changed something")
	}
	b.replace(again, append(list[:2:2], hour("203.0.113.8/32")...))
	if generation() != before+1 {
		t.Error("a changed list is more than one transaction")
	}
	b.want(again, true, "203.0.113.7", "203.0.113.8", "198.51.100.1")
	b.want(again, false, "2001:db8::1")
}

// Whatever else is in our sets is taken out, and what is missing comes back, also where
// somebody else put it there for ever.
func TestReplacePutsRight(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	list := hour("203.0.113.7/32", "203.0.113.8/32", "2001:db8::/64")
	for _, change := range []string{
		"add element inet edgeguard blocked4 { 203.0.113.9 }",
		"add element inet edgeguard blocked4 { 203.0.113.9 timeout 3h }",
		"delete element inet edgeguard blocked4 { 203.0.113.7 }",
		"delete element inet edgeguard blocked4 { 203.0.113.7 }\nadd element inet edgeguard blocked4 { 203.0.113.7 }",
		"flush set inet edgeguard blocked6_64",
		"flush chain inet edgeguard refuse4",
		"flush table inet edgeguard",
		"add rule inet edgeguard prerouting drop",
		"insert rule inet edgeguard refuse6 accept",
		"add chain inet edgeguard mine { type filter hook input priority 0; policy drop; }",
		"flush chain inet edgeguard prerouting\ndelete chain inet edgeguard prerouting",
		"flush chain inet edgeguard prerouting\ndelete set inet edgeguard blocked6_64\nadd set inet edgeguard blocked6_64 { type ipv6_addr; flags interval; }",
		"add table inet edgeguard { flags dormant; }",
		"delete table inet edgeguard",
		"flush ruleset",
	} {
		b.replace(e, list)
		b.host.load(change)
		b.replace(e, list)
		b.want(e, true, "203.0.113.7", "203.0.113.8", "2001:db8::1")
		b.want(e, false, "203.0.113.9", "2001:db8:0:1::1")
		if rest := b.ends(e, "203.0.113.7/32"); rest > time.Hour {
			t.Errorf("after %s: ends in %s", change, rest)
		}
		if t.Failed() {
			t.Fatalf("after %s\n%s", change, b.host.run("nft", "list", "ruleset"))
		}
	}
}

// A table of somebody else is refused and stays as it is.
func TestForeignTable(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	for family, table := range map[string]Config{"inet": {}, "netdev": {Device: "lo"}} {
		n.load("table " + family + " edgeguard { set blocked4 { type ipv4_addr; flags timeout; }; chain mine { }; }")
		before := n.run("nft", "list", "ruleset")
		e := n.filter(table)
		for name, err := range map[string]error{
			"replace": e.Replace(t.Context(), time.Now(), hour("203.0.113.7/32")),
			"clear":   e.kernel.clear("edgeguard"),
		} {
			if !errors.Is(err, enforce.ErrNotOurs) || !strings.Contains(err.Error(), "nft delete table "+family+" edgeguard") {
				t.Errorf("%s: %s: error %v", family, name, err)
			}
		}
		if after := n.run("nft", "list", "ruleset"); after != before {
			t.Errorf("%s: changed from\n%s\nto\n%s", family, before, after)
		}
		n.run("nft", "flush", "ruleset")
	}
}

// Clear removes what is ours, in either family, and nothing else.
func TestClear(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	const theirs = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n\t}\n}\n"
	n.load(theirs)
	for _, c := range []Config{{}, {Device: "lo"}} {
		e := n.filter(c)
		if err := e.Replace(t.Context(), time.Now(), hour("203.0.113.7/32", "2001:db8::/64")); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second has nothing to delete
			if err := e.kernel.clear("edgeguard"); err != nil {
				t.Fatal(err)
			}
		}
		if left := n.run("nft", "list", "ruleset"); left != theirs {
			t.Errorf("left: %s", left)
		}
	}
}

// Another place for the chain takes the table along.
func TestPlaceMoves(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, c := range []Config{{}, {Device: "eth0"}, {Device: "eth0", DryRun: true}, {Device: "lo"}, {}, {Forward: true, SparePorts: []uint16{22, 8443}}} {
		e := b.new(c)
		b.replace(e, hour("203.0.113.7/32"))
		if tables := strings.Count(b.host.run("nft", "list", "tables"), "table"); tables != 1 {
			t.Errorf("%+v: %d tables", c, tables)
		}
		if c.Device != "lo" && !c.DryRun {
			b.want(e, true, "203.0.113.7")
			b.want(e, false, "203.0.113.8")
		}
	}
}

// Every length of prefix at once: a block around an allowed address is cut into as many.
func TestEveryLength(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	e := b.new(Config{})
	var list []enforce.Entry
	for bits := 1; bits <= 32; bits++ {
		list = append(list, hour(netip.PrefixFrom(netip.MustParseAddr("203.0.113.7"), bits).Masked().String())...)
	}
	for bits := 1; bits <= 128; bits++ {
		list = append(list, hour(netip.PrefixFrom(netip.MustParseAddr("2001:db8::7"), bits).Masked().String())...)
	}
	b.replace(e, list)
	b.want(e, true, "203.0.113.7", "2001:db8::7")
	b.replace(e, list[31:32]) // and the shortest are gone
	b.want(e, true, "203.0.113.7")
	b.want(e, false, "203.0.113.6", "2001:db8::7")
	b.apply(e, list)
	b.want(e, true, "203.0.113.6", "2001:db8::7")
}
