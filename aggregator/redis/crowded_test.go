package redis

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/redistest"
)

// small sets another bound of the fleet's list.
func small(t *testing.T, s *redistest.Server, full int) {
	t.Helper()
	if err := s.Client().FunctionLoadReplace(context.Background(), sourceOf(t, full)).Err(); err != nil {
		t.Fatal(err)
	}
}

// bounded returns a member whose list has its own bound.
func bounded(t *testing.T, s *redistest.Server, name string, most int) *member {
	t.Helper()
	m := newMember(t, testConfig(s.Addr, name))
	m.list = blocklist.New(blocklist.Config{Most: most})
	m.pace = 100_000 // not what is tested
	return m
}

func (m *member) byRule(t *testing.T, prefix string, until time.Duration) {
	t.Helper()
	now := time.Now()
	if _, err := m.list.Merge(edgeguard.Block{
		Prefix: netip.MustParsePrefix(prefix), Rule: "trap", Reason: "trap", Origin: m.name,
		Since: now, Until: now.Add(until), Version: 1,
	}, now); err != nil {
		t.Fatal(err)
	}
}

// settle waits until all members agree with Redis, and returns how many records
// it has.
func settle(t *testing.T, s *redistest.Server, fleet ...*member) (records int) {
	t.Helper()
	ctx, names := context.Background(), newNames("test", 4)
	for _, m := range fleet {
		m.eventually(t, "the fleet's digest", func() bool {
			st, err := m.link.beats.sendHeartbeat(ctx, false)
			digest, version := m.link.list.mirror.Digest(st.Cutoff)
			records = int(s.Client().HLen(ctx, names.blocks).Val())
			return err == nil && m.link.publisher.outbox.Len() == 0 && version == st.Changes && digest == st.Digest && m.link.Stats().Records == records
		})
	}
	return records
}

// TestFloodOfBlocksIsBounded: a flood of one node's rules fills neither Redis
// nor the mirrors, and evicts neither offenders nor operators' blocks. The
// nodes agree without reading the list again and again, and a block that found
// no room does not come and go.
func TestFloodOfBlocksIsBounded(t *testing.T) {
	t.Parallel()
	const full, offenders, flood = 1000, 200, 6000
	ctx, names := context.Background(), newNames("test", 4)
	s := startRedis(t, redistest.Options{})
	small(t, s, full)
	a, b := bounded(t, s, "edge-a", 0).start(t), bounded(t, s, "edge-b", 0).start(t)
	for _, m := range []*member{a, b} {
		m.eventually(t, "the fleet", m.link.IsJoined)
	}
	stay := []string{"192.0.2.0/24"}
	now := time.Now()
	if _, err := a.list.Force(a.byHand("192.0.2.0/24"), now); err != nil {
		t.Fatal(err)
	}
	for i := range offenders / 2 {
		stay = append(stay, fmt.Sprintf("%d.%d.0.1/32", 20+i, i))
		b.byRule(t, stay[len(stay)-1], 10*time.Minute)
	}
	settle(t, s, a, b)
	for i := range flood { // a /44
		a.byRule(t, fmt.Sprintf("2001:db8:%x:%x::/64", i%16, i), 24*time.Hour)
		if i == flood/2 {
			for i := range offenders / 2 {
				stay = append(stay, fmt.Sprintf("%d.%d.0.1/32", 130+i%60, i))
				b.byRule(t, stay[len(stay)-1], 10*time.Minute)
			}
		}
	}
	if _, ok := a.list.Lift(netip.MustParsePrefix("2001:db8:3:3::/64"), time.Now(), "a customer", "admin"); !ok {
		t.Fatal("the flood's block is not in force")
	}
	stay = append(stay, "2001:db8:3:3::/64")
	// A full read publishes again what is in the list and not in Redis.
	for range 3 {
		for _, m := range []*member{a, b} {
			syncs := m.link.Stats().Syncs
			m.link.Resync()
			m.eventually(t, "a full read", func() bool { return m.link.Stats().Syncs > syncs })
		}
		if n := settle(t, s, a, b); n < full || n > full+10 {
			t.Errorf("%d records in Redis, for a bound of %d", n, full)
		}
	}
	for _, p := range stay {
		if !s.Client().HExists(ctx, names.blocks, p).Val() {
			t.Errorf("%s has made room", p)
		}
	}
	if a.list.Len() < flood {
		t.Errorf("the node itself has %d blocks, not all it made", a.list.Len())
	}
	if st := a.link.Stats(); st.Kept < flood/2 || !strings.Contains(a.alarmed("full/list"), "full") {
		t.Errorf("kept %d; alarm %q", st.Kept, a.alarmed("full/list"))
	}
	// Nothing more is done for it: neither full reads nor changes.
	before, syncs := s.Client().HGet(ctx, names.state, "version").Val(), a.link.Stats().Syncs+b.link.Stats().Syncs
	a.link.Resync()
	a.eventually(t, "a full read", func() bool { return a.link.Stats().Syncs+b.link.Stats().Syncs > syncs })
	settle(t, s, a, b)
	if after := s.Client().HGet(ctx, names.state, "version").Val(); after != before {
		t.Errorf("a full read took the list from version %s to %s", before, after)
	}
	if n := a.link.Stats().Syncs + b.link.Stats().Syncs; n != syncs+1 {
		t.Errorf("%d full reads more than asked for", n-syncs-1)
	}
	for _, m := range []*member{a, b} {
		if m.link.Stats().Rejected != 0 {
			t.Errorf("%s refused %d", m.name, m.link.Stats().Rejected)
		}
	}
}

