package redis

import (
	"testing"

	"edgeguard/internal/redistest"
)

// TestUpOnlyWhenJoined: a link that has not joined yet is not up, without an
// alarm or a line in the log; its first join makes neither.
func TestUpOnlyWhenJoined(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	m := newMember(t, testConfig(s.Addr, "edge-a"))
	link, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	defer link.client.Close()
	if st := link.Stats(); link.IsJoined() || st.Up || st.Fault.Kind != "starting" || st.Fault.Text == "" || st.Since.IsZero() {
		t.Errorf("before the start: up %v, %+v", link.IsJoined(), st)
	}
	m.start(t)
	m.eventually(t, "the fleet", func() bool { return m.link.IsJoined() && m.link.Stats().Rounds > 0 })
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.raised) != 0 {
		t.Errorf("it alarms %v", m.raised)
	}
}
