package sockets

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/program"
	"edgeguard/internal/unixsocket"
)

func noEnv(string) string { return "" }

var groupAccess = unixsocket.Access{Mode: 0o660}

// A listener that is closed and opened again keeps its port all the while.
func TestOutliveListeners(t *testing.T) {
	for _, address := range []string{program.Address(t), "unix:" + filepath.Join(shortDir(t), "a.sock")} {
		s := opened(noEnv)
		one, err := s.Open(address, groupAccess)
		if err != nil {
			t.Fatal(err)
		}
		at := one.Addr()
		_ = one.Close()
		c, err := net.Dial(at.Network(), at.String()) // waits in the backlog
		if err != nil {
			t.Fatalf("%s: connections fail between two servers: %v", address, err)
		}
		two, err := s.Open(address, groupAccess)
		if err != nil {
			t.Fatal(err)
		}
		served, err := two.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = served.Write([]byte("hello\n"))
		if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
			t.Errorf("%s: %q, %v", address, line, err)
		}
		_ = served.Close()
		_ = c.Close()
		_ = two.Close()
		s.Close()
		if c, err := net.Dial(at.Network(), at.String()); err == nil {
			_ = c.Close()
			t.Errorf("%s: still open after the end", address)
		}
	}
}

func TestRefuseWhatIsNotTheirs(t *testing.T) {
	dir := shortDir(t)
	stale := filepath.Join(dir, "stale.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	s := opened(noEnv)
	defer s.Close()
	if l, err := s.Open("unix:"+stale, groupAccess); err != nil {
		t.Errorf("a socket that a killed node left: %v", err)
	} else {
		_ = l.Close()
	}
	if info, err := os.Stat(stale); err != nil || info.Mode().Perm() != groupAccess.Mode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := opened(noEnv)
	defer other.Close()
	for address, want := range map[string]string{
		"unix:" + file:           "not a socket",
		"unix:" + stale:          "another program answers there",
		"unix:/nonexistent/x":    "/nonexistent/x",
		"127.0.0.1:99999":        "99999",
		"192.0.2.1:9180":         "does not have that address",
		"unix:" + dir + "/file/": "file",
	} {
		l, err := other.Open(address, groupAccess)
		if err == nil {
			_ = l.Close()
			t.Errorf("%s: opened", address)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", address, err, want)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "precious" {
		t.Error("a file was lost")
	}
}

// TestFromSystemd runs this test in a process that was handed a socket
// as systemd hands it over.
func TestFromSystemd(t *testing.T) {
	if address := os.Getenv("EDGEGUARD_TEST_PASSED"); address != "" {
		s := opened(os.Getenv)
		l, err := s.Open(address, groupAccess)
		fmt.Printf("passed: %v %v\n", err, len(s.passed))
		if err == nil {
			_ = l.Close()
		}
		s.Close()
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	// The shell is there for LISTEN_PID: exec keeps its process id.
	c := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" -test.run '^TestFromSystemd$'`, os.Args[0])
	c.Env = append(os.Environ(), "EDGEGUARD_TEST_PASSED="+l.Addr().String())
	c.ExtraFiles = []*os.File{file}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "passed: <nil> 0") {
		t.Errorf("%v: %s", err, out)
	}
}

// opened returns sockets that took over those of the environment.
func opened(getenv func(string) string) *Sockets {
	s := New(func(string) {})
	s.TakeOver(getenv)
	return s
}

// shortDir returns a folder whose sockets have paths that are short enough.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "eg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
