package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

// randomRecord is the wire form of a block, with a few values each, so that
// records often meet one that differs in one thing only.
func randomRecord(t testing.TB, r *rand.Rand, now time.Time) (prefix, text string) {
	t.Helper()
	p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(12))}), 32)
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	block := aggregator.Record{Block: edgeguard.Block{
		Prefix: p, Rule: pick("site", "login", "log"), Origin: pick("edge-1", "edge-2"), Reason: pick("", "over limit", "über"),
		Count: uint32(r.IntN(3)), Limit: 1900, Version: uint64(1 + r.IntN(2)), Lifted: r.IntN(4) == 0, Allow: r.IntN(4) == 0,
		Since: now.Add(-time.Hour), Until: now.Add([]time.Duration{-300, 600, 600, 600, 1200}[r.IntN(5)] * time.Second).Add(time.Duration(r.IntN(4)) * 500 * time.Millisecond),
	}, Forced: r.IntN(2) == 0, Retention: 100 * time.Second}
	text, err := block.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return p.String(), text
}

// stateOf is a heartbeat's answer without what depends on the server's clock.
func stateOf(t testing.TB, answer any) string {
	t.Helper()
	list, ok := answer.([]any)
	if !ok || len(list) < 14 {
		t.Fatalf("beat: %q", answer)
	}
	var beats []string
	for some := range slices.Chunk(list[14:], 3) {
		beats = append(beats, fmt.Sprint(some...))
	}
	slices.Sort(beats)
	return fmt.Sprintf("version %v digest %v, empty tip: %t, unborn: %t, beats %q", list[2], list[3], list[5] == "", list[6] == "", beats)
}

// randomMAC is mostly one of a few MACs, so that a record often gets the one
// that it has.
func randomMAC(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return ""
	}
	return strings.Repeat(strconv.Itoa(r.IntN(2)), 21)
}

// publishRandom publishes some random records, some of them broken.
func (b *both) publishRandom(r *rand.Rand, names names, now time.Time) {
	b.t.Helper()
	args := []string{strconv.FormatInt(now.UnixMilli(), 10)}
	for range 1 + r.IntN(4) {
		prefix, text := randomRecord(b.t, r, now)
		switch old, known := b.reference.Blocks(names.blocks)[prefix]; {
		case r.IntN(20) == 0:
			text = text[:r.IntN(len(text))]
		case r.IntN(20) == 0:
			text += strings.Repeat("x", 1024)
		case known && r.IntN(3) == 0:
			text = old
		}
		args = append(args, prefix, text, randomMAC(r))
	}
	b.call(now, "publish", names.publishKeys(), args)
}

// replaceRandom replaces some records, mostly by naming what is there.
func (b *both) replaceRandom(r *rand.Rand, names names, now time.Time) {
	b.t.Helper()
	var args []string
	for range 1 + r.IntN(3) {
		prefix, text := randomRecord(b.t, r, now)
		bad := b.reference.Blocks(names.blocks)[prefix]
		switch r.IntN(8) {
		case 0:
			bad += "x"
		case 1:
			bad = text
		case 2:
			text = text[:r.IntN(len(text))]
		case 3:
			text = ""
		}
		args = append(args, prefix, bad, text, randomMAC(r))
	}
	b.call(now, "replace", names.publishKeys(), args)
}

// TestLibraryBlocksAreReference publishes and replaces random records on both, and
// compares what is accepted, the records, their MACs, version and digest.
func TestLibraryBlocksAreReference(t *testing.T) {
	timed := newBeats(t)
	b, r, now, ctx, names := timed.both, timed.r, timed.now, context.Background(), newNames("t", 1)
	for range 300 {
		b.publishRandom(r, names, now)
		b.replaceRandom(r, names, now)
		b.call(now, "repair", []string{names.state}, []string{strconv.Itoa(r.IntN(3)), "0000000000000000", "0123456789abcdef"})
		beat := []string{fmt.Sprintf("edge-%d/0123456789abcdef", r.IntN(3)), fmt.Sprintf(`{"n": %d}`, r.IntN(9)), "16", "0", "0", ""}
		want, err := b.reference.Call(now, LibraryName+"_beat", names.memberKeys(), beat)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.node.FCall(ctx, LibraryName+"_beat", names.memberKeys(), beat[0], beat[1], beat[2], beat[3], beat[4], beat[5]).Result()
		if err != nil {
			t.Fatal(err)
		}
		if x, y := stateOf(t, got), stateOf(t, want); x != y {
			b.fail("the heartbeat returns %s;\nthe reference's %s", x, y)
		}
	}
	b.compareBlocks(names)
	b.compareStream(names)
}

// compareBlocks compares the records with the reference's.
func (b *both) compareBlocks(names names) {
	b.t.Helper()
	stored, kept := b.node.HGetAll(context.Background(), names.blocks).Val(), b.reference.Blocks(names.blocks)
	if x, y := fmt.Sprintf("%q", stored), fmt.Sprintf("%q", kept); x != y || len(stored) == 0 {
		b.fail("the library has %s;\nthe reference %s", x, y)
	}
	stored, kept = b.node.HGetAll(context.Background(), names.macs).Val(), b.reference.MACs(names.blocks)
	if x, y := fmt.Sprintf("%q", stored), fmt.Sprintf("%q", kept); x != y {
		b.fail("the library has the MACs %s;\nthe reference %s", x, y)
	}
}

