//go:build linux

package haproxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second

// binary names, in the environment of the test inside, the edgeguard to run.
const binary = "EDGEGUARD_TEST_PROGRAM"

const debianConfig = "/etc/haproxy/haproxy.cfg"

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// parts are the printed configs, by the names of the tests: the first of two is the snippet.
var parts = map[string][2]string{"config": {"haproxy", "config"}, "file-config": {"haproxy", "file-config"}, "peers": {"haproxy-peers", "config"}}

// TestRecipe runs each way of the recipe in namespaces of its own, so that the paths
// are those that are printed. All of it ends with the first process of the namespace.
func TestRecipe(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for namespaces and a chroot")
	}
	for _, name := range []string{"haproxy", "rsyslogd", "unshare", "ip", "mount"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: scripts/need haproxy rsyslogd:rsyslog unshare:util-linux ip:iproute2", name)
		}
	}
	if _, err := os.Stat(debianConfig); err != nil {
		t.Skipf("%s is not there: install Debian's haproxy", debianConfig)
	}
	space := []string{"--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if out, err := exec.Command("unshare", append(space, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %s", out)
	}
	edgeguard, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	for part := range parts {
		t.Run(part, func(t *testing.T) {
			c := exec.Command("unshare", append(space, os.Args[0], "-test.v", "-test.run", "^TestInside$/^"+part+"$")...)
			c.Env = append(os.Environ(), binary+"="+edgeguard)
			out, err := c.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInside/"+part)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestInside is the part of TestRecipe that runs in the namespaces.
func TestInside(t *testing.T) {
	if os.Getenv(binary) == "" {
		t.Skip("TestRecipe runs this in namespaces")
	}
	for part := range parts {
		t.Run(part, func(t *testing.T) { inside(t, part) })
	}
}

// inside counts from HAProxy's log, and looks that an offender is refused, its
// neighbour is not, and that the end of the block lets it in.
func inside(t *testing.T, name string) {
	snippet, part := parts[name][0], parts[name][1]
	for _, folder := range []string{"/run", "/var/lib", "/var/log"} {
		run(t, "mount", "-t", "tmpfs", "tmpfs", folder)
	}
	run(t, "ip", "link", "set", "lo", "up")
	group := groupID(t, "haproxy")
	const user = 65534 // stands for the user edgeguard
	folder(t, "/var/lib/haproxy/dev", 0, 0, 0o755)
	folder(t, "/run/haproxy", 0, group, 0o2775)
	folder(t, "/var/lib/edgeguard", user, user, 0o755)
	folder(t, "/run/edgeguard", user, user, 0o755)
	if part == "config" {
		for line := range strings.Lines(text(t, snippet, "tmpfiles")) {
			place(t, user, strings.Fields(line))
		}
	} else {
		rsyslog(t)
	}
	config := "node: test\nlisten: {auth: [], admin: [\"unix:/run/edgeguard/admin.sock\"]}\nstate: /var/lib/edgeguard\n" +
		"rules: [{name: attack, threshold: 5, guard: 1, match: {path: /attack}}]\n" + text(t, snippet, part)
	file := write(t, "/run/edgeguard.yaml", config)
	groups := []uint32{uint32(groupID(t, "adm"))}
	if m := regexp.MustCompile(`SupplementaryGroups=(\S+)`).FindStringSubmatch(text(t, snippet, "dropin")); m != nil {
		groups = append(groups, uint32(groupID(t, m[1])))
	}
	start(t, &syscall.Credential{Uid: user, Gid: user, Groups: groups}, os.Getenv(binary), "serve", "--config", file)
	ready := "/var/lib/edgeguard/haproxy.acl"
	if snippet == "haproxy-peers" {
		ready = "/var/lib/haproxy/edgeguard/log.sock"
	}
	until(t, "edgeguard made "+ready, func() bool { _, err := os.Stat(ready); return err == nil })
	proxy(t, snippet)
	for range 5 {
		if got := ask("203.0.113.7", "/attack"); got != http.StatusNoContent {
			t.Fatalf("under the limit: status %d", got)
		}
	}
	until(t, "the offender is refused", func() bool { return ask("203.0.113.7", "/attack") == http.StatusTooManyRequests })
	if got := ask("203.0.113.8", "/attack"); got != http.StatusNoContent {
		t.Errorf("the neighbour: status %d", got)
	}
	run(t, os.Getenv(binary), "blocks", "remove", "203.0.113.7", "--admin", "unix:/run/edgeguard/admin.sock")
	until(t, "the offender is let in", func() bool { return ask("203.0.113.7", "/") == http.StatusNoContent })
}

// proxy starts HAProxy with Debian's haproxy.cfg and the printed lines behind it. The
// client is who a header names: the host's own addresses are never blocked. What
// passes is answered with 204.
func proxy(t *testing.T, snippet string) {
	stock, err := os.ReadFile(debianConfig)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(stock), "chroot /var/lib/haproxy") {
		t.Fatalf("%s has no chroot: it is not Debian's", debianConfig)
	}
	const bind = "    bind :80\n"
	lines := text(t, snippet, "proxy")
	if !strings.Contains(lines, bind) {
		t.Fatalf("the recipe has no %q", bind)
	}
	lines = strings.Replace(lines, bind, bind+"    http-request set-src hdr(X-Test-Client)\n", 1)
	lines = strings.Replace(lines, "    default_backend", "    http-request return status 204\n    default_backend", 1)
	file := write(t, "/run/haproxy.cfg", string(stock)+"\n"+lines)
	start(t, nil, "haproxy", "-W", "-db", "-f", file)
	until(t, "HAProxy answers", func() bool { return ask("203.0.113.9", "/") == http.StatusNoContent })
}

// rsyslog starts rsyslogd with the file that Debian's haproxy brings for it.
func rsyslog(t *testing.T) {
	brought, err := os.ReadFile("/etc/rsyslog.d/49-haproxy.conf")
	if err != nil {
		t.Fatal(err)
	}
	const socket = "/var/lib/haproxy/dev/log"
	if !strings.Contains(string(brought), socket) {
		t.Fatalf("it makes no socket in the chroot: %s", brought)
	}
	file := write(t, "/run/rsyslog.conf", "module(load=\"imuxsock\" SysSock.Use=\"off\")\n$FileGroup adm\n$FileCreateMode 0640\n"+string(brought))
	start(t, nil, "rsyslogd", "-n", "-f", file, "-i", "/run/rsyslogd.pid")
	until(t, "rsyslogd listens", func() bool { _, err := os.Stat(socket); return err == nil })
}

// ask returns the status of a request on a connection of its own, 0 for none.
func ask(client, path string) int {
	req, err := http.NewRequest("GET", "http://127.0.0.1"+path, nil)
	if err != nil {
		return 0
	}
	req.Header.Set("X-Test-Client", client)
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// start runs a program until the test ends.
func start(t *testing.T, as *syscall.Credential, name string, args ...string) {
	t.Helper()
	out, err := os.Create(filepath.Join("/run", filepath.Base(name)+".out"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if said, _ := os.ReadFile(out.Name()); t.Failed() {
			t.Logf("%s said:\n%s", name, said)
		}
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

func text(t *testing.T, snippet, part string) string {
	t.Helper()
	s, err := snippets.Text(snippet, part, snippets.Values{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// place does what a line of tmpfiles.d says; user stands for edgeguard.
func place(t *testing.T, user int, words []string) {
	t.Helper()
	switch {
	case words[0] == "L":
		if err := os.Symlink(words[6], words[1]); err != nil {
			t.Fatal(err)
		}
	case words[0] == "d" && words[3] == "root":
		folder(t, words[1], 0, 0, mode(t, words[2]))
	case words[0] == "d":
		folder(t, words[1], user, groupID(t, words[4]), mode(t, words[2]))
	}
}

func folder(t *testing.T, path string, uid, gid int, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Chmod(path, uint32(mode)); err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, octal string) os.FileMode {
	t.Helper()
	n, err := strconv.ParseUint(octal, 8, 16)
	if err != nil {
		t.Fatal(err)
	}
	return os.FileMode(n)
}

func groupID(t *testing.T, name string) int {
	t.Helper()
	g, err := user.LookupGroup(name)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(g.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The unit with the drop-in is as closed as without: the exposure is at most 1.5.
func TestUnitIsTight(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: scripts/need systemd-analyze:systemd")
	}
	unit, err := os.ReadFile("../../packaging/edgeguard.service")
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(unit), "/usr/bin/edgeguard", "/bin/true")
	own := strings.TrimPrefix(text(t, "haproxy", "dropin"), "[Service]\n")
	joined = strings.Replace(joined, "\n[Install]", fmt.Sprintf("\n%s\n[Install]", own), 1)
	file := write(t, filepath.Join(t.TempDir(), "edgeguard.service"), joined)
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", file).CombinedOutput()
	m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("%v: %s", err, out)
	}
	if level, err := strconv.ParseFloat(string(m[1]), 64); err != nil || level > 1.5 {
		t.Errorf("exposure %s:\n%s", m[1], out)
	}
}
