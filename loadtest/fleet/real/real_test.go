package real

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
	"edgeguard/loadtest/redisserver"
)

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// built returns the program, or skips the test where there is no Redis.
func built(t *testing.T) string {
	t.Helper()
	if _, err := redisserver.Path(); errors.Is(err, redisserver.ErrAbsent) {
		t.Skip(err)
	}
	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Processes and model block the same clients on the same nodes.
func TestProcessesAndModel(t *testing.T) {
	t.Parallel()
	s := Mixed(3, 5, 100)
	r, err := Run(context.Background(), Options{Seed: 1, Program: built(t), Scenario: &s, Brief: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.Print(&text)
	t.Logf("\n%s", &text)
	p := &r.RealTime
	if p.Everywhere != r.Crossing || p.Blocked != r.Crossing {
		t.Errorf("%d cross the limit, %d are blocked, %d of them everywhere", r.Crossing, p.Blocked, p.Everywhere)
	}
	if !p.SameBlocks || r.Virtual.Everywhere != r.Crossing {
		t.Errorf("the model blocks %d clients, %d of them everywhere: not the same", r.Virtual.Blocked, r.Virtual.Everywhere)
	}
}

// Each command is answered, and an interrupt ends it.
func TestCosts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := &fleet{program: built(t), folder: t.TempDir()}
	defer f.stop()
	var err error
	if f.redis, err = redisserver.Start(ctx, f.folder, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.install(ctx); err != nil {
		t.Fatal(err)
	}
	c, err := costs(ctx, f.redis, 90*time.Millisecond)
	if err != nil || len(c) != len(loads) {
		t.Errorf("costs: %+v, %v", c, err)
	}
	cancel()
	if _, err := costs(ctx, f.redis, time.Minute); err == nil {
		t.Error("no error after an interrupt")
	}
}

// An interrupt ends all that was started, at any step.
func TestInterrupt(t *testing.T) {
	path, s := built(t), Mixed(3, 5, 100)
	for _, at := range []string{"starting", "requests"} {
		ctx, cancel := context.WithCancel(context.Background())
		notes := &canceller{at: at, cancel: cancel}
		before := folders(t)
		if _, err := Run(ctx, Options{Program: path, Scenario: &s, Brief: true}, notes); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %q: %v", at, err)
		}
		if left := children(t); left != "" {
			t.Errorf("interrupted at %q, these run on: %s", at, left)
		}
		if after := folders(t); after > before {
			t.Errorf("interrupted at %q, it leaves its folder", at)
		}
	}
}

// canceller cancels when a note has some words.
type canceller struct {
	at     string
	cancel context.CancelFunc
}

func (c *canceller) Write(note []byte) (int, error) {
	if strings.Contains(string(note), c.at) {
		c.cancel()
	}
	return len(note), nil
}

// children returns the ids of the processes that this one has started.
func children(t *testing.T) (all string) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("no /proc here that lists a process's children")
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		all += string(text)
	}
	return all
}

// folders counts the folders of runs.
func folders(t *testing.T) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(os.TempDir(), "fleet*", "redis.log"))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Without what a run needs there is one line that says so.
func TestWhatIsMissing(t *testing.T) {
	path := built(t)
	_, err := Run(context.Background(), Options{Program: filepath.Join(t.TempDir(), "none")}, io.Discard)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a program: %v", err)
	}
	t.Setenv("PATH", "")
	t.Setenv(redisserver.Binary, "")
	r, err := Run(context.Background(), Options{Program: path}, io.Discard)
	if err != nil || !strings.Contains(r.Missing, "redis-server is not installed") {
		t.Errorf("without a redis-server: %+v, %v", r, err)
	}
}
