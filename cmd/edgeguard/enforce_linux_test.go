package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/enforce/nftables"
	"edgeguard/internal/program"
)

// netHost is a network of the test's own, with a node in it whose packet filter drops
// 192.0.2.7.
type netHost struct {
	t       *testing.T
	node    *program.Process
	program string
	network string // a file that names it
}

const netHostConfig = `{state: $DIR/state, listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}, enforce: {nftables: {}}}`

func newNetHost(t *testing.T) *netHost {
	t.Helper()
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	for _, name := range []string{"nft", "unshare", "nsenter", "setpriv"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s: install nftables and util-linux", name)
		}
	}
	keeper := exec.Command("unshare", "--net", "sh", "-c", "echo there; exec sleep 600")
	out, err := keeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		t.Skipf("no network namespace here: %v", err)
	}
	t.Cleanup(func() { _ = keeper.Process.Kill(); _ = keeper.Wait() })
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		t.Skip("no network namespace here: unshare does not work")
	}
	programHere, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	h := &netHost{t: t, program: programHere, network: "/proc/" + strconv.Itoa(keeper.Process.Pid) + "/ns/net", node: program.NewNode(t, netHostConfig)}
	if out, err := h.inside("nft", "list", "ruleset"); err != nil {
		t.Skipf("no packet filter in this kernel: %s", out)
	}
	h.start()
	h.until("the block is in the kernel", h.drops)
	return h
}

// start starts the node, waits until it answers, and blocks the address: a node that was
// killed may not have written it down.
func (h *netHost) start() {
	h.t.Helper()
	h.node.Program = "nsenter"
	h.node.Args = []string{"--net=" + h.network, "--", h.program, "serve", "--config", h.node.Path("config.yaml")}
	h.node.Launch()
	h.node.Until("the node answers", func() bool { _, err := h.edgeguard("blocks"); return err == nil })
	h.must("blocks", "add", "192.0.2.7", "--for", "1h")
}

// inside runs a program in the network.
func (h *netHost) inside(argv ...string) (string, error) {
	out, err := exec.Command("nsenter", append([]string{"--net=" + h.network, "--"}, argv...)...).CombinedOutput()
	return string(out), err
}

// edgeguard runs a command as an operator of the host does.
func (h *netHost) edgeguard(args ...string) (string, error) {
	return h.inside(append([]string{h.program}, append(args, "--config", h.node.Path("config.yaml"))...)...)
}

func (h *netHost) must(args ...string) string {
	h.t.Helper()
	out, err := h.edgeguard(args...)
	if err != nil {
		h.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// elements is the kernel's set of single addresses, as nft shows it.
func (h *netHost) elements() string {
	out, _ := h.inside("nft", "list", "set", "inet", "edgeguard", "blocked4")
	_, out, _ = strings.Cut(out, "elements = {")
	return out
}

// drops reports whether the kernel drops the blocked address.
func (h *netHost) drops() bool { return strings.Contains(h.elements(), "192.0.2.7") }

func (h *netHost) until(what string, holds func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			status, _ := h.edgeguard("enforce", "status")
			h.t.Fatalf("never: %s; the kernel has %s; %s", what, h.elements(), status)
		}
	}
}

// status fails unless `enforce status` begins with a text.
func (h *netHost) status(when, want string, code int) {
	h.t.Helper()
	out, err := h.edgeguard("enforce", "status")
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	}
	if !strings.HasPrefix(out, want) || got != code {
		h.t.Errorf("%s: exit code %d, %s; want %d, %q", when, got, out, code, want)
	}
}

// A trial that is not confirmed ends, with the node alive; then it is resumed.
func TestTrialNotConfirmed(t *testing.T) {
	h := newNetHost(t)
	h.status("at first", "in force", 0)
	out := h.must("enforce", "try", "10s", "--spare", "203.0.113.9")
	for _, want := range []string{"The kernel drops what is blocked until ", "Spared meanwhile: ", "203.0.113.9", "edgeguard enforce confirm"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in: %s", want, out)
		}
	}
	h.until("the trial has ended", func() bool { out, _ := h.edgeguard("enforce", "status"); return strings.HasPrefix(out, "paused") })
	h.until("the kernel drops nothing", func() bool { return !h.drops() })
	h.status("after it", "paused: the kernel drops nothing (table edgeguard): a trial was not confirmed", 1)
	if out, err := h.edgeguard("enforce", "confirm"); err == nil || !strings.Contains(out, "edgeguard enforce resume") {
		t.Errorf("confirmed too late: %v, %s", err, out)
	}
	h.must("enforce", "resume")
	h.until("the kernel drops again", h.drops)
}

// short is a timeout of at most ten seconds.
var short = regexp.MustCompile(`timeout (10s|[0-9]s([0-9]+ms)?|[0-9]+ms) `)

