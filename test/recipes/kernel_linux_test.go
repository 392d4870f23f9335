//go:build linux

package recipes

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// netns starts a network namespace of the test's own, with addresses on its loopback
// interface, and returns what begins a command inside.
func netns(t *testing.T, addresses ...string) []string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	for program, pkg := range map[string]string{"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "python3": "python3-minimal"} {
		need(t, program, pkg)
	}
	c := exec.Command("unshare", "--net", "sleep", "600")
	if err := c.Start(); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	file := "/proc/" + strconv.Itoa(c.Process.Pid) + "/ns/net"
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if ns, err := os.Readlink(file); err == nil && ns != own {
			break
		}
		if time.Now().After(deadline) {
			t.Skip("no network namespace here: unshare does not work")
		}
	}
	inside := []string{"nsenter", "--net=" + file, "--"}
	command(t, inside, "ip", "link", "set", "lo", "up")
	for _, a := range addresses {
		command(t, inside, "ip", "address", "add", a, "dev", "lo")
	}
	return inside
}

func command(t testing.TB, inside []string, args ...string) string {
	t.Helper()
	args = append(append([]string(nil), inside...), args...)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// arrive sends a datagram from each source to a socket of the same program. Loopback
// delivers it within the call, or drops it there.
const arrive = `import socket, sys
for source in sys.argv[1:]:
    family, target = (socket.AF_INET6, "::1") if ":" in source else (socket.AF_INET, "127.0.0.1")
    server = socket.socket(family, socket.SOCK_DGRAM); server.bind((target, 0)); server.setblocking(False)
    client = socket.socket(family, socket.SOCK_DGRAM); client.bind((source, 0))
    try:
        client.sendto(b"x", server.getsockname()); server.recvfrom(9); print(source)
    except OSError: pass
`

// The kernel drops what comes from an offender of either family, spares a neighbour,
// and lets the offender in when its block has ended.
func TestKernelLists(t *testing.T) {
	t.Parallel()
	for name, programs := range map[string][]string{"nft": {"nft:nftables"}, "ipset": {"ipset:ipset", "iptables:iptables", "ip6tables:iptables"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range programs {
				program, pkg, _ := strings.Cut(p, ":")
				need(t, program, pkg)
			}
			sources := []string{"203.0.113.7", "203.0.113.8", "2001:db8::7", "2001:db8:0:1::7"}
			r := newRecipe(t, name)
			r.swaps = []string{"/run/edgeguard-" + name + "/", r.dir + "/"}
			r.inside = netns(t, "203.0.113.7/32", "203.0.113.8/32", "2001:db8::7/128", "2001:db8:0:1::7/128")
			if name == "ipset" {
				if out, err := exec.Command(r.inside[0], append(r.inside[1:], "ipset", "list", "-n")...).CombinedOutput(); err != nil {
					t.Skipf("no ipset in this kernel: %s", out)
				}
			}
			r.startNode()
			arrived := func() string {
				return strings.Join(strings.Fields(command(t, r.inside, append([]string{"python3", "-c", arrive}, sources...)...)), " ")
			}
			all, spared := strings.Join(sources, " "), "203.0.113.8 2001:db8:0:1::7"
			for range 2 { // the second round loads over what the first one left
				r.must("blocks", "add", "203.0.113.7", "--for", "1h", "--reason", "test")
				r.must("blocks", "add", "2001:db8::/64", "--for", "1h", "--reason", "test")
				r.until("both offenders are dropped", func() bool { return arrived() == spared })
				r.must("blocks", "remove", "203.0.113.7")
				r.must("blocks", "remove", "2001:db8::/64")
				r.until("both are let in", func() bool { return arrived() == all })
			}
			r.oneRuleASet()
		})
	}
}

// oneRuleASet looks at the rules after many loads: each is there once.
func (r *recipe) oneRuleASet() {
	r.t.Helper()
	if r.name == "nft" {
		if rules := strings.Count(command(r.t, r.inside, "nft", "list", "chain", "inet", "edgeguard", "input"), "saddr"); rules != 4 {
			r.t.Errorf("%d rules, want 4", rules)
		}
		return
	}
	for _, program := range []string{"iptables", "ip6tables"} {
		if rules := strings.Count(command(r.t, r.inside, program, "-S", "INPUT"), "--match-set"); rules != 1 {
			r.t.Errorf("%s has %d rules, want 1", program, rules)
		}
	}
}
