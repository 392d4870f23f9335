package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// site is a real nginx, configured by `edgeguard snippets nginx`, in front of
// a real node.
type site struct {
	t           testing.TB
	dir         string
	front, auth string
	nginx, node *exec.Cmd
	log         *bytes.Buffer // of the node, to be read when it has ended
	client      *http.Client
	files       int // that the node may have open; 0 for no limit of its own
}

const siteConfig = `
node: test
listen: {auth: ["%[2]s"], admin: ["unix:%[1]s/admin.sock"]}
state: %[1]s/state
rules: [{name: small, threshold: %[3]d, guard: 1}]
`

// nginxConfig takes the client from a header, since whoever comes over the
// loopback address is never blocked.
const nginxConfig = `
daemon off;
worker_shutdown_timeout 10s; # a connection that brings no request holds an old worker no longer
%[1]s
pid %[2]s/nginx.pid;
error_log %[2]s/nginx.log warn;
events {}
http {
	access_log off;
	client_body_temp_path %[2]s/body;
	proxy_temp_path %[2]s/proxy;
	fastcgi_temp_path %[2]s/fastcgi;
	uwsgi_temp_path %[2]s/uwsgi;
	scgi_temp_path %[2]s/scgi;
	set_real_ip_from 127.0.0.1;
	real_ip_header X-Test-Client;
	server { listen %[3]s; location / { return 200 "backend\n"; } }
	include %[2]s/site.conf;
}
`

// newSite puts a node with forward auth in nginx's path.
func newSite(t testing.TB, limit int) *site {
	t.Helper()
	s := emptySite(t)
	backend := program.Address(t)
	snippet, err := edgeguardCommand("snippets", "nginx", "--listen", s.front, "--auth", s.auth, "--backend", backend).Output()
	if err != nil {
		t.Fatal(err)
	}
	s.write("site.conf", string(snippet))
	s.write("config.yaml", fmt.Sprintf(siteConfig, s.dir, s.auth, limit))
	s.startNginx(backend)
	return s
}

// emptySite has its folder and its addresses, and nothing in them.
func emptySite(t testing.TB) *site {
	t.Helper()
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed: scripts/need nginx:nginx-light")
	}
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{t: t, dir: dir, front: program.Address(t), auth: program.Address(t), client: &http.Client{Timeout: patience}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// startNginx starts nginx on the site.conf that was written.
func (s *site) startNginx(backend string) {
	s.t.Helper()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the workers must get into the test's folder
	}
	s.write("nginx.conf", fmt.Sprintf(nginxConfig, user, s.dir, backend))
	s.runNginx(filepath.Join(s.dir, "nginx.conf"))
}

// runNginx runs nginx with a configuration until the test ends.
func (s *site) runNginx(config string) {
	s.t.Helper()
	nginx := exec.Command("nginx", "-c", config)
	if err := nginx.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.nginx = nginx
	s.t.Cleanup(func() {
		_ = nginx.Process.Signal(syscall.SIGTERM)
		_ = nginx.Wait()
	})
	s.eventually("nginx answers", func() bool {
		c, err := net.Dial("tcp", s.front)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func (s *site) write(name, text string) {
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) eventually(what string, f func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !f() {
		if time.Now().After(deadline) {
			s.t.Fatalf("not seen: %s\n%s", what, s.nginxLog())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *site) nginxLog() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "nginx.log"))
	return string(text)
}

// reload has nginx read its config again, and waits until all who had read the
// one before are gone.
func (s *site) reload() {
	s.t.Helper()
	children := func() []string {
		pid := s.nginx.Process.Pid
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			s.t.Fatal(err)
		}
		return strings.Fields(string(list))
	}
	before := children()
	s.client.CloseIdleConnections() // one without a request yet holds an old worker for a minute
	if err := s.nginx.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("new workers only", func() bool {
		now := children()
		return len(now) > 0 && !slices.ContainsFunc(now, func(pid string) bool { return slices.Contains(before, pid) })
	})
}

// start starts a node and waits until it is ready.
func (s *site) start() {
	s.t.Helper()
	s.log = &bytes.Buffer{}
	node := edgeguardCommand("serve", "--config", filepath.Join(s.dir, "config.yaml"))
	if s.files > 0 {
		node = exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, s.files), node.Path}, node.Args[1:]...)...)
	}
	node.Stderr = s.log
	if err := node.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.node = node
	s.t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait()
	})
	s.eventually("the node is ready", func() bool {
		code, _, err := getStatus("unix:"+s.dir+"/admin.sock", "/readyz", nil)
		return err == nil && code == http.StatusOK
	})
}

// stop ends the node by a signal, and wants exit 0 unless it is killed.
func (s *site) stop(signal syscall.Signal) {
	s.t.Helper()
	_ = s.node.Process.Signal(signal)
	if err := s.node.Wait(); err != nil && signal != syscall.SIGKILL {
		s.t.Errorf("the node ended with %v:\n%s", err, s.log)
	}
}

// get asks for a page as the client.
func (s *site) get(client string) (status int, header http.Header, err error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+s.front+"/page", nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("X-Test-Client", client)
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, response.Header, nil
}

