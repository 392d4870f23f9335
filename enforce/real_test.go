package enforce_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
	"edgeguard/internal/program"
)

// need skips a test where a program is missing.
func need(t testing.TB, program, pkg string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/", "/sbin/"} {
		if path, err := exec.LookPath(dir + program); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed: apt-get install %s", program, pkg)
	return ""
}

// daemon starts a program in the foreground and ends it with the test.
func daemon(t testing.TB, argv ...string) (stop func()) {
	t.Helper()
	var out bytes.Buffer
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		defer kill.Stop()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%v said:\n%s", argv, &out)
		}
	})
	t.Cleanup(stop)
	return stop
}

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second

// status asks once, from a loopback address and on a connection of its own;
// 0 while nobody answers.
func status(server, from, header string) int {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	client := http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequest("GET", "http://"+server+"/", nil)
	if err != nil {
		return 0
	}
	if header != "" {
		req.Header.Set("X-Test-Client", header)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func file(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func entry(prefix string, lasts time.Duration) enforce.Entry {
	return enforce.Entry{Prefix: netip.MustParsePrefix(prefix), Until: time.Now().Add(lasts)}
}

// TestNginx: a client is refused after the reload that follows the list, and
// let in again, with the deny list and with the geo one.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx := need(t, "nginx", "nginx-light")
	for _, format := range []enforce.Format{enforce.FormatNginx, enforce.FormatNginxGeo} {
		t.Run(format.String(), func(t *testing.T) {
			dir, server := t.TempDir(), program.Address(t)
			list, conf := filepath.Join(dir, "blocked.conf"), filepath.Join(dir, "nginx.conf")
			geo, use := "", "include "+list+";"
			if format == enforce.FormatNginxGeo {
				geo, use = "geo $edgeguard_blocked { default 0; include "+list+"; }", "if ($edgeguard_blocked) { return 403; }"
			}
			file(t, list, "")
			file(t, conf, fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events {}
http {
	access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f;
	uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	set_real_ip_from 127.0.0.1; real_ip_header X-Test-Client;
	%[2]s
	server { listen %[3]s; %[4]s location / { try_files /none =204; } }
}`, dir, geo, server, use))
			daemon(t, nginx, "-p", dir, "-c", conf)
			program.Eventually(t, "nginx is up", func() bool { return status(server, "127.0.0.1", "") == 204 })
			program.Eventually(t, "nginx wrote its pid", func() bool { s, err := os.Stat(filepath.Join(dir, "pid")); return err == nil && s.Size() > 0 })

			e := newFile(t, enforce.FileConfig{Path: list, Format: format, Reload: []string{nginx, "-p", dir, "-c", conf, "-s", "reload"}})
			set := func(entries ...enforce.Entry) {
				t.Helper()
				if err := e.Replace(t.Context(), time.Now(), entries); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command(nginx, "-t", "-p", dir, "-c", conf).CombinedOutput(); err != nil {
					t.Fatalf("nginx -t: %v\n%s", err, out)
				}
			}
			set(entry("127.0.0.5/32", time.Hour), entry("203.0.113.0/24", time.Hour), entry("2001:db8::/64", time.Hour))
			// Old workers take a last connection now and then: each is asked until
			// it is so.
			for client, want := range map[string]int{"127.0.0.5": 403, "203.0.113.9": 403, "2001:db8::7": 403, "203.0.114.1": 204, "2001:db8:0:1::7": 204} {
				program.Eventually(t, client, func() bool { return status(server, "127.0.0.1", client) == want })
			}
			program.Eventually(t, "127.0.0.5 without a header", func() bool { return status(server, "127.0.0.5", "") == 403 })
			program.Eventually(t, "127.0.0.6 without a header", func() bool { return status(server, "127.0.0.6", "") == 204 })
			set()
			program.Eventually(t, "127.0.0.5 is let in again", func() bool { return status(server, "127.0.0.5", "") == 204 })
		})
	}
}

// TestNginxRefusesReload: another's mistake in the config is reported with
// nginx's own words, and mended by the next try.
func TestNginxRefusesReload(t *testing.T) {
	t.Parallel()
	nginx := need(t, "nginx", "nginx-light")
	dir := t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	file(t, conf, "events {}\nlisten nonsense;\n")
	e := newFile(t, enforce.FileConfig{Path: filepath.Join(dir, "list"), Format: enforce.FormatNginx,
		Reload: []string{nginx, "-t", "-q", "-p", dir, "-c", conf, "-g", "pid " + dir + "/pid;"}})
	err := e.Replace(t.Context(), time.Now(), nil)
	if err == nil || !strings.Contains(err.Error(), "nginx.conf:2") {
		t.Errorf("error %v", err)
	}
	file(t, conf, "events {}\n")
	if err := e.Replace(t.Context(), time.Now(), nil); err != nil {
		t.Error(err)
	}
}

// haproxy is a running one whose frontend refuses what is in the lists.
type haproxy struct {
	program, conf, server, socket, acl, table string
	stop                                      func()
}

func startHAProxy(t testing.TB) *haproxy {
	t.Helper()
	dir := t.TempDir()
	h := &haproxy{program: need(t, "haproxy", "haproxy"), conf: filepath.Join(dir, "haproxy.cfg"), server: program.Address(t),
		socket: filepath.Join(dir, "s"), acl: filepath.Join(dir, "b.acl"), table: filepath.Join(dir, "b.map")}
	file(t, h.acl, "")
	file(t, h.table, "")
	file(t, h.conf, fmt.Sprintf(`global
	stats socket %s mode 600 level admin
	nbthread 1
defaults
	mode http
	timeout client 5s
	timeout server 5s
	timeout connect 5s
frontend f
	bind %s
	http-request set-src hdr(X-Test-Client) if { hdr(X-Test-Client) -m found }
	http-request deny deny_status 403 if { src -f %s }
	http-request deny deny_status 404 if { src,map_ip(%s) -m found }
	http-request return status 200
`, h.socket, h.server, h.acl, h.table))
	h.start(t)
	return h
}

func (h *haproxy) start(t testing.TB) {
	t.Helper()
	h.stop = daemon(t, h.program, "-f", h.conf, "-db")
	program.Eventually(t, "haproxy is up", func() bool { return status(h.server, "127.0.0.1", "") == 200 })
}

func (h *haproxy) config(format enforce.Format) enforce.FileConfig {
	c := enforce.FileConfig{Path: h.acl, Format: format, Socket: h.socket}
	if format == enforce.FormatHAProxyMap {
		c.Path = h.table
	}
	return c
}

func TestHAProxySocketConformance(t *testing.T) {
	t.Parallel()
	for format, refusal := range map[enforce.Format]int{enforce.FormatHAProxy: 403, enforce.FormatHAProxyMap: 404} {
		t.Run(format.String(), func(t *testing.T) {
			h := startHAProxy(t)
			enforcetest.Run(t, enforcetest.Bench{
				New: func(t *testing.T) enforce.Enforcer { return newFile(t, h.config(format)) },
				Denied: func(t *testing.T, addr netip.Addr) bool {
					return status(h.server, "127.0.0.1", addr.String()) == refusal
				},
				Rounds: 5,
			})
		})
	}
}

// TestHAProxyManyEntries needs several lines, and reads the list back.
func TestHAProxyManyEntries(t *testing.T) {
	t.Parallel()
	h := startHAProxy(t)
	var list []enforce.Entry
	for i := range 5000 {
		list = append(list, entry(fmt.Sprintf("10.0.%d.%d/32", i/256, i%256), time.Hour))
	}
	if err := newFile(t, h.config(enforce.FormatHAProxy)).Replace(t.Context(), time.Now(), list); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "show acl %s\n", h.acl)
	text, err := io.ReadAll(c)
	if n := strings.Count(string(text), " 10.0."); err != nil || n != 5000 {
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestHAProxyErrors(t *testing.T) {
	t.Parallel()
	h := startHAProxy(t)
	for name, test := range map[string]struct {
		change func(c *enforce.FileConfig)
		want   string
	}{
		"nobody there":      {func(c *enforce.FileConfig) { c.Socket += ".none" }, "no such file"},
		"not its list":      {func(c *enforce.FileConfig) { c.Path += ".other" }, "must use exactly this path"},
		"map, not an acl":   {func(c *enforce.FileConfig) { c.Path = h.table }, "it answered"},
		"hangs":             {func(c *enforce.FileConfig) { c.Socket = deafSocket(t); c.Timeout = 200 * time.Millisecond }, "no answer after 200ms"},
		"talks about other": {func(c *enforce.FileConfig) { c.Socket = chattySocket(t) }, `it answered "hello; }"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.config(enforce.FormatHAProxy)
			test.change(&c)
			err := newFile(t, c).Replace(t.Context(), time.Now(), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// deafSocket accepts and never answers.
func deafSocket(t *testing.T) string { return socket(t, func(net.Conn) {}) }

// chattySocket answers nonsense.
func chattySocket(t *testing.T) string {
	return socket(t, func(c net.Conn) {
		_, _ = bufio.NewReader(c).ReadString('\n')
		fmt.Fprintln(c, "hello; }\nmore")
		c.Close()
	})
}

func socket(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			serve(c)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return path
}

// TestHAProxyRestart: while HAProxy is away the update fails and says so, the
// file is written all the same, and HAProxy starts with it.
func TestHAProxyRestart(t *testing.T) {
	t.Parallel()
	h := startHAProxy(t)
	e := newFile(t, h.config(enforce.FormatHAProxy))
	if err := e.Replace(t.Context(), time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	h.stop()
	list := []enforce.Entry{entry("203.0.113.7/32", time.Hour)}
	if err := e.Replace(t.Context(), time.Now(), list); err == nil || !strings.Contains(err.Error(), "written but not in force") {
		t.Errorf("error %v", err)
	}
	h.start(t)
	if got := status(h.server, "127.0.0.1", "203.0.113.7"); got != 403 {
		t.Errorf("after the restart: status %d", got)
	}
	if err := e.Replace(t.Context(), time.Now(), list); err != nil {
		t.Error(err)
	}
	if got := status(h.server, "127.0.0.1", "203.0.113.7"); got != 403 {
		t.Errorf("after the next update: status %d", got)
	}
}

// What a removed enforcer put into a running HAProxy is taken out, also where its
// file is gone.
func TestHAProxyIsEmptied(t *testing.T) {
	t.Parallel()
	h := startHAProxy(t)
	c := h.config(enforce.FormatHAProxy)
	own := enforce.NewOwned(c, false)
	for _, gone := range []bool{false, true} {
		f := newFile(t, c)
		if err := f.Replace(t.Context(), time.Now(), []enforce.Entry{entry("203.0.113.9/32", time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := status(h.server, "127.0.0.1", "203.0.113.9"); got != 403 {
			t.Fatalf("status %d before", got)
		}
		if gone {
			if err := os.Remove(h.acl); err != nil {
				t.Fatal(err)
			}
		}
		if err := own.Empty(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := status(h.server, "127.0.0.1", "203.0.113.9"); got != 200 {
			t.Errorf("file gone %t: status %d after", gone, got)
		}
	}
}
