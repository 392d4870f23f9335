package redis

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

const (
	keyOne, keyTwo = "11", "22"
	somewhere      = "203.0.113.7/32"
)

// keyFile writes a file with these keys, each a byte in hex.
func keyFile(t testing.TB, bytes ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	writeKeys(t, name, bytes...)
	return name
}

func writeKeys(t testing.TB, name string, bytes ...string) {
	t.Helper()
	var text strings.Builder
	for _, b := range bytes {
		text.WriteString(strings.Repeat(b, 32) + "\n")
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keyed starts a node with the key; require is its key_mode.
func keyed(t testing.TB, s *redistest.Server, name string, require bool, keys ...string) *member {
	t.Helper()
	c := testConfig(s.Addr, name)
	c.Require = require
	if len(keys) > 0 {
		c.KeyFile = keyFile(t, keys...)
	}
	m := newMember(t, c).start(t)
	m.eventually(t, "the fleet", m.link.IsJoined)
	return m
}

// thief is a client with the user of the documentation's ACL line.
func thief(t testing.TB, s *redistest.Server) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr, Username: "edge", Password: secret})
	t.Cleanup(func() { c.Close() })
	return c
}

// forged is a record as a thief writes it.
func forged(t testing.TB, prefix string, version uint64, change func(*aggregator.Record)) string {
	t.Helper()
	now := time.Now()
	r := aggregator.Record{Block: edgeguard.Block{
		Prefix: netip.MustParsePrefix(prefix), Rule: "login", Origin: "edge-a", Reason: "over limit",
		Version: version, Since: now, Until: now.Add(time.Hour), Count: 20, Limit: 19,
	}, Retention: 5 * time.Minute}
	if change != nil {
		change(&r)
	}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// publishAs publishes a record without a MAC.
func publishAs(t testing.TB, c *goredis.Client, prefix, record string) {
	t.Helper()
	n := newNames("test", 4)
	if err := c.FCall(context.Background(), function("publish"), n.publishKeys(), time.Now().UnixMilli(), prefix, record, "").Err(); err != nil {
		t.Fatal(err)
	}
}

func (m *member) blockByHand(t testing.TB, prefix string) {
	t.Helper()
	if changed, err := m.list.Merge(m.byHand(prefix), time.Now()); !changed || err != nil {
		t.Fatal(changed, err)
	}
}

// signedIn reports whether Redis has a valid MAC of a prefix by one of the keys.
func signedIn(t testing.TB, s *redistest.Server, prefix string, keys ...string) bool {
	t.Helper()
	ctx, n := context.Background(), newNames("test", 4)
	text, err := os.ReadFile(keyFile(t, keys...))
	if err != nil {
		t.Fatal(err)
	}
	k, err := aggregator.ParseSigningKeys(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return k.Signed("test", prefix, s.Client().HGet(ctx, n.blocks, prefix).Val(), s.Client().HGet(ctx, n.macs, prefix).Val())
}

// TestSignedRecords: what a node with a key publishes is signed, and a node that
// requires it takes it by the stream and by a full read.
func TestSignedRecords(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	first, listens := keyed(t, s, "edge-a", false, keyOne), keyed(t, s, "edge-b", true, keyOne)
	first.blockByHand(t, somewhere)
	listens.eventually(t, "the block", func() bool { return listens.blocked("203.0.113.7") != nil })
	if !signedIn(t, s, somewhere, keyOne) || signedIn(t, s, somewhere, keyTwo) {
		t.Error("Redis has no MAC by the key")
	}
	late := keyed(t, s, "edge-c", true, keyTwo, keyOne)
	late.eventually(t, "the block", func() bool { return late.blocked("203.0.113.7") != nil })
	for _, m := range []*member{first, listens, late} {
		if trust := m.list.Trust(netip.MustParsePrefix(somewhere)); !trust.Signed {
			t.Errorf("%s does not know that it is signed", m.name)
		}
		m.eventually(t, "nothing unsigned", func() bool { return m.link.Stats().Unsigned == 0 })
	}
	if st := late.link.Stats(); st.Published != 0 || st.Replaced != 0 {
		t.Errorf("it signed again what verifies: %+v", st)
	}
}

// TestUnsignedIsRejected: in a fleet that requires signatures nothing that a thief
// writes is in force, by function or raw, and it keeps no good record out.
func TestUnsignedIsRejected(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, n, c := context.Background(), newNames("test", 4), thief(t, s)
	holder := keyed(t, s, "edge-a", true, keyOne)
	holder.blockByHand(t, somewhere)
	holder.eventually(t, "its MAC", func() bool { return signedIn(t, s, somewhere, keyOne) })
	good := s.Client().HGet(ctx, n.blocks, somewhere).Val()

	publishAs(t, c, "198.51.100.1/32", forged(t, "198.51.100.1/32", 1, nil))
	publishAs(t, c, somewhere, forged(t, somewhere, 1<<64-2, func(r *aggregator.Record) { r.Block.Lifted = true }))
	holder.eventually(t, "the good record again", func() bool { return s.Client().HGet(ctx, n.blocks, somewhere).Val() == good })
	if !signedIn(t, s, somewhere, keyOne) {
		t.Error("it was replaced by an unsigned one")
	}
	if holder.blocked("203.0.113.7") == nil || holder.blocked("198.51.100.1") != nil {
		t.Error("the thief's records are in force")
	}
	if text := holder.alarmed("unsigned/list"); !strings.Contains(text, "ignored here") {
		t.Errorf("the alarm: %q", text)
	}
	if holder.alarmed("rejected/"+somewhere) != "" {
		t.Error("an alarm for each record")
	}
	late := keyed(t, s, "edge-b", true, keyOne)
	late.eventually(t, "the good block", func() bool { return late.blocked("203.0.113.7") != nil })
	if late.blocked("198.51.100.1") != nil {
		t.Error("a late node has the thief's block")
	}
	if st := holder.link.Stats(); st.Replaced != 1 || st.Unsigned == 0 {
		t.Errorf("replaced %d, unsigned %d", st.Replaced, st.Unsigned)
	}
}

// TestWrongDoesNotOutrank: without any key, a record that all nodes reject keeps
// no block from them, though it is the greatest there can be.
func TestWrongDoesNotOutrank(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	c := thief(t, s)
	holder, other := keyed(t, s, "edge-a", false), keyed(t, s, "edge-b", false)
	publishAs(t, c, somewhere, forged(t, somewhere, 1<<64-2, func(r *aggregator.Record) {
		r.Block.Since, r.Block.Until = r.Block.Since.Add(time.Hour), r.Block.Until.Add(2*time.Hour)
	}))
	holder.eventually(t, "the alarm", func() bool { return strings.Contains(holder.alarmed("rejected/"+somewhere), "in the future") })
	holder.blockByHand(t, somewhere)
	other.eventually(t, "the block", func() bool { return other.blocked("203.0.113.7") != nil })
	late := keyed(t, s, "edge-c", false)
	late.eventually(t, "the block", func() bool { return late.blocked("203.0.113.7") != nil })
	for _, m := range []*member{holder, other, late} {
		if m.list.Len() != 1 || m.link.Stats().Unsigned != 0 {
			t.Errorf("%s: %d blocks, %+v", m.name, m.list.Len(), m.link.Stats())
		}
	}
}

// TestRejectedEnds: the alarm about a rejected record ends when the record was
// replaced, removed or deleted, and with the link.
func TestRejectedEnds(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, c, n := context.Background(), thief(t, s), newNames("test", 4)
	m := keyed(t, s, "edge-a", false)
	later := func(r *aggregator.Record) {
		r.Block.Since, r.Block.Until = r.Block.Since.Add(time.Hour), r.Block.Until.Add(2*time.Hour)
	}
	rejected := func(prefix string) string {
		t.Helper()
		record := forged(t, prefix, 1, later)
		publishAs(t, c, prefix, record)
		m.eventually(t, "the alarm", func() bool { return m.alarmed("rejected/"+prefix) != "" })
		return record
	}
	const removed, deleted, stays = "203.0.113.8/32", "203.0.113.9/32", "203.0.113.10/32"
	for what, end := range map[string]func() string{
		"replaced": func() string {
			rejected(somewhere)
			m.blockByHand(t, somewhere)
			return somewhere
		},
		"removed": func() string {
			if err := c.FCall(ctx, function("replace"), n.publishKeys(), removed, rejected(removed), "", "").Err(); err != nil {
				t.Fatal(err)
			}
			return removed
		},
		"deleted, and read again": func() string {
			rejected(deleted)
			c.HDel(ctx, n.blocks, deleted)
			m.link.Resync()
			return deleted
		},
	} {
		prefix := end()
		m.eventually(t, "the end of the alarm: "+what, func() bool { return m.alarmed("rejected/"+prefix) == "" })
	}
	rejected(stays)
	m.stop()
	if m.alarmed("rejected/"+stays) != "" {
		t.Error("it is there after the link has ended")
	}
}

// TestRubbishIsRemoved: an unsigned record of which no node knows better goes
// after a minute, so that rubbish does not fill the list.
func TestRubbishIsRemoved(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	c := testConfig(s.Addr, "edge-a")
	c.Require, c.KeyFile = true, keyFile(t, keyOne)
	m := newMember(t, c)
	link, err := New(c, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	defer link.client.Close()
	ctx := t.Context()
	publishAs(t, thief(t, s), somewhere, forged(t, somewhere, 3, nil))
	if _, err := link.join(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	left := func(after time.Duration) int64 {
		t.Helper()
		if err := link.list.replaceWrong(ctx, began.Add(after)); err != nil {
			t.Fatal(err)
		}
		return s.Client().HLen(ctx, newNames("test", 4).blocks).Val()
	}
	for at := range 60 {
		if left(time.Duration(at)*time.Second) != 1 {
			t.Fatalf("removed after %d s: a node that knows better had no time", at)
		}
	}
	if left(63*time.Second) != 0 {
		t.Error("it is still there")
	}
	if link.stats.replaced.Load() != 1 {
		t.Error("not counted")
	}
}

// TestNotLaundered: an unsigned record that was accepted is not signed on its way
// back to an emptied Redis.
func TestNotLaundered(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, n := context.Background(), newNames("test", 4)
	m := keyed(t, s, "edge-a", false, keyOne)
	publishAs(t, thief(t, s), "198.51.100.1/32", forged(t, "198.51.100.1/32", 1, nil))
	m.eventually(t, "the block", func() bool { return m.blocked("198.51.100.1") != nil })
	m.eventually(t, "the alarm", func() bool { return strings.Contains(m.alarmed("unsigned/list"), "accepted here") })
	m.blockByHand(t, somewhere)
	m.eventually(t, "its MAC", func() bool { return signedIn(t, s, somewhere, keyOne) })
	if err := s.Client().Del(ctx, n.blocks, n.ends, n.stream, n.state, n.macs).Err(); err != nil {
		t.Fatal(err)
	}
	m.eventually(t, "both again", func() bool { return s.Client().HLen(ctx, n.blocks).Val() == 2 })
	if !signedIn(t, s, somewhere, keyOne) || s.Client().HExists(ctx, n.macs, "198.51.100.1/32").Val() {
		t.Error("the wrong one of the two is signed")
	}
	if m.list.Trust(netip.MustParsePrefix("198.51.100.1/32")).Signed {
		t.Error("the list calls it signed")
	}
}

// TestMACAlone: a MAC that is missing, cut, of another prefix or of another fleet
// is replaced by a node that has the record, and the digest stays.
func TestMACAlone(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, n, c := context.Background(), newNames("test", 4), thief(t, s)
	holder := keyed(t, s, "edge-a", true, keyOne)
	holder.blockByHand(t, somewhere)
	holder.blockByHand(t, "203.0.113.8/32")
	holder.eventually(t, "its MACs", func() bool { return signedIn(t, s, somewhere, keyOne) && signedIn(t, s, "203.0.113.8/32", keyOne) })
	mac := s.Client().HGet(ctx, n.macs, somewhere).Val()
	for name, spoil := range map[string]func(){
		"deleted":           func() { c.HDel(ctx, n.macs, somewhere) },
		"cut":               func() { c.HSet(ctx, n.macs, somewhere, mac[:20]) },
		"of another prefix": func() { c.HSet(ctx, n.macs, somewhere, s.Client().HGet(ctx, n.macs, "203.0.113.8/32").Val()) },
		"of a megabyte":     func() { c.HSet(ctx, n.macs, somewhere, strings.Repeat("x", 1<<20)) },
		"all deleted":       func() { c.Del(ctx, n.macs) },
	} {
		spoil()
		if signedIn(t, s, somewhere, keyOne) {
			t.Fatalf("%s: nothing was spoiled", name)
		}
		holder.link.Resync()
		holder.eventually(t, name+": the MAC again", func() bool {
			return signedIn(t, s, somewhere, keyOne) && signedIn(t, s, "203.0.113.8/32", keyOne)
		})
	}
	holder.eventually(t, "one list", func() bool { return holder.agreed(t, 2) })
}

// TestReplayOverTombstone: an old signed block in place of its tombstone comes
// back nowhere where the tombstone is known, and the tombstone returns.
func TestReplayOverTombstone(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	ctx, n, c := context.Background(), newNames("test", 4), thief(t, s)
	holder := keyed(t, s, "edge-a", true, keyOne)
	holder.blockByHand(t, somewhere)
	holder.eventually(t, "its MAC", func() bool { return signedIn(t, s, somewhere, keyOne) })
	block, mac := s.Client().HGet(ctx, n.blocks, somewhere).Val(), s.Client().HGet(ctx, n.macs, somewhere).Val()
	if _, ok := holder.list.Lift(netip.MustParsePrefix(somewhere), time.Now(), "by mistake", "edge-a"); !ok {
		t.Fatal("nothing to remove")
	}
	holder.eventually(t, "the tombstone", func() bool { return s.Client().HGet(ctx, n.blocks, somewhere).Val() != block })
	tombstone := s.Client().HGet(ctx, n.blocks, somewhere).Val()
	c.HSet(ctx, n.blocks, somewhere, block)
	c.HSet(ctx, n.macs, somewhere, mac)
	holder.link.Resync()
	holder.eventually(t, "the tombstone again", func() bool { return s.Client().HGet(ctx, n.blocks, somewhere).Val() == tombstone })
	if holder.blocked("203.0.113.7") != nil || !signedIn(t, s, somewhere, keyOne) {
		t.Error("the block came back")
	}
}

// TestTwoModes: a node that accepts unsigned records and one that does not have
// one digest, and do not write a record that they see differently in turns.
func TestTwoModes(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	accepts, requires := keyed(t, s, "edge-a", false, keyOne), keyed(t, s, "edge-b", true, keyOne)
	requires.blockByHand(t, somewhere)
	accepts.eventually(t, "the block", func() bool { return accepts.blocked("203.0.113.7") != nil })
	publishAs(t, thief(t, s), somewhere, forged(t, somewhere, 9, nil))
	for range 15 {
		accepts.link.Resync()
		requires.link.Resync()
		time.Sleep(200 * time.Millisecond) // there is no event to wait for: each may write at any time
	}
	if n := accepts.link.Stats().Published + requires.link.Stats().Replaced; n > 8 {
		t.Errorf("%d writes about one record in 3 s", n)
	}
	first, _ := accepts.link.list.mirror.Digest(0)
	requires.eventually(t, "one digest", func() bool {
		first, _ = accepts.link.list.mirror.Digest(0)
		second, _ := requires.link.list.mirror.Digest(0)
		return first == second
	})
}
