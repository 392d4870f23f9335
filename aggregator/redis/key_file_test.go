package redis

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/redistest"
)

// TestKeyFile: a node without its key stays out of the fleet and says why; with a
// bad file later it goes on with the key that it has.
func TestKeyFile(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	c := testConfig(s.Addr, "edge-a")
	c.KeyFile = filepath.Join(t.TempDir(), "key")
	m := newMember(t, c).start(t)
	m.eventually(t, "the fault", func() bool {
		f := m.link.Stats().Fault
		return f.Kind == "key" && strings.Contains(f.Text, "fleet key")
	})
	writeKeys(t, c.KeyFile, keyOne)
	m.eventually(t, "the fleet", m.link.IsJoined)
	writeKeys(t, c.KeyFile, "no")
	m.link.Resync()
	m.eventually(t, "the alarm", func() bool { return strings.Contains(m.alarmed("key/file"), "line 1") })
	if text := m.alarmed("key/file"); strings.Contains(text, "nono") {
		t.Errorf("the alarm shows the file: %s", text)
	}
	m.blockByHand(t, somewhere)
	m.eventually(t, "its MAC", func() bool { return signedIn(t, s, somewhere, keyOne) })
	writeKeys(t, c.KeyFile, keyTwo, keyOne)
	m.link.Resync()
	m.eventually(t, "the end of the alarm", func() bool { return m.alarmed("key/file") == "" })
	m.blockByHand(t, "203.0.113.8/32")
	m.eventually(t, "the new key's MAC", func() bool { return signedIn(t, s, "203.0.113.8/32", keyTwo) })
	if signedIn(t, s, somewhere, keyTwo) {
		t.Error("what verifies was signed again")
	}
	if _, err := New(Config{Addresses: []string{s.Addr}, Node: "x", Require: true}, testPeer{m}); err == nil || !strings.Contains(err.Error(), "key_file") {
		t.Errorf("require without a key: %v", err)
	}
}

// TestNewerRecord: records of a later version are passed over, with one alarm for
// all while they are there, and are none that was rejected.
func TestNewerRecord(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, n := context.Background(), newNames("test", 4)
	for i := range 3 {
		prefix := fmt.Sprintf("203.0.113.%d/32", i)
		s.Client().HSet(ctx, n.blocks, prefix, "\x02"+forged(t, prefix, 1, nil)[1:])
	}
	m := keyed(t, s, "edge-a", false)
	m.eventually(t, "the alarm", func() bool { return strings.HasPrefix(m.alarmed("version/record"), "3 records") })
	if m.alarmed("rejected/203.0.113.1/32") != "" || m.link.Stats().Rejected != 0 {
		t.Errorf("the alarms: %v", m.alarms)
	}
	s.Client().Del(ctx, n.blocks)
	m.link.Resync()
	m.eventually(t, "the end of the alarm", func() bool { return m.alarmed("version/record") == "" })
}
