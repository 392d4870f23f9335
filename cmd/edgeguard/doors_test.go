package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// nobody is a user who owns nothing.
const nobody = 65534

// stranger is a program for tests: it holds connections until its standard
// input ends, and replaces each that is closed, ten times a second: what it
// takes is places and not processors. It says so once it has opened as many as
// it was told to.
func stranger() {
	address := os.Args[1]
	count, _ := strconv.Atoi(os.Args[2])
	var opened sync.WaitGroup
	for range count {
		opened.Add(1)
		go func() {
			first := true
			for {
				c, err := net.Dial("tcp", address)
				if first {
					first = false
					opened.Done()
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
	opened.Wait()
	fmt.Println("holds")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// hold has a stranger hold connections until the test ends, as nobody where the
// test may choose.
func hold(t *testing.T, address string, count int) {
	t.Helper()
	c := asNobody("stranger", address, strconv.Itoa(count))
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "holds\n" {
		t.Fatalf("the stranger: %q, %v", line, err)
	}
}

// asNobody runs one of this test's programs. Its own file is reached through
// /proc, since nobody may not enter the folder of a test binary.
func asNobody(args ...string) *exec.Cmd {
	c := &exec.Cmd{Path: "/proc/self/exe", Args: args, Stderr: os.Stderr}
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return c
}

// A user of this host who holds more connections than there may be, and opens
// each again that is closed, opens no gap for a client that is blocked, and does
// not keep anybody from the admin port. With few files, too.
func TestStrangersHoldConnections(t *testing.T) {
	for files, count := range map[int]int{0: 1100, 96: 300} {
		t.Run(fmt.Sprintf("files=%d", files), func(t *testing.T) {
			s := newSite(t, 20)
			s.files = files
			desk := program.Address(t)
			s.write("config.yaml", strings.Replace(fmt.Sprintf(siteConfig, s.dir, s.auth, 20), "admin: [", `admin: ["`+desk+`", `, 1))
			s.start()
			hold(t, s.auth, count) // before nginx has a connection to keep
			hold(t, desk, count)
			s.eventually("the conditions", func() bool {
				_, body, _ := getStatus("unix:"+s.dir+"/admin.sock", "/api/v1/status", nil)
				return strings.Contains(body, "this entry in listen.auth") && strings.Contains(body, "this entry in listen.admin") &&
					strings.Contains(body, "LimitNOFILE=") == (files > 0)
			})
			s.eventually("a client is refused", func() bool { got, _, _ := s.get("203.0.113.9"); return got == http.StatusTooManyRequests })
			s.wantRefused("203.0.113.9", 200)
			wantAnswers(t, desk, 50)
			s.stop(syscall.SIGTERM)
			if strings.Contains(s.log.String(), "too many open files") {
				t.Errorf("the last file was taken:\n%s", s.log)
			}
		})
	}
}

// wantAnswers asks the admin listener as an operator does, who tries again. On a
// busy machine a question may come later than the moment that a newcomer has to
// ask, and its connection is then taken for one that asks nothing.
func wantAnswers(t *testing.T, address string, times int) {
	t.Helper()
	again := 0
	for range times {
		code, body, err := getStatus(address, "/healthz", nil)
		for tries := 1; err != nil && tries < 3; tries++ {
			again++
			code, body, err = getStatus(address, "/healthz", nil)
		}
		if code != http.StatusOK {
			t.Fatalf("admin: %d %s %v", code, body, err)
		}
	}
	if again > times/5 {
		t.Errorf("%d of %d questions had to be asked again", again, times)
	}
}

// wantRefused asks as a client who is blocked. A machine that is too busy to
// answer within nginx's 100 ms lets a request pass, and nginx says so. So may it
// close a connection on which nginx, which waits for a processor too, has not
// asked yet while strangers open thousands: one request in twenty at most. No
// other reason will do.
func (s *site) wantRefused(client string, times int) {
	s.t.Helper()
	late := func() int { return strings.Count(s.nginxLog(), "timed out") }
	lost := func() int {
		return strings.Count(s.nginxLog(), "upstream prematurely closed") + strings.Count(s.nginxLog(), "reset by peer")
	}
	passed, before, lostBefore := 0, late(), lost()
	for range times {
		if got, _, err := s.get(client); err != nil || got != http.StatusTooManyRequests {
			passed++
		}
	}
	waits, cut := late()-before, lost()-lostBefore
	if passed > waits+cut || passed > times/2 || cut > times/20 {
		s.t.Errorf("%d of %d requests of %s passed, for %d of which edgeguard was late, and %d connections were cut\n%s", passed, times, client, waits, cut, s.nginxLog())
	}
}

// Whoever may ask over the unix socket may not for that talk to the operator's,
// and is told which group may. A stranger can do neither.
func TestGroupsKeepApart(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to be another user")
	}
	const askers, operators = 4241, 4242
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir}
	s.write("config.yaml", fmt.Sprintf(`
listen:
  auth: [{address: "unix:%[1]s/auth.sock", group: %[2]d}]
  admin: [{address: "unix:%[1]s/admin.sock", group: %[3]d}, "unix:%[1]s/own.sock"]
state: %[1]s/state
rules: [{name: small, threshold: 20}]
`, dir, askers, operators))
	s.start()
	for _, who := range []struct {
		name  string
		group uint32
		may   string
	}{{"the web server", askers, "auth.sock"}, {"an operator", operators, "admin.sock"}, {"a stranger", nobody, ""}} {
		for _, socket := range []string{"auth.sock", "admin.sock", "own.sock"} {
			c := asNobody("knock", filepath.Join(dir, socket))
			c.SysProcAttr.Credential.Groups = []uint32{who.group}
			if err := c.Run(); (err == nil) != (socket == who.may) {
				t.Errorf("%s at %s: %v", who.name, socket, err)
			}
		}
	}
	c := asNobody("edgeguard", "blocks", "--config", filepath.Join(dir, "config.yaml"))
	c.SysProcAttr.Credential.Groups = []uint32{askers}
	c.Stderr = nil
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "group 4242") || !strings.Contains(string(out), "usermod -aG 4242") {
		t.Errorf("%v: %s", err, out)
	}
	s.stop(syscall.SIGTERM)
}

// As root, a link that a stranger laid is not followed, neither for a list nor
// for the state, and nothing is written where everybody may: the node says so and
// goes on.
func TestStrangersLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to be lured")
	}
	s := &site{t: t, dir: t.TempDir(), auth: program.Address(t)}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	s.write("precious", "precious root file")
	for name, mode := range map[string]os.FileMode{"sticky": 0o777 | os.ModeSticky, "open": 0o777} {
		if err := os.Mkdir(in(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(in(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sticky/list", "sticky/node.state"} {
		if err := os.Symlink(in("precious"), in(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(in(name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	s.write("config.yaml", fmt.Sprintf(`
listen: {auth: ["%[2]s"], admin: ["unix:%[1]s/admin.sock"]}
state: %[1]s/sticky
rules: [{name: small, threshold: 20}]
enforce: {files: [{file: %[1]s/sticky/list, format: plain}, {file: %[1]s/open/list, format: plain}]}
`, s.dir, s.auth))
	s.start()
	s.eventually("the conditions", func() bool {
		_, body, _ := getStatus("unix:"+in("admin.sock"), "/api/v1/status", nil)
		return strings.Contains(body, in("sticky/list")+" is a link of user") && strings.Contains(body, in("sticky/node.state")+" is a link of user") &&
			strings.Contains(body, "the folder "+in("open")+" is world-writable")
	})
	out, err := edgeguardCommand("doctor", "--config", in("config.yaml")).CombinedOutput()
	if err == nil || strings.Count(string(out), "is a link of user") < 2 || !strings.Contains(string(out), "chmod o-w "+in("open")) {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	s.stop(syscall.SIGTERM)
	if text, _ := os.ReadFile(in("precious")); string(text) != "precious root file" {
		t.Errorf("it holds %q now", text)
	}
	if _, err := os.Lstat(in("open/list")); err == nil {
		t.Error("a list where everybody may write")
	}
}

// knock is a program for tests: it succeeds if it can connect.
func knock() {
	if _, err := net.Dial("unix", os.Args[1]); err != nil {
		os.Exit(1)
	}
}
