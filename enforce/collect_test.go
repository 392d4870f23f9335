package enforce

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

func TestCollect(t *testing.T) {
	hour := epoch.Add(time.Hour)
	lifted := block("192.0.2.9/32", hour)
	lifted.Lifted = true
	proxied := block("192.0.2.8/32", hour)
	proxied.Proxied = true
	blocks := []edgeguard.Block{
		block("2001:db8::/64", hour), block("192.0.2.77/24", hour), lifted, proxied,
		block("192.0.2.7/32", epoch), block("192.0.2.0/25", hour), {}, block("::ffff:10.0.0.1/128", hour),
		block("10.0.0.1/32", hour.Add(time.Hour)), block("10.0.0.1/32", epoch.Add(time.Minute)), block("::ffff:0:0/90", hour),
	}
	kernel := collect(epoch, slices.Values(blocks), true, 0)
	if got, want := prefixes(kernel.entries), "10.0.0.1 192.0.2.0/24 192.0.2.0/25 2001:db8::/64"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if kernel.withheld != 1 || !kernel.next.Equal(hour) || !kernel.entries[0].Until.Equal(hour.Add(time.Hour)) {
		t.Errorf("withheld %d, next %s, first %v", kernel.withheld, kernel.next, kernel.entries[0])
	}
	proxy := collect(epoch, slices.Values(blocks), false, 0)
	if got, want := prefixes(proxy.entries), "10.0.0.1 192.0.2.0/24 192.0.2.0/25 192.0.2.8 2001:db8::/64"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := prefixes(slices.Collect(outermost(proxy.entries))), "10.0.0.1 192.0.2.0/24 2001:db8::/64"; got != want {
		t.Errorf("outermost: got %s, want %s", got, want)
	}
}

func TestAround(t *testing.T) {
	for _, test := range []struct{ block, exempt, want string }{
		{"192.0.2.0/24", "198.51.100.0/24", "192.0.2.0/24"},
		{"192.0.2.0/24", "192.0.0.0/16", ""},
		{"192.0.2.0/24", "192.0.2.0/24", ""},
		{"192.0.2.0/30", "192.0.2.1/32", "192.0.2.0 192.0.2.2/31"},
		{"192.0.2.0/24", "192.0.2.128/25", "192.0.2.0/25"},
		{"192.0.2.1/32", "192.0.2.1/32", ""},
		{"2001:db8::/62", "2001:db8::/64", "2001:db8:0:1::/64 2001:db8:0:2::/63"},
		{"192.0.2.0/31", "::ffff:192.0.2.1/128", "192.0.2.0"},
	} {
		got := collect(epoch, Around(slices.Values([]edgeguard.Block{block(test.block, epoch.Add(1))}),
			[]netip.Prefix{netip.MustParsePrefix(test.exempt)}), false, 0)
		if prefixes(got.entries) != test.want {
			t.Errorf("%s without %s: %s, want %s", test.block, test.exempt, prefixes(got.entries), test.want)
		}
	}
}

// TestAroundOracle asks address by address.
func TestAroundOracle(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := rand.New(rand.NewPCG(seed, 1))
	random := func(n, shortest int) (list []netip.Prefix) {
		for range d.IntN(n) {
			a := netip.AddrFrom4([4]byte{192, 0, 2, byte(d.IntN(256))})
			if d.IntN(2) == 0 {
				a = netip.AddrFrom16([16]byte{0x20, 1, 15: byte(d.IntN(256))})
			}
			bits := a.BitLen() - d.IntN(shortest)
			list = append(list, netip.PrefixFrom(a, bits).Masked())
		}
		return list
	}
	within := func(list []netip.Prefix, a netip.Addr) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	for range 300 {
		blocked, exempt := random(6, 10), random(8, 8)
		var blocks []edgeguard.Block
		for _, p := range blocked {
			blocks = append(blocks, edgeguard.Block{Prefix: p, Until: epoch.Add(1)})
		}
		var rest []netip.Prefix
		for b := range Around(slices.Values(blocks), exempt) {
			rest = append(rest, b.Prefix)
		}
		for i := range 512 {
			a := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
			if i > 255 {
				a = netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)})
			}
			if got, want := within(rest, a), within(blocked, a) && !within(exempt, a); got != want {
				t.Fatalf("%s: %t, want %t; blocked %v, exempt %v, rest %v", a, got, want, blocked, exempt, rest)
			}
		}
	}
}
