package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// manyBlocks puts n blocks by hand into a member's list.
func (m *member) manyBlocks(t testing.TB, n int) {
	t.Helper()
	now := time.Now()
	for i := range n {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], 100<<24|uint32(i))
		changed, err := m.list.Merge(edgeguard.Block{
			Prefix: netip.PrefixFrom(netip.AddrFrom4(b), 32), Rule: "manual", Reason: fmt.Sprint("by hand ", i),
			Origin: m.name, Since: now, Until: now.Add(time.Hour), Version: 1,
		}, now)
		if !changed || err != nil {
			t.Fatal(changed, err)
		}
	}
}

// agreed reports whether a member has all of the fleet's list: so many blocks,
// and the digest that Redis has.
func (m *member) agreed(t testing.TB, n int) bool {
	t.Helper()
	s, err := m.link.beats.sendHeartbeat(context.Background(), false)
	if err != nil {
		t.Fatal(err)
	}
	digest, changes := m.link.list.mirror.Digest(s.Cutoff)
	return m.list.Len() == n && changes == s.Changes && digest == s.Digest
}

// TestFullSync: a node that joins late reads a list of any length, of more than
// one step too.
func TestFullSync(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		n      int
		signed bool
	}{{1, false}, {scanned + 500, true}, {12_500, false}} {
		n := row.n
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, redistest.Options{})
			patient := func(name string) Config {
				c := testConfig(s.Addr, name)
				if c.Require = row.signed; row.signed {
					c.KeyFile = keyFile(t, keyOne)
				}
				return c
			}
			first := newMember(t, patient("edge-a"))
			first.manyBlocks(t, n)
			begun := time.Now()
			first.start(t)
			first.eventually(t, "its list to be the fleet's", func() bool { return first.link.IsJoined() && first.agreed(t, n) })
			told := time.Now()
			late := newMember(t, patient("edge-b")).start(t)
			late.eventually(t, "the fleet's list", func() bool { return late.link.IsJoined() && late.agreed(t, n) })
			t.Logf("%d blocks: published in %v, read in %v", n, told.Sub(begun).Round(time.Millisecond), time.Since(told).Round(time.Millisecond))
			if !oneList([]*member{first, late}) {
				t.Error("the lists differ")
			}
			if st := late.link.Stats(); st.Published != 0 || st.Rejected != 0 || st.Syncs != 1 {
				t.Errorf("it published %d, refused %d, and read %d times", st.Published, st.Rejected, st.Syncs)
			}
		})
	}
}

// TestGapInTheStream: a node so slow that the stream dropped what it had not
// read reads the whole list instead, once.
func TestGapInTheStream(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	slow := newMember(t, testConfig(s.Addr, "edge-a"))
	link, err := New(slow.config, testPeer{slow})
	if err != nil {
		t.Fatal(err)
	}
	defer link.client.Close()
	slow.link = link
	ctx, end := context.WithCancel(context.Background())
	at, err := link.join(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 300
	quick := newMember(t, testConfig(s.Addr, "edge-b"))
	quick.manyBlocks(t, blocks)
	quick.start(t)
	quick.eventually(t, "its list to be the fleet's", func() bool { return quick.link.IsJoined() && quick.agreed(t, blocks) })
	if err := s.Client().XTrimMaxLen(ctx, newNames("test", 4).stream, 10).Err(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- link.list.readChanges(ctx, at) }()
	slow.eventually(t, "the whole list", func() bool { return slow.agreed(t, blocks) })
	// And then the stream again.
	if _, err := quick.list.Merge(quick.byHand("203.0.113.7/32"), time.Now()); err != nil {
		t.Fatal(err)
	}
	slow.eventually(t, "the next change", func() bool { return slow.agreed(t, blocks+1) })
	end()
	if err := <-done; err == nil {
		t.Error("following ended without a reason")
	}
	if n := link.stats.syncs.Load(); n != 2 {
		t.Errorf("the list was read %d times, not when it joined and once", n)
	}
}
