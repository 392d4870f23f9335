package redis

import (
	"context"
	"strings"
	"testing"

	"edgeguard/internal/redistest"
)

// TestTooOld: a node at a Redis before 7 says so in one line, keeps trying, and
// uses its own counts; installing the library fails with the same text.
func TestTooOld(t *testing.T) {
	t.Parallel()
	s := redistest.StartOld(t)
	c := testConfig(s.Addr, "edge-a")
	c.User, c.Password = "", "" // there an ACL line that names functions is refused
	m := newMember(t, c).start(t)
	m.eventually(t, "some tries", func() bool { return m.link.Stats().Errors["beat"] > 3 })
	const says = "use Redis 7 or later, or Valkey"
	if s := m.link.Stats(); s.Up || s.Fault.Kind != "too old" || !strings.Contains(m.alarmed("fleet/redis"), says) {
		t.Errorf("alarmed %q; %+v", m.alarmed("fleet/redis"), s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.raised["fleet/redis"]; n != 1 {
		t.Errorf("it was alarmed %d times", n)
	}
	_, err := Install(context.Background(), s.Client())
	if err == nil || !strings.Contains(c.Explain(err).Error(), says) {
		t.Errorf("install: %v", err)
	}
}