// TestFullListSkipsWhatItEvicted: a list that is shorter than the fleet's comes
// to rest: full reads do not change it.
func TestFullListSkipsWhatItEvicted(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	big, little := bounded(t, s, "edge-a", 0).start(t), bounded(t, s, "edge-b", 400).start(t)
	for _, m := range []*member{big, little} {
		m.eventually(t, "the fleet", m.link.IsJoined)
	}
	for i := range 1000 {
		big.byRule(t, fmt.Sprintf("10.%d.0.%d/32", i%7%5, i%256), time.Hour)
		big.byRule(t, fmt.Sprintf("%d.%d.0.7/32", 20+i%50, i%100), time.Hour)
	}
	settle(t, s, big, little)
	read := func() []string {
		syncs := little.link.Stats().Syncs
		little.link.Resync()
		little.eventually(t, "a full read", func() bool { return little.link.Stats().Syncs > syncs })
		return little.records()
	}
	read()
	before, evicted := read(), little.list.Stats().Evicted
	for range 3 {
		if after := read(); fmt.Sprint(after) != fmt.Sprint(before) || little.list.Stats().Evicted != evicted {
			t.Fatalf("a full read changed the list: %d evicted before, %d now", evicted, little.list.Stats().Evicted)
		}
	}
	if evicted == 0 || len(before) != 400 {
		t.Errorf("%d blocks, %d evicted", len(before), evicted)
	}
}

// TestOperatorsBlockWithoutRoom: the record is not rejected, and a separate
// alarm lasts until a full read finds room.
func TestOperatorsBlockWithoutRoom(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	big, little := bounded(t, s, "edge-a", 0).start(t), bounded(t, s, "edge-b", 4).start(t)
	for _, m := range []*member{big, little} {
		m.eventually(t, "the fleet", m.link.IsJoined)
	}
	for i := range 3 {
		if _, err := big.list.Merge(big.byHand(fmt.Sprintf("192.0.2.%d/32", i)), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	little.eventually(t, "the alarm", func() bool { return strings.Contains(little.alarmed("no_room/list"), "max_blocks") })
	if n := little.link.Stats().Rejected; n != 0 {
		t.Errorf("%d are rejected", n)
	}
	little.list.SetMost(100)
	little.link.Resync()
	little.eventually(t, "the end of the alarm", func() bool { return little.alarmed("no_room/list") == "" && little.list.Len() == 3 })
}
