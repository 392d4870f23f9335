package admin_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/admin"
)

func newServer(t testing.TB, c admin.Config) *admin.Server {
	t.Helper()
	n := newNode()
	c.View, c.Events = n, n.events
	s, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRefusesToListenBeyondLoopback(t *testing.T) {
	open, closed := newServer(t, admin.Config{}), newServer(t, admin.Config{TokenFile: tokenFile(t, secret)})
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		if l, err := open.Listen(address); err == nil || !strings.Contains(err.Error(), "token_file") {
			t.Errorf("%s without a token: %v, %v", address, l, err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err)
			continue
		}
		if err := open.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "token_file") {
			t.Errorf("%s handed over without a token: %v", address, err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the listener that was refused is open: %v", address, err)
		}
		withToken, err := closed.Listen(address)
		if err != nil {
			t.Errorf("%s with a token: %v", address, err)
			continue
		}
		withToken.Close()
	}
	for _, address := range []string{"127.0.0.1:0", "127.9.9.9:0", "localhost:0"} {
		l, err := open.Listen(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		l.Close()
	}
	for _, address := range []string{"", "9190", "unix", "127.0.0.1:x", "127.0.0.1:99999"} {
		if _, err := closed.Listen(address); err == nil {
			t.Errorf("%q was listened at", address)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	s := newServer(t, admin.Config{})
	path := filepath.Join(t.TempDir(), "admin.sock")
	l, err := s.Listen("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 || info.Mode()&fs.ModeSocket == 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := s.Listen("unix:" + path); err == nil || !strings.Contains(err.Error(), "another process answers") {
		t.Errorf("a socket that is in use: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}

	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	l, err = s.Listen("unix:" + path)
	if err != nil {
		t.Fatalf("a socket that was left over: %v", err)
	}
	l.Close()

	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("unix:" + path); err == nil {
		t.Error("a file was replaced by a socket")
	}
	if content, _ := os.ReadFile(path); string(content) != "precious" {
		t.Error("the file is gone")
	}
}

func TestBadTokenFile(t *testing.T) {
	n := newNode()
	for name, file := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "none"), "short": tokenFile(t, "short"), "a folder": t.TempDir(),
	} {
		_, err := admin.New(admin.Config{View: n, Events: n.events, TokenFile: file})
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