// What the kernel has during a trial ends by itself when edgeguard is killed, and the
// next start leaves it empty.
func TestTrialKilled(t *testing.T) {
	h := newNetHost(t)
	h.must("enforce", "try", "10s")
	h.until("the kernel drops on trial", func() bool {
		if out, _ := h.edgeguard("enforce", "status"); strings.HasPrefix(out, "paused") {
			h.must("enforce", "try", "10s") // this machine is too busy for the first
		}
		return h.drops()
	})
	h.node.Kill()
	if text := h.elements(); strings.Contains(text, "timeout") && !short.MatchString(text) {
		t.Errorf("elements outlast the trial: %s", text)
	}
	h.until("the kernel's own timeouts have ended it", func() bool { return !h.drops() })
	h.start()
	h.status("started again", "paused: the kernel drops nothing (table edgeguard): a trial was not confirmed, and edgeguard restarted", 1)
	if h.drops() {
		t.Error("the kernel drops after the restart")
	}
	h.must("enforce", "try", "1h")
	h.must("enforce", "confirm")
	h.until("the kernel drops", h.drops)
	h.status("confirmed", "in force", 0)
	h.until("for longer than the trial", func() bool { return !short.MatchString(h.elements()) })
	h.node.Stop()
	if !h.drops() {
		t.Error("after a confirmed trial a stopped node let somebody in")
	}
	h.start()
	h.until("the kernel drops after a restart", h.drops)
	h.status("confirmed and started again", "in force", 0)
}

// clear empties the kernel with a node, without one, and where a table is not edgeguard's.
func TestEnforceClear(t *testing.T) {
	h := newNetHost(t)
	if out := h.must("enforce", "clear"); !strings.HasPrefix(out, "paused") || h.drops() {
		t.Errorf("by the node: %s; the kernel has %s", out, h.elements())
	}
	h.must("enforce", "resume")
	h.until("the kernel drops again", h.drops)
	h.node.Kill()
	if out := h.must("enforce", "clear"); !strings.Contains(out, "cleared: the kernel no longer has edgeguard's table edgeguard") || h.drops() {
		t.Errorf("without a node: %s; the kernel has %s", out, h.elements())
	}
	h.start()
	h.status("started after clear", "paused", 1)
	h.must("enforce", "resume")
	h.until("the kernel drops again", h.drops)
	h.node.Kill()
	if out, err := h.inside("nft", "add table inet other; add table ip edgeguard; add table netdev foreign"); err != nil {
		t.Fatal(out)
	}
	if out := h.must("enforce", "clear", "--all", "--json"); !strings.Contains(out, `"deleted":["edgeguard"]`) {
		t.Errorf("all: %s", out)
	}
	if out, _ := h.inside("nft", "list", "tables"); strings.Contains(out, "inet edgeguard") || strings.Count(out, "table") != 3 {
		t.Errorf("tables left: %s", out)
	}
	if _, err := os.Stat(filepath.Join(h.node.Folder, "state", nftables.TrialMarkName)); err == nil {
		t.Error("clear --all paused the next start")
	}
	if out, err := h.edgeguard("enforce", "clear", "--table", "other"); err == nil || !strings.Contains(out, "other") {
		t.Errorf("a table of somebody else: %v, %s", err, out)
	}
	if out := h.must("enforce", "clear", "--all"); !strings.Contains(out, "edgeguard has no table") {
		t.Errorf("nothing to clear: %s", out)
	}
	if out, err := h.inside("setpriv", "--reuid=65534", "--clear-groups", h.program, "enforce", "clear", "--all"); err == nil || !strings.Contains(out, "as root") {
		t.Errorf("by nobody: %v, %s", err, out)
	}
	if out, err := h.edgeguard("enforce", "status"); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
		t.Errorf("status without a node: %v, %s", err, out)
	}
}

// An address that is blocked in the kernel passes again when it is allowed: by the config
// and a reload, or by hand. A block around it stays in force for the others.
func TestEnforceAllowed(t *testing.T) {
	h := newNetHost(t)
	h.must("allow", "add", "192.0.2.7", "--for", "1h")
	h.until("the allowance is in the kernel", func() bool { return !h.drops() })
	h.must("allow", "remove", "192.0.2.7")
	h.must("blocks", "add", "192.0.2.7", "--for", "1h")
	h.must("blocks", "add", "198.51.100.0/30", "--for", "1h")
	ruleset := func() string { out, _ := h.inside("nft", "list", "table", "inet", "edgeguard"); return out }
	h.until("both blocks are in the kernel", func() bool { return h.drops() && strings.Contains(ruleset(), "198.51.100.0 timeout") })
	allow := func(list string) {
		t.Helper()
		text := strings.Replace(netHostConfig, "$DIR", h.node.Folder, -1)
		if err := os.WriteFile(h.node.Path("config.yaml"), []byte(strings.TrimSuffix(text, "}")+", allowlist: ["+list+"]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h.must("reload")
	}
	allow("192.0.2.7, 198.51.100.1")
	h.until("the allowlist is in the kernel", func() bool {
		return !h.drops() && strings.Contains(h.elements(), "198.51.100.0 ") && strings.Contains(ruleset(), "198.51.100.2 ")
	})
	if text := ruleset(); strings.Contains(text, "198.51.100.1 ") {
		t.Errorf("an allowed address in a blocked prefix is dropped:\n%s", text)
	}
}
