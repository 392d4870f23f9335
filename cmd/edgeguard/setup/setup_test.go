package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
	"edgeguard/packaging"
)

const line = `203.0.113.9 - - [23/Nov/2026:11:57:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"` + "\n"

// host is a folder with an nginx of which only the texts are there.
type host struct {
	t      *testing.T
	folder string
	unit   doctor.Unit
	answer string
}

func newHost(t *testing.T) *host {
	folder, err := os.MkdirTemp("", "setup") // others may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, folder: folder}
	h.write("nginx.conf", "http { access_log "+h.path("access.log")+"; include "+h.path("conf.d/*.conf")+"; }")
	h.write("access.log", strings.Repeat(line, 3))
	return h
}

func (h *host) path(name string) string { return filepath.Join(h.folder, name) }

func (h *host) write(name, text string) {
	h.t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(h.path(name)), 0o755), os.WriteFile(h.path(name), []byte(text), 0o644))
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) read(name string) string {
	text, err := os.ReadFile(h.path(name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(text)
}

// run runs the command beside this nginx, and returns what it printed.
func (h *host) run(args ...string) (out, errs string, err error) {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	c := Command(&Env{
		Env: &command.Env{Stdin: strings.NewReader(h.answer), Stdout: &stdout, Stderr: &stderr}, DefaultConfig: h.path("etc/edgeguard.yaml"),
		Unit: func(context.Context) (doctor.Unit, error) { return h.unit, nil }, DropIn: h.path("unit.d/setup.conf"),
		Check: func(*config.Config) error { return nil },
	})
	c.SetArgs(append([]string{"--proxy", "nginx=" + h.path("nginx.conf")}, args...))
	c.SilenceUsage, c.SilenceErrors = true, true
	err = c.Execute()
	return stdout.String(), stderr.String(), err
}

// reads fails the test unless the written config counts from these logs, and blocks nothing.
func (h *host) reads(logs ...string) {
	h.t.Helper()
	c, err := config.Load(h.path("etc/edgeguard.yaml"))
	if err != nil {
		h.t.Fatal(err)
	}
	if len(c.Sensors.AccessLog) != len(logs) || !c.Monitor {
		h.t.Fatalf("%+v, monitor %v", c.Sensors.AccessLog, c.Monitor)
	}
	for i, log := range logs {
		if c.Sensors.AccessLog[i].File != log {
			h.t.Errorf("%s, want %s", c.Sensors.AccessLog[i].File, log)
		}
	}
}

func TestWrites(t *testing.T) {
	h := newHost(t)
	out, errs, err := h.run("--yes")
	if err != nil || errs != "" {
		t.Fatal(out, errs, err)
	}
	h.reads(h.path("access.log"))
	for _, want := range []string{
		"counted   " + h.path("access.log") + ": 3 of its last 3 lines read as combined, last written less than a minute ago",
		"counts from 1 log, and blocks nothing yet", "edgeguard doctor\n  systemctl enable --now edgeguard\n", "have them refused:\n  edgeguard snippets nginx-names --install   # ", "  edgeguard snippets nginx   # nginx asks before each request", "  edgeguard snippets nginx-geo   # ",
		"Nothing is refused before `mode: enforce` is in " + h.path("etc/edgeguard.yaml") + " and the node has read it: edgeguard reload\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	info, err := os.Stat(h.path("etc/edgeguard.yaml"))
	if err != nil || info.Mode() != 0o644 {
		t.Error(info.Mode(), err)
	}
	if again, _, err := h.run(); err != nil || !strings.Contains(again, "is as it would be written") {
		t.Error(again, err)
	}
	if got := h.read("etc/edgeguard.yaml.bak"); !strings.Contains(got, "no such file") {
		t.Error(got)
	}
}

// Every command that is printed is one that there is.
func TestRecipes(t *testing.T) {
	for proxy, names := range recipes {
		for _, name := range names {
			if !slices.Contains(snippets.Names(), name) || snippets.About(name) == "" {
				t.Errorf("%s: there is no snippet %s", proxy, name)
			}
		}
	}
}

func TestAsks(t *testing.T) {
	h := newHost(t)
	for answer, want := range map[string]string{"": "no answer, so nothing was written: use --yes", "n\n": "nothing was written", "\n": "nothing was written", "yess\n": "nothing was written"} {
		h.answer = answer
		if out, _, err := h.run(); err == nil || err.Error() != want && !strings.HasPrefix(err.Error(), want) || !strings.Contains(out, "edgeguard.yaml? [y/N]") {
			t.Errorf("%q: %v\n%s", answer, err, out)
		}
		if got := h.read("etc/edgeguard.yaml"); !strings.Contains(got, "no such file") {
			t.Fatalf("%q: %s", answer, got)
		}
	}
	h.answer = "Y\n"
	if out, _, err := h.run(); err != nil {
		t.Fatal(out, err)
	}
	h.reads(h.path("access.log"))
}

// A config that an operator changed is never lost, and never replaced by --yes alone. The
// packaged one, as it was installed, is nobody's work.
func TestKeepsWhatWasChanged(t *testing.T) {
	h := newHost(t)
	h.write("etc/edgeguard.yaml", "mode: enforce # mine\n")
	if _, _, err := h.run("--yes"); err == nil || !strings.Contains(err.Error(), "--replace") || h.read("etc/edgeguard.yaml") != "mode: enforce # mine\n" {
		t.Fatal(err, h.read("etc/edgeguard.yaml"))
	}
	h.answer = "no\n"
	if out, _, err := h.run(); err == nil || !strings.Contains(out, "differs from what setup would write. Replace it, and keep it as") || h.read("etc/edgeguard.yaml") != "mode: enforce # mine\n" {
		t.Fatal(err, out)
	}
	if _, _, err := h.run("--yes", "--replace"); err != nil || h.read("etc/edgeguard.yaml.bak") != "mode: enforce # mine\n" {
		t.Fatal(err, h.read("etc/edgeguard.yaml.bak"))
	}
	h.reads(h.path("access.log"))

	h.write("etc/edgeguard.yaml", "mode: enforce # again\n")
	if err := os.Chmod(h.path("etc/edgeguard.yaml"), 0o640); err != nil {
		t.Fatal(err)
	}
	h.answer = "y\n"
	if _, _, err := h.run(); err != nil || h.read("etc/edgeguard.yaml.bak") != "mode: enforce # mine\n" || h.read("etc/edgeguard.yaml.bak.1") != "mode: enforce # again\n" {
		t.Fatal(err, h.read("etc/edgeguard.yaml.bak.1"))
	}
	if info, err := os.Stat(h.path("etc/edgeguard.yaml")); err != nil || info.Mode() != 0o640 {
		t.Error("the mode is not kept", err)
	}

	h.write("etc/edgeguard.yaml", packaging.Config)
	if _, _, err := h.run("--yes"); err != nil {
		t.Fatal(err)
	}
	h.reads(h.path("access.log"))
	if got := h.read("etc/edgeguard.yaml.bak.2"); !strings.Contains(got, "no such file") {
		t.Error(got)
	}
}

// With --nginx-log nginx gets a log with Sec-Fetch-Site and the host, which is counted in place of
// that of all virtual hosts; where it cannot be added, nothing is written.
func TestNginxLog(t *testing.T) {
	h := newHost(t)
	h.write("conf.d/a.conf", "server { access_log "+h.path("own.log")+"; }")
	h.write("own.log", line)
	for answer, want := range map[string]string{"n\n": "nothing was written", "": "no answer"} {
		h.answer = answer
		if out, _, err := h.run("--nginx-log"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(h.read("conf.d/edgeguard-log.conf"), "no such file") {
			t.Fatal(err, out)
		}
	}
	out, _, err := h.run("--yes", "--nginx-log")
	if err != nil || !strings.Contains(out, "Next:\n  nginx -t && systemctl reload nginx\n") {
		t.Fatal(err, out)
	}
	h.reads(h.path("edgeguard.log"), h.path("own.log"))
	if text := h.read("conf.d/edgeguard-log.conf"); !strings.Contains(text, `"$http_sec_fetch_site" "$host"';`) || !strings.Contains(text, `access_log "`+h.path("edgeguard.log")+`" edgeguard;`) {
		t.Error(text)
	}
	if err := os.Remove(h.path("etc/edgeguard.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.run("--yes", "--nginx-log"); err == nil || !strings.Contains(err.Error(), "or that log already") || !strings.Contains(h.read("etc/edgeguard.yaml"), "no such file") {
		t.Error(err)
	}
	if out, _, err := h.run("--yes"); err != nil { // and again without the flag
		t.Fatal(err, out)
	}
	h.reads(h.path("own.log"), h.path("edgeguard.log"))
}

func TestDryRun(t *testing.T) {
	h := newHost(t)
	out, errs, err := h.run("--dry-run")
	if err != nil || !strings.Contains(errs, "counted   "+h.path("access.log")) {
		t.Fatal(err, errs)
	}
	if _, err := config.Parse("out", []byte(out)); err != nil {
		t.Error(err)
	}
	if got := h.read("etc/edgeguard.yaml"); !strings.Contains(got, "no such file") {
		t.Error(got)
	}
}

func TestNothingFound(t *testing.T) {
	h := newHost(t)
	h.write("nginx.conf", "http { access_log syslog:server=unix:/dev/log; }")
	h.write("etc/edgeguard.yaml", packaging.Config)
	out, _, err := h.run("--yes")
	if err == nil || !strings.Contains(err.Error(), "name one with --log FILE") || !strings.Contains(out, "left out") || h.read("etc/edgeguard.yaml") != packaging.Config {
		t.Fatal(err, out)
	}
	if _, _, err := h.run("--yes", "--log", "combined="+h.path("access.log")); err != nil {
		t.Fatal(err)
	}
	h.reads(h.path("access.log"))
	for _, bad := range [][]string{{"--log", "access.log"}, {"--log", "nonsense=/a.log"}, {"--proxy", "squid=/x"}, {"--proxy", "nginx"}} {
		if _, _, err := h.run(bad...); err == nil {
			t.Error(bad)
		}
	}
}

// What the command line names is counted, or the command fails and says why.
func TestNamed(t *testing.T) {
	h := newHost(t)
	h.write("access.log", strings.Repeat(strings.ReplaceAll(line, "203.0.113.9", "127.0.0.1"), 100))
	if out, _, err := h.run("--yes"); err == nil || !strings.Contains(out, "behind another proxy") {
		t.Fatal(err, out)
	}
	if out, _, err := h.run("--yes", "--log", h.path("access.log")); err != nil {
		t.Fatal(err, out)
	}
	h.reads(h.path("access.log"))
	if err := os.Remove(h.path("etc/edgeguard.yaml")); err != nil {
		t.Fatal(err)
	}
	h.write("access.log", line)
	for _, c := range [][]string{
		{"no.log cannot be counted, so nothing was written", "--log", h.path("no.log")},
		{"--log FORMAT=" + h.path("no.log"), "--log", h.path("no.log")},
		{"no.conf: no such file", "--proxy", "nginx=" + h.path("no.conf")},
	} {
		out, _, err := h.run(append(c[1:], "--yes")...)
		if err == nil || !strings.Contains(err.Error(), c[0]) {
			t.Errorf("%v: want %q: %v\n%s", c[1:], c[0], err, out)
		}
		if got := h.read("etc/edgeguard.yaml"); !strings.Contains(got, "no such file") {
			t.Errorf("%v: %s", c[1:], got)
		}
	}
}

// TestHostile: what others put into configurations and folders of logs neither holds the
// command up, nor is shown, nor gets out of its place.
func TestHostile(t *testing.T) {
	h := newHost(t)
	for _, name := range []string{"pipe.log", "conf.d/pipe.conf"} {
		h.write(filepath.Dir(name)+"/.keep", "")
		if err := syscall.Mkfifo(h.path(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	h.write("secret", "root:$6$secret:19000:0:99999:7:::\n")
	for link, to := range map[string]string{"link.log": h.path("secret"), "device.log": "/dev/zero", "loop.log": h.path("loop.log"), "conf.d/loop.conf": h.path("conf.d/loop.conf"), "conf.d/secret.conf": h.path("secret")} {
		if err := os.Symlink(to, h.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	odd := h.path("odd\n    - {file: \x1b[31m}.log")
	if err := os.WriteFile(odd, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	var conf strings.Builder
	for _, log := range []string{h.path("pipe.log"), h.path("link.log"), h.path("device.log"), h.path("loop.log"), h.path("conf.d"), odd} {
		fmt.Fprintf(&conf, "access_log \"%s\";\n", log)
	}
	h.write("conf.d/a.conf", conf.String())
	out, errs, err := h.run("--yes")
	if err != nil {
		t.Fatal(out, errs, err)
	}
	h.reads(h.path("access.log"), odd)
	if strings.Contains(out, "secret:") || strings.ContainsAny(out, "\x1b") || strings.Contains(out, "\n    - {") {
		t.Errorf("%q", out)
	}
	for _, want := range []string{"pipe.log is not a file, but a pipe", "device.log is not a file, but a device", "conf.d is not a file, but a folder", "pipe.conf is not a file, but a pipe"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// A log of a group that the unit has not gets a drop-in, and only then.
func TestDropIn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to a group")
	}
	h := newHost(t)
	h.unit = doctor.Unit{Found: true, UID: 900, Groups: []string{"edgeguard", "adm"}}
	if _, _, err := h.run("--yes"); err != nil || !strings.Contains(h.read("unit.d/setup.conf"), "no such file") {
		t.Fatal(err, h.read("unit.d/setup.conf"))
	}
	const group = 54321 // has no name
	if err := errors.Join(os.Chmod(h.path("access.log"), 0o640), os.Chown(h.path("access.log"), 0, group), os.Remove(h.path("etc/edgeguard.yaml"))); err != nil {
		t.Fatal(err)
	}
	h.answer = "y\ny\n"
	out, _, err := h.run()
	if err != nil || !strings.Contains(h.read("unit.d/setup.conf"), "SupplementaryGroups=54321\n") || !strings.Contains(out, "the node needs the group 54321") {
		t.Fatal(err, out, h.read("unit.d/setup.conf"))
	}
}

// TestListeners reads what the kernel would say of a web server and of others.
func TestListeners(t *testing.T) {
	proc := t.TempDir()
	h := &host{t: t, folder: proc}
	head := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	row := "   %d: 00000000:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n"
	h.write("net/tcp", head+fmt.Sprintf(row, 0, 80, "0A", 101)+fmt.Sprintf(row, 1, 443, "01", 102)+fmt.Sprintf(row, 2, 22, "0A", 103)+"nonsense\n")
	h.write("net/tcp6", head+fmt.Sprintf(row, 0, 443, "0A", 104))
	for pid, program := range map[string]string{"7": "nginx", "8": "envoy\x1b"} {
		h.write(pid+"/comm", program+"\n")
		h.write(pid+"/fd/.keep", "")
	}
	for link, inode := range map[string]int{"7/fd/3": 101, "7/fd/4": 102, "7/fd/5": 103, "8/fd/3": 104, "8/fd/4": 104} {
		if err := os.Symlink(fmt.Sprintf("socket:[%d]", inode), h.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(listeners(proc)); got != "[{443 envoy\x1b} {80 nginx}]" {
		t.Errorf("%q", got)
	}
}
