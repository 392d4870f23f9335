//go:build linux

package enforce_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
)

// netns is a network namespace of the test's own: a firewall set up wrongly in
// it harms nobody.
type netns struct {
	t   testing.TB
	pid string
}

func newNetns(t testing.TB) netns {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	unshare := need(t, "unshare", "util-linux")
	need(t, "nsenter", "util-linux")
	c := exec.Command(unshare, "--net", "sleep", "600")
	if err := c.Start(); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	n := netns{t, strconv.Itoa(c.Process.Pid)}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if ns, err := os.Readlink("/proc/" + n.pid + "/ns/net"); err == nil && ns != own {
			return n
		}
		if time.Now().After(deadline) {
			t.Skip("no network namespace here: unshare does not work")
		}
	}
}

// argv runs a command inside.
func (n netns) argv(argv ...string) []string {
	return append([]string{"nsenter", "--net=/proc/" + n.pid + "/ns/net", "--"}, argv...)
}

func (n netns) run(argv ...string) (string, error) {
	argv = n.argv(argv...)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	return string(out), err
}

func (n netns) must(argv ...string) string {
	n.t.Helper()
	out, err := n.run(argv...)
	if err != nil {
		n.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// nftDenies asks by the kernel's own look-up.
func (n netns) nftDenies(addr netip.Addr) bool {
	family := "4"
	if addr.Is6() {
		family = "6"
	}
	for _, set := range []string{"blocked", "nets"} {
		if _, err := n.run("nft", "get", "element", "inet", "edgeguard", set+family, "{ "+addr.String()+" }"); err == nil {
			return true
		}
	}
	return false
}

func (n netns) ipsetDenies(addr netip.Addr) bool {
	set := "edgeguard4"
	if addr.Is6() {
		set = "edgeguard6"
	}
	_, err := n.run("ipset", "test", set, addr.String())
	return err == nil
}

func TestKernelConformance(t *testing.T) {
	t.Parallel()
	t.Run("nft", func(t *testing.T) {
		need(t, "nft", "nftables")
		n := newNetns(t)
		path := filepath.Join(t.TempDir(), "edgeguard.nft")
		enforcetest.Run(t, enforcetest.Bench{
			New: func(t *testing.T) enforce.Enforcer {
				return newFile(t, enforce.FileConfig{Path: path, Format: enforce.FormatNFT, Reload: n.argv("nft", "-f", path)})
			},
			Denied: func(t *testing.T, addr netip.Addr) bool { return n.nftDenies(addr) },
			Rounds: 5,
		})
		n.must("nft", "-c", "-f", path)
		if rules := strings.Count(n.must("nft", "list", "chain", "inet", "edgeguard", "input"), "saddr"); rules != 4 {
			t.Errorf("%d rules that drop after many loads, want 4", rules)
		}
	})
	t.Run("ipset", func(t *testing.T) {
		need(t, "ipset", "ipset")
		n := newNetns(t)
		if out, err := n.run("ipset", "list", "-n"); err != nil {
			t.Skipf("no ipset in this kernel: %s", out)
		}
		path := filepath.Join(t.TempDir(), "edgeguard.ipset")
		enforcetest.Run(t, enforcetest.Bench{
			New: func(t *testing.T) enforce.Enforcer {
				return newFile(t, enforce.FileConfig{Path: path, Format: enforce.FormatIPSet, Reload: n.argv("ipset", "-file", path, "restore")})
			},
			Denied: func(t *testing.T, addr netip.Addr) bool { return n.ipsetDenies(addr) },
			Rounds: 5,
		})
		if left := n.must("ipset", "list", "-n"); strings.Contains(left, "_new") {
			t.Errorf("sets left: %s", left)
		}
	})
}

// TestKernelEndsEntries: where edgeguard is gone, the kernel lets people in
// again at their time.
func TestKernelEndsEntries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format  enforce.Format
		pkg     string
		load    []string
		denies  func(n netns, a netip.Addr) bool
		forever time.Duration
	}{
		{enforce.FormatNFT, "nftables", []string{"nft", "-f"}, netns.nftDenies, 100 * 365 * 24 * time.Hour},
		{enforce.FormatIPSet, "ipset", []string{"ipset", "restore", "-file"}, netns.ipsetDenies, 100 * 365 * 24 * time.Hour},
	} {
		t.Run(test.format.String(), func(t *testing.T) {
			t.Parallel()
			need(t, test.load[0], test.pkg)
			n := newNetns(t)
			path := filepath.Join(t.TempDir(), "list")
			e := newFile(t, enforce.FileConfig{Path: path, Format: test.format, Reload: n.argv(append(test.load, path)...)})
			denied := func(_ *testing.T, a netip.Addr) bool { return test.denies(n, a) }
			for _, ends := range []string{"198.51.100.0/24", "203.0.113.7/32"} {
				prefix := netip.MustParsePrefix(ends)
				enforcetest.Ends(t, prefix.Addr(), denied, func(until time.Time) {
					list := []enforce.Entry{{Prefix: prefix, Until: until}, entry("203.0.113.8/32", test.forever)}
					if err := e.Replace(t.Context(), time.Now(), list); err != nil {
						t.Fatal(err)
					}
				})
			}
			if !test.denies(n, netip.MustParseAddr("203.0.113.8")) {
				t.Error("the longest block is gone")
			}
		})
	}
}

