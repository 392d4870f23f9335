//go:build unix

package accesslog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
)

// server is a real web server that answers every path.
type server struct {
	t      *testing.T
	folder string
	cmd    *exec.Cmd
	url    string
	client *http.Client
	sent   int
}

// start runs a server until the end of the test, and returns when it accepts
// connections.
func start(t *testing.T, port int, folder, programHere string, args ...string) *server {
	t.Helper()
	path, err := exec.LookPath(programHere)
	if err != nil {
		path = "/usr/sbin/" + programHere
		if _, err := os.Stat(path); err != nil {
			t.Skipf("%s is not installed", programHere)
		}
	}
	s := &server{t: t, folder: folder, url: fmt.Sprintf("http://127.0.0.1:%d", port), cmd: exec.Command(path, args...)}
	var out bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &out, &out
	s.cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		s.cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", programHere, out.String())
		}
	})
	program.Eventually(t, programHere+" accepts connections", func() bool {
		c, err := net.Dial("tcp", s.url[len("http://"):])
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return s
}

// request asks for the next n numbered paths.
func (s *server) request(n int) {
	s.t.Helper()
	for range n {
		r, err := s.client.Get(fmt.Sprintf("%s/%d", s.url, s.sent))
		if err != nil {
			s.t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		s.sent++
	}
}

// nginx runs nginx with a log_format and an access_log.
func nginx(t *testing.T, folder, format, accessLog string) *server {
	t.Helper()
	port := program.Port(t)
	config := fmt.Sprintf(`daemon off; master_process on; worker_processes 2; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
user root;
events { worker_connections 64; }
http {
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	log_format eg %[2]s;
	access_log %[3]s;
	server { listen 127.0.0.1:%[4]d; location / { return 204; } }
}
`, folder, format, accessLog, port)
	if os.Getuid() != 0 {
		config = strings.Replace(config, "user root;\n", "", 1)
	}
	name := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, port, folder, "nginx", "-c", name, "-e", filepath.Join(folder, "error.log"))
}

const nginxJSON = `escape=json '{"ts":$msec,"ip":"$remote_addr","m":"$request_method","u":"$uri","s":$status,"ua":"$http_user_agent"}'`

// TestNginxFile follows the buffered log of a real nginx, which is the way that
// the documentation recommends, through real rotations.
func TestNginxFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "access.log")
	s := nginx(t, folder, nginxJSON, path+" eg buffer=64k flush=50ms")
	f := follow(t, &heard{}, FollowConfig{Live: Live{Format: format("json")}, File: path, Beginning: true})
	for i := range 10 {
		s.request(100)
		if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i+1)); err != nil {
			t.Fatal(err)
		}
		s.request(50) // nginx has not been told yet
		if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		program.Eventually(t, "nginx has opened its log again", func() bool { _, err := os.Stat(path); return err == nil })
	}
	f.all(t, s.sent)
	// The last file is empty: its lines say nothing of when it was found.
	program.Eventually(t, "the last file is seen", func() bool { return f.Stats().Rotations >= 10 })
	if st := f.Stats(); st.Skipped != 0 || st.Rotations != 10 || st.Late+st.Early != 0 {
		t.Errorf("%+v", st)
	}
}

// paced asks for n paths, a few at a time, so that the kernel's queue of 10
// datagrams bears it, and waits for their lines.
func (s *server) paced(h *heard, n int) {
	s.t.Helper()
	for range n / 5 {
		s.request(5)
		program.Eventually(s.t, "all lines", func() bool { once, twice := h.of(s.sent); return once == s.sent && twice == 0 })
	}
}

// TestNginxSyslog receives the log of a real nginx over a unix datagram socket.
func TestNginxSyslog(t *testing.T) {
	folder := filepath.Dir(socketPath(t))
	path := filepath.Join(folder, "log.sock")
	for _, test := range []struct{ name, format, spec string }{
		{"json", nginxJSON, "nohostname,tag=eg eg"},
		{"combined", "'$remote_addr'", "tag=eg combined"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := listen(t, &heard{}, ListenConfig{Address: "unixgram:" + path})
			s := nginx(t, folder, test.format, "syslog:server=unix:"+path+","+test.spec)
			s.paced(l.heard, 300)
			if st := l.Stats(); st.Datagrams != 300 || st.Skipped != 0 || st.Err != nil {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestHAProxySyslog receives the log of a real HAProxy.
func TestHAProxySyslog(t *testing.T) {
	path := socketPath(t)
	folder, port := filepath.Dir(path), program.Port(t)
	config := fmt.Sprintf(`global
	log unix@%s len 65535 local0 info
defaults
	mode http
	log global
	option httplog
	timeout client 5s
	timeout server 5s
	timeout connect 5s
frontend f
	bind 127.0.0.1:%d
	http-request return status 200
`, path, port)
	name := filepath.Join(folder, "haproxy.cfg")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("haproxy"), Zone: time.Local, Trouble: func(string, error) {}}, Address: "unixgram:" + path})
	s := start(t, port, folder, "haproxy", "-db", "-f", name)
	s.paced(l.heard, 300)
}

// TestCaddyTCP receives the log of a real Caddy.
func TestCaddyTCP(t *testing.T) {
	folder, port := t.TempDir(), program.Port(t)
	l := listen(t, &heard{}, ListenConfig{Address: "tcp:127.0.0.1:0"})
	config := fmt.Sprintf("{\n\tadmin off\n\tauto_https off\n}\nhttp://127.0.0.1:%d {\n\tlog {\n\t\toutput net tcp/%s\n\t\tformat json\n\t}\n\trespond 204\n}\n", port, l.Addr())
	name := filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, port, folder, "caddy", "run", "--adapter", "caddyfile", "--config", name)
	s.request(300)
	program.Eventually(t, "all lines", func() bool { once, twice := l.heard.of(s.sent); return once == s.sent && twice == 0 })
	if st := l.Stats(); st.Skipped != 0 || st.Connections == 0 {
		t.Errorf("%+v", st)
	}
}

// BenchmarkFollowDelay is the time from the write of a lone line to its
// decision.
func BenchmarkFollowDelay(b *testing.B) {
	path := filepath.Join(b.TempDir(), "access.log")
	w, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	var decided atomic.Int64
	f, err := NewFollower(FollowConfig{
		Live: Live{Format: format("combined"), Now: time.Now, Decide: func(_ time.Time, ev []edgeguard.Event) { decided.Add(int64(len(ev))) }},
		File: path, Beginning: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	defer func() { cancel(); <-done }()
	var slowest, sum time.Duration
	for n := range b.N {
		begin := time.Now()
		if _, err := w.WriteString(goodLine); err != nil {
			b.Fatal(err)
		}
		for decided.Load() <= int64(n) {
			time.Sleep(20 * time.Microsecond)
		}
		took := time.Since(begin)
		sum, slowest = sum+took, max(slowest, took)
		time.Sleep(3 * time.Millisecond)
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/line")
	b.ReportMetric(float64(slowest.Microseconds()), "µs-slowest")
}