// compareStream compares the stream's entries with the reference's.
func (b *both) compareStream(names names) {
	b.t.Helper()
	entries, err := b.admin().XRange(context.Background(), names.stream, "-", "+").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	changes := b.reference.Stream(names.blocks)
	if len(entries) != len(changes) || len(entries) == 0 {
		b.fail("the stream has %d entries, the reference's %d", len(entries), len(changes))
	}
	for i, e := range entries {
		c := changes[i]
		if mac, _ := e.Values["m"].(string); mac != c.MAC {
			b.fail("entry %d is %q, the reference's MAC %q", i, e.Values, c.MAC)
		}
		if e.Values["v"] != strconv.FormatInt(c.Version, 10) || e.Values["p"] != c.Prefix || e.Values["r"] != c.Record || (e.Values["d"] == "1") != c.Gone {
			b.fail("entry %d is %q, the reference's %d %s %q", i, e.Values, c.Version, c.Prefix, c.Record)
		}
	}
}

// TestLibraryForgetsEnded: more ended records than one call removes go in
// several. No digest is returned until they have, and then it is that of no
// record.
func TestLibraryForgetsEnded(t *testing.T) {
	b := newBoth(t, "ended")
	names, now := newNames("t", 1), time.Now()
	// A node whose clock is behind sends them: by its time they have not ended.
	args := []string{strconv.FormatInt(now.Add(-time.Hour).UnixMilli(), 10)}
	for i := range 450 {
		r := aggregator.Record{Block: edgeguard.Block{
			Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32),
			Rule:   "site", Version: 1, Since: now.Add(-time.Hour), Until: now.Add(-time.Minute),
		}}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, r.Block.Prefix.String(), text, "")
	}
	b.call(now, "publish", names.publishKeys(), args)
	digests := []string{}
	for range 3 {
		answer, err := b.node.FCall(context.Background(), LibraryName+"_beat", names.memberKeys(), "", "", "16", "0", "0", "").Slice()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, answer[3].(string))
	}
	if want := []string{"", "", "0000000000000000"}; !slices.Equal(digests, want) {
		t.Fatalf("digests %q, want %q", digests, want)
	}
	if left := len(b.admin().HGetAll(context.Background(), names.blocks).Val()); left != 0 {
		t.Fatalf("%d records are left", left)
	}
}

// TestLibraryPartitions: the first heartbeat of a namespace sets the number of
// partitions, and another number is refused.
func TestLibraryPartitions(t *testing.T) {
	b := newBoth(t, "partitions")
	ctx, names := context.Background(), newNames("t", 1)
	if err := b.node.FCall(ctx, LibraryName+"_beat", names.memberKeys(), "a/0", "{}", "16", "0", "0", "").Err(); err != nil {
		t.Fatal(err)
	}
	before := b.dump()
	err := b.node.FCall(ctx, LibraryName+"_beat", names.memberKeys(), "b/0", "{}", "32", "0", "0", "").Err()
	if err == nil || err.Error() != "EDGEGUARD partitions 16" {
		t.Fatalf("another number of partitions: %v", err)
	}
	if b.dump() != before {
		t.Fatal("a refused heartbeat is stored")
	}
}

// TestLibraryOldHeartbeats: a heartbeat older than an hour is no longer
// returned.
func TestLibraryOldHeartbeats(t *testing.T) {
	b := newBoth(t, "beats")
	ctx, names := context.Background(), newNames("t", 1)
	old := strconv.FormatInt(time.Now().Add(-2*time.Hour).Unix(), 10) + " {}"
	if err := b.admin().HSet(ctx, names.nodes, "gone/0", old).Err(); err != nil {
		t.Fatal(err)
	}
	answer, err := b.node.FCall(ctx, LibraryName+"_beat", names.memberKeys(), "here/0", "{}", "16", "0", "0", "").Slice()
	if err != nil || fmt.Sprint(answer[14:]) != "[here/0 1 {}]" {
		t.Fatalf("%q, %v", answer, err)
	}
}

// TestLibraryInvalidData: what other clients wrote in place of a heartbeat or a
// record makes no call fail, and is replaced.
func TestLibraryInvalidData(t *testing.T) {
	b := newBoth(t, "rubbish")
	ctx, names, admin := context.Background(), newNames("t", 1), b.admin()
	now := time.Now()
	for _, value := range []string{"", "x", "{}", "x {}", " {}"} {
		if err := admin.HSet(ctx, names.nodes, "other/0", value).Err(); err != nil {
			t.Fatal(err)
		}
		answer, err := b.node.FCall(ctx, LibraryName+"_beat", names.memberKeys(), "here/0", "{}", "16", "0", "0", "").Slice()
		if err != nil || fmt.Sprint(answer[14:]) != "[here/0 1 {}]" {
			t.Errorf("beside a beat %q: %q, %v", value, answer, err)
		}
	}
	for i, old := range []string{"", "x", "\xff", "\x01\x00", strings.Repeat("\xff", 1025)} {
		prefix := fmt.Sprintf("192.0.2.%d/32", i)
		r := aggregator.Record{Block: edgeguard.Block{
			Prefix: netip.MustParsePrefix(prefix), Rule: "site", Version: 1, Since: now, Until: now.Add(time.Hour),
		}}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.HSet(ctx, names.blocks, prefix, old).Err(); err != nil {
			t.Fatal(err)
		}
		taken, err := b.node.FCall(ctx, LibraryName+"_publish", names.publishKeys(), now.UnixMilli(), prefix, text, "").Int64Slice()
		if err != nil || !slices.Equal(taken, []int64{1}) {
			t.Errorf("over %q: %v, %v", old, taken, err)
		}
	}
}
