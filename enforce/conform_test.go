package enforce_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
)

// memory is the plainest enforcer: it shows that the suite can be passed, and
// what it asks of one that takes changes.
type memory struct {
	mu   sync.Mutex // guards what follows
	list map[netip.Prefix]time.Time
}

func (m *memory) Traits() enforce.Traits { return enforce.Traits{} }
func (m *memory) Close() error           { return nil }

func (m *memory) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	m.mu.Lock()
	clear(m.list)
	m.mu.Unlock()
	return m.Apply(ctx, now, entries, nil)
}

func (m *memory) Apply(_ context.Context, _ time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range remove {
		delete(m.list, p)
	}
	for _, e := range add {
		m.list[e.Prefix] = e.Until
	}
	return nil
}

func (m *memory) denied(_ *testing.T, addr netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, until := range m.list {
		if p.Contains(addr) && time.Now().Before(until) {
			return true
		}
	}
	return false
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		m := &memory{list: make(map[netip.Prefix]time.Time)}
		enforcetest.Run(t, enforcetest.Bench{New: func(*testing.T) enforce.Enforcer { return m }, Denied: m.denied, Rounds: 200})
	})
	for _, name := range []string{"plain", "nginx", "nginx-geo", "haproxy", "haproxy-map"} {
		t.Run(name, func(t *testing.T) {
			format, err := enforce.ParseFormat(name)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "list")
			enforcetest.Run(t, enforcetest.Bench{
				New:    func(t *testing.T) enforce.Enforcer { return newFile(t, enforce.FileConfig{Path: path, Format: format}) },
				Denied: func(t *testing.T, addr netip.Addr) bool { return listed(t, path, addr) },
			})
		})
	}
}

func newFile(t testing.TB, c enforce.FileConfig) enforce.Enforcer {
	t.Helper()
	f, err := enforce.NewFile(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// listed reads a list as the programs that take it do: one prefix a line.
func listed(t *testing.T, path string, addr netip.Addr) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "deny "), ";")
		line = strings.TrimSuffix(line, " 1")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if a, err := netip.ParseAddr(line); err == nil && a == addr {
			return true
		} else if p, perr := netip.ParsePrefix(line); err != nil && perr != nil {
			t.Fatalf("line %q: %v", line, perr)
		} else if perr == nil && p.Contains(addr) {
			return true
		}
	}
	return false
}