// TestNFTDrops sends real packets: a blocked source gets no answer.
func TestNFTDrops(t *testing.T) {
	t.Parallel()
	need(t, "nft", "nftables")
	need(t, "ip", "iproute2")
	python := need(t, "python3", "python3-minimal")
	n := newNetns(t)
	n.must("ip", "link", "set", "lo", "up")
	for _, a := range []string{"203.0.113.7/32", "198.51.100.9/32", "203.0.113.8/32"} {
		n.must("ip", "addr", "add", a, "dev", "lo")
	}
	path := filepath.Join(t.TempDir(), "edgeguard.nft")
	e := newFile(t, enforce.FileConfig{Path: path, Format: enforce.FormatNFT, Reload: n.argv("nft", "-f", path)})
	// A datagram from each address to a socket of the same program.
	const probe = `import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind(("127.0.0.1", 0)); server.settimeout(2)
for source in sys.argv[1:]:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); client.bind((source, 0))
    try:
        client.sendto(b"x", server.getsockname()); print(server.recvfrom(9)[1][0])
    except OSError: pass
`
	arrived := func() string {
		return strings.Join(strings.Fields(n.must(python, "-c", probe, "203.0.113.7", "198.51.100.9", "203.0.113.8")), " ")
	}
	for _, test := range []struct {
		list []enforce.Entry
		want string
	}{
		{nil, "203.0.113.7 198.51.100.9 203.0.113.8"},
		{[]enforce.Entry{entry("198.51.100.0/24", time.Hour), entry("203.0.113.7/32", time.Hour)}, "203.0.113.8"},
		{[]enforce.Entry{entry("203.0.113.8/32", time.Hour)}, "203.0.113.7 198.51.100.9"},
	} {
		if err := e.Replace(t.Context(), time.Now(), test.list); err != nil {
			t.Fatal(err)
		}
		if got := arrived(); got != test.want {
			t.Errorf("with %v arrived %q, want %q", test.list, got, test.want)
		}
	}
}

// Counters go on through updates of the list, and through the first load over
// a table whose rules had counters of their own.
func TestNFTKeepsCounters(t *testing.T) {
	t.Parallel()
	need(t, "nft", "nftables")
	need(t, "ip", "iproute2")
	python := need(t, "python3", "python3-minimal")
	n := newNetns(t)
	n.must("ip", "link", "set", "lo", "up")
	n.must("ip", "addr", "add", "203.0.113.7/32", "dev", "lo")
	n.must("ip", "addr", "add", "2001:db8::7/128", "dev", "lo", "nodad")
	dir := t.TempDir()
	file(t, filepath.Join(dir, "before"), `table inet edgeguard {
	set blocked4 { type ipv4_addr; flags timeout; }
	chain input { type filter hook input priority filter - 10; policy accept; }
}
add rule inet edgeguard input ip saddr @blocked4 counter drop
`)
	n.must("nft", "-f", filepath.Join(dir, "before"))
	path := filepath.Join(dir, "edgeguard.nft")
	e := newFile(t, enforce.FileConfig{Path: path, Format: enforce.FormatNFT, Reload: n.argv("nft", "-f", path)})
	// Five datagrams from each address: all are sent when it ends, and what is
	// dropped is counted in the same call.
	const probe = `import socket
for family, source, target in (socket.AF_INET, "203.0.113.7", "127.0.0.1"), (socket.AF_INET6, "2001:db8::7", "::1"):
    client = socket.socket(family, socket.SOCK_DGRAM); client.bind((source, 0))
    for _ in range(5): client.sendto(b"x", (target, 9))
`
	counted := func() [2]string {
		var packets [2]string
		for i, name := range []string{"dropped4", "dropped6"} {
			fields := strings.Fields(n.must("nft", "list", "counter", "inet", "edgeguard", name))
			if at := slices.Index(fields, "packets"); at >= 0 {
				packets[i] = fields[at+1]
			}
		}
		return packets
	}
	for round, want := range [][2]string{{"5", "5"}, {"10", "10"}, {"15", "15"}} {
		list := []enforce.Entry{entry("203.0.113.7/32", time.Hour), entry("2001:db8::/64", time.Hour), entry(fmt.Sprintf("198.51.100.%d/32", round), time.Hour)}
		if err := e.Replace(t.Context(), time.Now(), list); err != nil {
			t.Fatal(err)
		}
		n.must(python, "-c", probe)
		if got := counted(); got != want {
			t.Errorf("round %d: counted %v, want %v", round, got, want)
		}
	}
}

// TestNFTManyPrefixes loads thousands of neighbouring and nested ones.
func TestNFTManyPrefixes(t *testing.T) {
	t.Parallel()
	need(t, "nft", "nftables")
	n := newNetns(t)
	var list []enforce.Entry
	for i := range 3000 {
		list = append(list, entry(fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), time.Hour))
		list = append(list, entry(fmt.Sprintf("10.%d.%d.128/25", i/256, i%256), 2*time.Hour))
	}
	path := filepath.Join(t.TempDir(), "edgeguard.nft")
	e := newFile(t, enforce.FileConfig{Path: path, Format: enforce.FormatNFT, Reload: n.argv("nft", "-f", path)})
	for range 2 {
		if err := e.Replace(t.Context(), time.Now(), list); err != nil {
			t.Fatal(err)
		}
	}
	if !n.nftDenies(netip.MustParseAddr("10.11.183.200")) || n.nftDenies(netip.MustParseAddr("10.11.184.1")) {
		t.Error("the last prefix is not what it should be")
	}
}
