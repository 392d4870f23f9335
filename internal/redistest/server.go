package redistest

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/internal/program"
)

// Server is one redis-server, running or killed. Its address and its files
// stay the same over [Server.Restart].
type Server struct {
	// Addr is host:port.
	Addr string
	// Dir holds what the server keeps, its log among it ("log").
	Dir string

	t      testing.TB
	opts   Options
	path   string
	args   []string
	tls    *tls.Config
	mu     sync.Mutex // guards what follows: a test may kill the server from a goroutine
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has been waited for
	client *goredis.Client
}

// Start runs a redis-server until the test ends, and returns when it answers.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, opts: o, path: Path(t), Dir: t.TempDir()}
	if o.TLS {
		s.tls = certificate(t, s.Dir)
	}
	s.args = o.args(t, s.Dir)
	t.Cleanup(s.end)
	for range 5 {
		port := o.Port
		if port == 0 {
			port = program.Port(t)
		}
		s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if s.run(port) {
			return s
		}
		if o.TLS && strings.Contains(s.Log(), "Failed finding TLS support") {
			t.Skipf("%s was built without TLS", s.path)
		}
	}
	t.Fatalf("redistest: redis-server ends at once; its log:\n%s", s.Log())
	return nil
}

// run starts the process and reports whether it came to answer.
func (s *Server) run(port int) bool {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
	defer log.Close()
	cmd := exec.Command(s.path, append(s.opts.portArgs(s.Dir, port), s.args...)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, program.DieWithParent()
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	if s.client == nil {
		s.client = goredis.NewClient(s.Options())
	}
	s.mu.Unlock()
	return s.answers(ended)
}

// answers waits for the server to take commands: also until it has read its
// files.
func (s *Server) answers(ended <-chan struct{}) bool {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if s.Client().Ping(context.Background()).Err() == nil {
			return true
		}
		select {
		case <-ended:
			s.mu.Lock()
			defer s.mu.Unlock()
			_ = s.client.Close()
			s.client, s.cmd = nil, nil
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("redistest: redis-server at %s does not answer; its log:\n%s", s.Addr, s.Log())
		}
	}
}

// Options is how a client of the default user reaches the server. Retries are
// off, so that a test sees what happened and not what happened next.
func (s *Server) Options() *goredis.Options {
	return &goredis.Options{
		Addr: s.Addr, Password: s.opts.Password, TLSConfig: s.tls, MaxRetries: -1,
		DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, ContextTimeoutEnabled: true,
	}
}

// Client is one client of the default user that belongs to the server: do not
// close it.
func (s *Server) Client() *goredis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// Port is the server's port.
func (s *Server) Port() int {
	_, port, _ := net.SplitHostPort(s.Addr)
	n, _ := strconv.Atoi(port)
	return n
}

// TLS is the settings that trust the server's certificate, nil without TLS.
// CAFile holds the certificate as PEM.
func (s *Server) TLS() *tls.Config { return s.tls.Clone() }

// CAFile is the path of the certificate to trust, as PEM.
func (s *Server) CAFile() string { return filepath.Join(s.Dir, "cert.pem") }

// Log is all that the server wrote so far.
func (s *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	return string(text)
}

// Kill ends the server as kill -9 does, and returns when it is gone. It does
// nothing to a server that is not running.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // its only error is that the process has ended
	<-s.ended
	s.cmd = nil
}

// Restart kills the server if it runs and starts it again on its port and its
// files. It returns when the server answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if !s.run(s.Port()) {
		s.t.Fatalf("redistest: redis-server does not start again; its log:\n%s", s.Log())
	}
}

// Stop freezes the process: its connections stay open and nothing answers.
func (s *Server) Stop() { s.signal(syscall.SIGSTOP) }

// Cont lets a frozen process go on.
func (s *Server) Cont() { s.signal(syscall.SIGCONT) }

// PID is the process id, 0 while the server does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

func (s *Server) end() {
	s.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		_ = s.client.Close()
	}
}
