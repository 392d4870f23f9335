package redis

import (
	"context"
	"strings"
	"testing"

	"edgeguard/internal/redistest"
)

// robbed is a fleet of two nodes that require signatures and have a block, whose
// MAC a thief has removed.
func robbed(t *testing.T, s *redistest.Server) []*member {
	t.Helper()
	ctx, n := context.Background(), newNames("test", 4)
	fleet := []*member{keyed(t, s, "edge-a", true, keyOne), keyed(t, s, "edge-b", true, keyOne)}
	fleet[0].blockByHand(t, somewhere)
	for _, m := range fleet {
		m.eventually(t, "the block", func() bool { return m.blocked("203.0.113.7") != nil })
	}
	if got := thief(t, s).Del(ctx, n.macs).Val(); got != 1 {
		t.Fatal("there was no MAC to remove")
	}
	return fleet
}

// TestMACsThatWereRemoved: a node that joins asks for the MACs that it lacks, and
// another one publishes them again.
func TestMACsThatWereRemoved(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	fleet := robbed(t, s)
	late := keyed(t, s, "edge-c", true, keyOne)
	late.eventually(t, "the block", func() bool { return late.blocked("203.0.113.7") != nil })
	if !signedIn(t, s, somewhere, keyOne) {
		t.Error("the block is in force, and Redis has no MAC of it")
	}
	late.eventually(t, "nothing unsigned", func() bool { return late.link.Stats().Unsigned == 0 })
	for _, m := range append(fleet, late) {
		m.mu.Lock()
		if m.raised["unsigned/ask"] != 0 {
			t.Errorf("%s alarms %v", m.name, m.alarms)
		}
		m.mu.Unlock()
	}
}

// TestAskWithoutPermission: a node whose user may not ask says so, and is in the
// fleet.
func TestAskWithoutPermission(t *testing.T) {
	t.Parallel()
	narrow := userLine(ACLLine("narrow", "test")) + " -hset +hset|eg:{test/b}:nodes"
	s := startRedis(t, redistest.Options{Users: []string{narrow}})
	fleet := robbed(t, s)
	c := testConfig(s.Addr, "edge-c")
	c.User, c.Require, c.KeyFile = "narrow", true, keyFile(t, keyOne)
	late := newMember(t, c).start(t)
	late.eventually(t, "the alarm", func() bool { return strings.Contains(late.alarmed("unsigned/ask"), "ACL SETUSER narrow") })
	if st := late.link.Stats(); strings.Contains(st.LastError, "NOPERM") {
		t.Errorf("that cut it off: %s", st.LastError)
	}
	fleet[0].link.Resync()
	late.eventually(t, "the block", func() bool { return late.blocked("203.0.113.7") != nil })
	late.eventually(t, "the end of the alarm", func() bool { return late.alarmed("unsigned/ask") == "" })
}