// want asks and compares.
func (s *site) want(client string, times, status int) http.Header {
	s.t.Helper()
	var header http.Header
	for i := range times {
		got, h, err := s.get(client)
		if err != nil || got != status {
			s.t.Fatalf("request %d of %s: %d, %v; want %d\n%s", i+1, client, got, err, status, s.nginxLog())
		}
		header = h
	}
	return header
}

// hang stops the node, and returns when it stands still: the signal is only
// delivered a little later.
func (s *site) hang() {
	s.t.Helper()
	_ = s.node.Process.Signal(syscall.SIGSTOP)
	s.eventually("all its threads stand still", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.node.Process.Pid))
		for _, thread := range threads {
			if stat, err := os.ReadFile(thread); err == nil && !bytes.Contains(stat, []byte(") T ")) {
				return false
			}
		}
		return len(threads) > 0
	})
}

// patient has nginx wait for a node that a busy machine makes slow, where it
// would let the request pass after 100 ms. It returns the snippet as it is.
func (s *site) patient() (snippet string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "site.conf"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("site.conf", regexp.MustCompile(` (50|100)ms;`).ReplaceAllString(string(text), " 60s;"))
	s.reload()
	return string(text)
}

// The life of a node behind nginx: pass, refuse, reload, hang, end, be killed,
// and come back with every block.
func TestBehindNginx(t *testing.T) {
	s := newSite(t, 20)
	snippet := s.patient()
	s.start()
	s.want("203.0.113.9", 20, http.StatusOK)
	header := s.want("203.0.113.9", 1, http.StatusTooManyRequests)
	if header.Get("Retry-After") == "" || header.Get("RateLimit-Policy") == "" || header.Get("X-Edgeguard-Rule") != "small" {
		t.Errorf("the refusal's header: %v", header)
	}
	if header := s.want("203.0.113.10", 1, http.StatusOK); header.Get("RateLimit") != "" {
		t.Errorf("the pass's header: %v", header)
	}

	s.write("config.yaml", fmt.Sprintf(siteConfig, s.dir, s.auth, 25))
	_ = s.node.Process.Signal(syscall.SIGHUP)
	s.eventually("the new threshold holds", func() bool {
		out, _ := edgeguardCommand("explain", "203.0.113.10", "--admin", "unix:"+s.dir+"/admin.sock").Output()
		return strings.Contains(string(out), "limit 25 ")
	})
	s.want("203.0.113.10", 24, http.StatusOK)
	s.want("203.0.113.10", 1, http.StatusTooManyRequests)

	s.write("site.conf", snippet)
	s.reload()
	s.hang() // nginx waits 100 ms, and passes
	s.want("203.0.113.9", 3, http.StatusOK)
	_ = s.node.Process.Signal(syscall.SIGCONT)
	s.eventually("it refuses again", func() bool { got, _, _ := s.get("203.0.113.9"); return got == http.StatusTooManyRequests })

	s.stop(syscall.SIGTERM) // away: fails open, as the snippet says
	s.want("203.0.113.9", 3, http.StatusOK)
	s.start()
	s.refusesBoth()

	s.stop(syscall.SIGKILL)
	s.start()
	s.refusesBoth()
	s.stop(syscall.SIGTERM)
}

// refusesBoth wants the two that were blocked refused. nginx may take a second
// to try a server again that was away.
func (s *site) refusesBoth() {
	s.t.Helper()
	for _, client := range []string{"203.0.113.9", "203.0.113.10"} {
		s.eventually("refused after the restart: "+client, func() bool {
			got, _, _ := s.get(client)
			return got == http.StatusTooManyRequests
		})
	}
}

// A restart under load loses no block, and no request fails for it: while the
// node is away requests pass.
func TestRestartUnderLoad(t *testing.T) {
	s := newSite(t, 50)
	s.start()
	var stop atomic.Bool
	var failed atomic.Uint64
	var load sync.WaitGroup
	const clients = 8
	for i := range clients {
		load.Go(func() {
			for !stop.Load() {
				got, _, err := s.get(fmt.Sprintf("203.0.113.%d", i))
				if err != nil || got != http.StatusOK && got != http.StatusTooManyRequests {
					failed.Add(1)
				}
			}
		})
	}
	defer load.Wait()
	defer stop.Store(true)
	blocks := func() int {
		out, _ := edgeguardCommand("blocks", "--json", "--admin", "unix:"+s.dir+"/admin.sock").Output()
		return bytes.Count(out, []byte("\n"))
	}
	s.eventually("all are blocked", func() bool { return blocks() == clients })
	for range 3 {
		s.stop(syscall.SIGTERM)
		s.start()
		if got := blocks(); got != clients {
			t.Errorf("%d of %d blocks after a restart\n%s", got, clients, s.log)
		}
	}
	stop.Store(true)
	load.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("%d requests failed\n%s", n, s.nginxLog())
	}
}

// edgeguardCommand runs this very program (testscript.Main puts it into PATH).
func edgeguardCommand(args ...string) *exec.Cmd { return exec.Command("edgeguard", args...) }
