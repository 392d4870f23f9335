package hostaddr

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const routes4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT   \n" +
	"eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0   \n" + // default via 192.0.2.1
	"eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0   \n" + // on the link
	"tun0\t00000080\t016433C6\t0003\t0\t0\t0\t00000080\t0\t0\t0   \n" + // 128.0.0.0/1 via 198.51.100.1
	"eth1\t00000000\t010200C0\t0003\t0\t0\t9\t00000000\t0\t0\t0   \n" // the first again

const routes6 = `20010db8000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 20010db8000000000000000000000001 00000400 00000002 00000000 00000003     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`

const resolvers = `# by hand
search example.org
nameserver 203.0.113.53
nameserver 2001:db8::53%eth0 trailing words
nameserver ::ffff:203.0.113.54
nameserver 0.0.0.0
options edns0
`

func littleEndian(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the sample of /proc/net/route is a little-endian machine's")
	}
}

func TestDiscover(t *testing.T) {
	littleEndian(t)
	c := Config{
		Root: root(t, map[string]string{
			"proc/net/route":                   routes4,
			"proc/net/ipv6_route":              routes6,
			"etc/resolv.conf":                  resolvers,
			"run/systemd/resolve/resolv.conf":  "nameserver 192.0.2.1\n",
			"some/other/file/nobody/asked/for": "nameserver 192.0.2.99\n",
		}),
		Interfaces: list(protected("192.0.2.10/32", "interface eth0"), protected("2001:db8::10/128", "interface eth0")),
		Extra:      list(protected("10.1.2.3/8", "trusted proxy"), protected("::ffff:198.51.100.7/128", "redis"), Protected{}),
	}
	set, err := Discover(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `10.0.0.0/8 trusted proxy
192.0.2.1/32 gateway, resolver
192.0.2.10/32 interface eth0
198.51.100.1/32 gateway
198.51.100.7/32 redis
203.0.113.53/32 resolver
203.0.113.54/32 resolver
2001:db8::1/128 gateway
2001:db8::10/128 interface eth0
2001:db8::53/128 resolver
`
	if got := show(set); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got, want := len(set.Prefixes()), strings.Count(want, "\n")+4; got != want {
		t.Errorf("%d prefixes, want %d: four are protected everywhere", got, want)
	}
}

func TestWhy(t *testing.T) {
	set := newSet([]Protected{
		protected("10.0.0.0/8", "trusted proxy"), protected("10.1.2.3/32", "redis"),
		protected("fe80::/10", "link-local"), protected("2001:db8::1/128", "interface eth0"),
	})
	for _, test := range []struct{ prefix, want string }{
		{"10.1.2.3/32", "redis"},
		{"10.1.2.4/32", "trusted proxy"},
		{"10.1.2.0/24", "trusted proxy"},
		{"::ffff:10.1.2.3/128", "redis"},
		{"10.0.0.0/7", ""}, // around a protected one, not inside
		{"11.0.0.1/32", ""},
		{"fe80::5/128", "link-local"},
		{"2001:db8::1/128", "interface eth0"},
		{"2001:db8::/64", ""},
	} {
		got, ok := set.Why(netip.MustParsePrefix(test.prefix))
		if got.Reason != test.want || ok != (test.want != "") {
			t.Errorf("%s: %v, %t; want %q", test.prefix, got, ok, test.want)
		}
	}
	if p, ok := set.Why(netip.Prefix{}); ok {
		t.Errorf("the zero prefix is protected by %v", p)
	}
}

// TestSourceFails breaks each source in turn: the others are not lost, nor
// what else stands in the broken one, and the error names the place.
func TestSourceFails(t *testing.T) {
	littleEndian(t)
	good := map[string]string{
		"proc/net/route": routes4, "proc/net/ipv6_route": routes6, "etc/resolv.conf": resolvers,
	}
	for _, test := range []struct {
		name, path, text, problem string
	}{
		{"short route", "proc/net/route", "eth0 0\n" + routes4, "line 1: 2 fields"},
		{"long route", "proc/net/route", "eth0\t0\t0010200C0\t0003\n" + routes4, "line 1: gateway"},
		{"route's flags", "proc/net/route", "eth0\t0\t010200C0\t-3\n" + routes4, "line 1: flags"},
		{"short route", "proc/net/ipv6_route", routes6 + "fe80", "line 4: 1 fields"},
		{"next hop", "proc/net/ipv6_route", routes6 + "0 0 0 0 xyz 0 0 0 3 eth0", "line 4: next hop"},
		{"next hop", "proc/net/ipv6_route", routes6 + "0 0 0 0 " + strings.Repeat("x", 32) + " 0 0 0 3 eth0", "line 4: next hop"},
		{"resolver", "etc/resolv.conf", "nameserver\n" + resolvers, "line 1: nameserver without"},
		{"resolver", "etc/resolv.conf", resolvers + "nameserver dns.example\n", "line 8: nameserver"},
	} {
		t.Run(test.path+" "+test.name, func(t *testing.T) {
			dir := root(t, good)
			c := Config{Root: dir, Interfaces: list(protected("192.0.2.10/32", "interface eth0"))}
			want, err := Discover(c)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, test.path), test.text)
			got, err := Discover(c)
			if err == nil || !strings.Contains(err.Error(), test.problem) || !strings.Contains(err.Error(), test.path) {
				t.Errorf("the error %q does not name %s, %s", err, test.path, test.problem)
			}
			if show(got) != show(want) {
				t.Errorf("got\n%swant\n%s", show(got), show(want))
			}
		})
	}
	broken := errors.New("redis: no such host")
	set, err := Discover(Config{
		Root:       root(t, good),
		Interfaces: func() ([]Protected, error) { return nil, errors.New("interfaces: denied") },
		Extra:      func() ([]Protected, error) { return []Protected{protected("192.0.2.44/32", "node b")}, broken },
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "denied") {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{"192.0.2.44/32 node b", "192.0.2.1/32 gateway", "203.0.113.53/32 resolver"} {
		if !strings.Contains(show(set), want) {
			t.Errorf("%s is not in\n%s", want, show(set))
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	dir := root(t, map[string]string{"etc/resolv.conf/file": "this is a folder"})
	set, err := Discover(Config{Root: dir, Interfaces: list()})
	if err == nil || !strings.Contains(err.Error(), "etc/resolv.conf") {
		t.Errorf("the error is %v", err)
	}
	if len(set) != len(fixed) {
		t.Errorf("got %v", set)
	}
}

func TestNothingThere(t *testing.T) {
	set, err := Discover(Config{Root: t.TempDir(), Interfaces: list()})
	if err != nil || len(set) != len(fixed) {
		t.Errorf("got %v, %v", set, err)
	}
}

// TestHugeFile reads no more than it may, and uses the lines that are whole.
func TestHugeFile(t *testing.T) {
	text := strings.Repeat("nameserver 192.0.2.7\n", maxFile/21+1)[:maxFile+1]
	set, err := Discover(Config{Root: root(t, map[string]string{"etc/resolv.conf": text}), Interfaces: list()})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("the error is %v", err)
	}
	if got := show(set); got != "192.0.2.7/32 resolver\n" {
		t.Errorf("got %q", got)
	}
}

// TestThisHost compares with the machine that the test runs on: every address
// that the standard library knows of is protected.
func TestThisHost(t *testing.T) {
	set, err := Discover(Config{})
	if err != nil {
		t.Error(err)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	for _, a := range addrs {
		p := netip.MustParsePrefix(a.String())
		if _, ok := set.Why(netip.PrefixFrom(p.Addr(), p.Addr().BitLen())); !ok {
			t.Errorf("%s is not protected", a)
		}
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err == nil && strings.Contains(string(routes), "\t0003\t") && !strings.Contains(show(set), gateway) {
		t.Errorf("there is a gateway in\n%sand none in\n%s", routes, show(set))
	}
}

// BenchmarkLook is one look of Run at a host where nothing has changed.
func BenchmarkLook(b *testing.B) {
	c := Config{}
	w := watch{sources: c.sources()}
	w.last = make([][]Protected, len(w.sources))
	for b.Loop() {
		if _, _, err := w.look(); err != nil {
			b.Fatal(err)
		}
	}
}
