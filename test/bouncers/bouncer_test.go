//go:build linux

package bouncers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard/admin"
	"edgeguard/internal/program"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { program.Clean(); os.Exit(code) }))
}

// binary returns Debian's program of a package, which is unpacked and never installed:
// it would need CrowdSec. The test is skipped where it cannot be downloaded.
func binary(t testing.TB, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	folder := filepath.Join(cache, "edgeguard-bouncers", name)
	path := filepath.Join(folder, "usr/bin", name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	down := t.TempDir()
	get := exec.Command("apt-get", "download", name)
	get.Dir = down
	if out, err := get.CombinedOutput(); err != nil {
		t.Skipf("%s cannot be downloaded: %v: %s", name, err, out)
	}
	files, _ := filepath.Glob(filepath.Join(down, "*.deb"))
	if len(files) != 1 {
		t.Skipf("%s: %d files were downloaded", name, len(files))
	}
	if out, err := exec.Command("dpkg-deb", "-x", files[0], folder).CombinedOutput(); err != nil {
		t.Skipf("%s cannot be unpacked: %v: %s", name, err, out)
	}
	return path
}

// edge is a node and what enforces its blocks.
type edge struct {
	*program.Process
	t *testing.T
}

func start(t *testing.T, yaml string) *edge {
	t.Helper()
	n := program.NewNode(t, yaml)
	n.Launch()
	e := &edge{n, t}
	e.listens(1)
	return e
}

// listens waits until the node has begun to listen so many times.
func (e *edge) listens(times int) {
	e.t.Helper()
	e.Until("the node listens", func() bool {
		said := e.Said()
		return strings.Count(said, `msg=listening for=bouncers`) >= times && strings.Count(said, `msg=listening for=admin`) >= times
	})
}

const yaml = `
state: $DIR/state
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
crowdsec: {lapi: [{}]}
rules: [{name: site, threshold: 100}]
`

// command runs one of edgeguard's and returns what it prints.
func (e *edge) command(args ...string) string {
	e.t.Helper()
	path, err := program.Build()
	if err != nil {
		e.t.Fatal(err)
	}
	out, err := exec.Command(path, append(args, "--config", e.Path("config.yaml"))...).Output()
	if err != nil {
		e.t.Fatalf("edgeguard %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// list returns the bouncers.
func (e *edge) list() (s admin.BouncerList) {
	e.t.Helper()
	if err := json.Unmarshal([]byte(e.command("bouncers", "list", "--json")), &s); err != nil {
		e.t.Fatal(err)
	}
	return s
}

// said is what a bouncer writes.
type said struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// bouncer runs a bouncer with the lines of its file.
func (e *edge) bouncer(path, lines string) *said {
	e.t.Helper()
	file := e.Path(filepath.Base(path) + ".yaml")
	common := fmt.Sprintf("update_frequency: 1s\nlog_mode: stdout\nlog_level: info\ndaemonize: false\napi_url: http://127.0.0.1:9280/\npid_dir: %[1]s\npiddir: %[1]s\nprometheus: {enabled: false}\n", e.Folder)
	if err := os.WriteFile(file, []byte(common+lines), 0o600); err != nil {
		e.t.Fatal(err)
	}
	out := new(said)
	c := exec.Command(path, "-c", file)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Process.Kill()
		_ = c.Wait()
		if e.t.Failed() {
			e.t.Logf("the bouncer said: %s", out)
		}
	})
	return out
}

// kernel returns what a command of the packet filter prints.
func kernel(args ...string) string {
	out, _ := exec.Command(args[0], args[1:]...).CombinedOutput()
	return string(out)
}

func (e *edge) firewall(mode, key string) {
	e.bouncer(binary(e.t, "crowdsec-firewall-bouncer"), fmt.Sprintf(`mode: %s
api_key: %s
deny_action: DROP
supported_decisions_types: [ban]
blacklists_ipv4: crowdsec-blacklists
blacklists_ipv6: crowdsec6-blacklists
iptables_chains: [INPUT]
nftables:
  ipv4: {enabled: true, set-only: false, table: crowdsec, chain: crowdsec-chain}
  ipv6: {enabled: true, set-only: false, table: crowdsec6, chain: crowdsec6-chain}
`, mode, key))
}

// sets returns the kernel's sets of a mode.
func sets(mode string) string {
	if mode == "nftables" {
		return kernel("nft", "list", "ruleset")
	}
	return kernel("ipset", "list")
}

// TestNFTables: Debian's firewall bouncer puts blocks into the kernel, takes them out,
// and follows a longer end. It cuts off the mask of a prefix.
func TestNFTables(t *testing.T) {
	testFirewall(t, "nftables", func(e *edge) {
		e.Until("the prefix without its mask", func() bool {
			all := sets("nftables")
			return strings.Contains(all, "2001:db8:1::") && !strings.Contains(all, "2001:db8:1::/64")
		})
	})
}

// TestIPSet: the same with ipset, which keeps prefixes.
func TestIPSet(t *testing.T) {
	testFirewall(t, "iptables", func(e *edge) {
		e.Until("the prefix", func() bool { return strings.Contains(sets("iptables"), "2001:db8:1::/64") })
	})
}

func testFirewall(t *testing.T, mode string, prefix func(*edge)) {
	binary(t, "crowdsec-firewall-bouncer")
	if !program.Alone(t) {
		return
	}
	if mode == "iptables" {
		if out, err := exec.Command("ipset", "create", "try", "hash:net").CombinedOutput(); err != nil {
			t.Skipf("no ipset in a namespace here: %v: %s", err, out)
		}
	}
	e := start(t, yaml)
	key := e.command("bouncers", "add", "edge1-firewall")
	e.command("blocks", "add", "203.0.113.5", "--for", "5m")
	e.firewall(mode, key)
	e.Until("a block from before", func() bool { return strings.Contains(sets(mode), "203.0.113.5") })
	for i := range 5 {
		addr := fmt.Sprintf("203.0.113.%d", 100+i)
		begin := time.Now()
		e.command("blocks", "add", addr, "--for", "5m")
		e.Until("a new block", func() bool { return strings.Contains(sets(mode), addr) })
		t.Logf("%s was in the kernel after %v, with polls every second", addr, time.Since(begin).Round(time.Millisecond))
	}
	e.command("blocks", "add", "2001:db8:1::/64", "--for", "5m")
	prefix(e)
	e.command("blocks", "add", "203.0.113.5", "--for", "50m")
	e.Until("a longer end", func() bool { return longer(mode, "203.0.113.5") })
	e.command("blocks", "remove", "203.0.113.5")
	e.Until("the block is gone", func() bool { return !strings.Contains(sets(mode), "203.0.113.5") })
	e.Until("the bouncer is listed", func() bool {
		s := e.list()
		return len(s.Bouncers) == 1 && s.Bouncers[0].Packets && s.Bouncers[0].Address == "127.0.0.1" && s.Bouncers[0].Pulls > 2 && s.Bouncers[0].Every > 0
	})
	e.Stop()
	e.Launch()
	e.listens(2)
	e.command("blocks", "add", "203.0.113.200", "--for", "5m")
	e.Until("a block after a restart of the node", func() bool { return strings.Contains(sets(mode), "203.0.113.200") })
	if !strings.Contains(sets(mode), "203.0.113.100") {
		t.Error("a block is gone with the restart of the node")
	}
	e.command("bouncers", "remove", "edge1-firewall")
	e.Until("the bouncer is refused", func() bool { return e.list().Refused > 0 })
	e.Stop()
}

// longer reports whether a set has an address for more than 5 minutes.
func longer(mode, addr string) bool {
	for line := range strings.Lines(strings.ReplaceAll(sets(mode), ",", "\n")) {
		if !strings.Contains(line, addr) {
			continue
		}
		if mode == "nftables" {
			return strings.Contains(line, "expires 49m") || strings.Contains(line, "expires 50m")
		}
		fields := strings.Fields(line)
		return len(fields) >= 3 && len(fields[2]) == 4 // seconds
	}
	return false
}

// TestCustom: Debian's custom bouncer calls its script for what is blocked and what has
// ended, also by time.
func TestCustom(t *testing.T) {
	path := binary(t, "crowdsec-custom-bouncer")
	if !program.Alone(t) {
		return
	}
	e := start(t, yaml)
	script, calls := e.Path("script"), e.Path("calls")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$1 $2 $4\" >> "+calls+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	called := func(line string) func() bool {
		return func() bool {
			text, _ := os.ReadFile(calls)
			return strings.Contains(string(text), line+"\n")
		}
	}
	key := e.command("bouncers", "add", "script", "--kernel", "yes")
	e.command("blocks", "add", "203.0.113.5", "--for", "5m")
	e.bouncer(path, fmt.Sprintf("bin_path: %s\nfeed_via_stdin: false\ntotal_retries: 0\ncache_retention_duration: 1s\napi_key: %s\n", script, key))
	e.Until("a block from before", called("add 203.0.113.5 edgeguard/manual"))
	e.command("blocks", "add", "2001:db8:1::/64", "--for", "3s")
	e.Until("a prefix", called("add 2001:db8:1::/64 edgeguard/manual"))
	e.Until("its end by time", called("del 2001:db8:1::/64 edgeguard/manual"))
	e.command("blocks", "remove", "203.0.113.5")
	e.Until("an unblock", called("del 203.0.113.5 edgeguard/manual"))
	e.Stop()
}

// TestCustomExtended: a block that lasts longer soon after it was made is not an unblock for
// the custom bouncer, which runs its script for a new block of an address once in a while.
func TestCustomExtended(t *testing.T) {
	path := binary(t, "crowdsec-custom-bouncer")
	if !program.Alone(t) {
		return
	}
	e := start(t, yaml)
	script, calls := e.Path("script"), e.Path("calls")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$1 $2\" >> "+calls+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		text, _ := os.ReadFile(calls)
		return string(text)
	}
	key := e.command("bouncers", "add", "script")
	e.bouncer(path, fmt.Sprintf("bin_path: %s\nfeed_via_stdin: false\ntotal_retries: 0\ncache_retention_duration: 1h\napi_key: %s\n", script, key))
	e.command("blocks", "add", "203.0.113.5", "--for", "5m")
	e.Until("a block", func() bool { return strings.Contains(said(), "add 203.0.113.5\n") })
	e.command("blocks", "add", "203.0.113.5", "--for", "1h")
	e.command("blocks", "add", "203.0.113.6", "--for", "1h")
	e.Until("the next block", func() bool { return strings.Contains(said(), "add 203.0.113.6\n") })
	if strings.Contains(said(), "del ") {
		t.Errorf("a block that lasts longer was taken away:\n%s", said())
	}
	e.Stop()
}

// TestWrongKey: a bouncer with a wrong key is refused and says so.
func TestWrongKey(t *testing.T) {
	path := binary(t, "crowdsec-custom-bouncer")
	if !program.Alone(t) {
		return
	}
	e := start(t, yaml)
	out := e.bouncer(path, "bin_path: /bin/true\nfeed_via_stdin: false\ncache_retention_duration: 1s\napi_key: wrong\n")
	e.Until("it is refused", func() bool { return strings.Contains(out.String(), "access forbidden") })
	if s := e.list(); s.Refused == 0 {
		t.Errorf("%+v", s)
	}
	e.Stop()
}
