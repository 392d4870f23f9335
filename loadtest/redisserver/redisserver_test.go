package redisserver

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// start runs a server, or skips the test where there is none.
func start(t *testing.T, ctx context.Context) *Server {
	t.Helper()
	s, err := Start(ctx, t.TempDir(), 0)
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func TestServer(t *testing.T) {
	s := start(t, context.Background())
	info, err := s.Info(context.Background(), "stats")
	if err != nil || info["total_net_input_bytes"] == "" {
		t.Errorf("INFO stats: %v, %v", info, err)
	}
	if spent, err := s.CPU(context.Background()); err != nil || spent <= 0 {
		t.Error(spent, err)
	}
	s.Stop()
	s.Stop()
	if c, err := net.Dial("tcp", s.Addr); err == nil {
		_ = c.Close()
		t.Error("it answers after its end")
	}
}

func TestContextEndsTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := start(t, ctx)
	cancel()
	select {
	case <-s.process.Ended():
	case <-time.After(patience):
		t.Error("it runs on")
	}
}

// What fails is said in one line that names the fix.
func TestErrorsAreOneLine(t *testing.T) {
	running := start(t, context.Background())
	port, err := strconv.Atoi(running.Addr[strings.LastIndexByte(running.Addr, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	for want, begin := range map[string]func() (*Server, error){
		"is in use": func() (*Server, error) { return Start(context.Background(), t.TempDir(), port) },
		"redis-server ends at once: ": func() (*Server, error) {
			return Start(context.Background(), t.TempDir(), 0, "--maxclients", "many")
		},
	} {
		switch s, err := begin(); {
		case err == nil:
			s.Stop()
			t.Errorf("it starts, and %q was wanted", want)
		case !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n"):
			t.Errorf("got %q, want %q", err, want)
		}
	}
	t.Setenv("PATH", "")
	t.Setenv(Binary, "")
	if _, err := Start(context.Background(), t.TempDir(), 0); !errors.Is(err, ErrAbsent) {
		t.Errorf("without a redis-server: %v", err)
	}
}
