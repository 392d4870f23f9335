package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

// What a node's user wrote past the functions must not make their calls fail.

// tripped is a server whose keys somebody else wrote.
type tripped struct {
	*both
	now   time.Time // Redis' clock, and when it was read: a push that is 5 s off is refused
	read  time.Time
	slot  uint32
	width uint32
	keys  []string
}

func newTripped(t testing.TB, keys int) *tripped {
	b := newBoth(t, "tripped")
	now, err := b.node.Time(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	r := &tripped{both: b, now: now, read: time.Now(), width: 60}
	r.slot = uint32(now.Unix()) / r.width
	for i := range keys {
		r.keys = append(r.keys, fmt.Sprint("eg:{t/0}:k:", i))
	}
	return r
}

// raw writes as the node's user, without a function.
func (r *tripped) raw(args ...any) {
	r.t.Helper()
	if err := r.node.Do(context.Background(), args...).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// push has a node push a body for keys. It returns an answer for each.
func (r *tripped) push(node byte, p aggregator.Push, keys ...string) []aggregator.Answer {
	r.t.Helper()
	h := aggregator.NewHeader([8]byte{node}, r.now.Add(time.Since(r.read)), r.width)
	args := []any{string(h.Append(nil))}
	for range keys {
		args = append(args, string(p.AppendBody(nil)))
	}
	text, err := r.node.FCall(context.Background(), function("push"), append([]string{clockKey}, keys...), args...).Text()
	if err != nil {
		r.t.Fatalf("push: %v", err)
	}
	answers, err := aggregator.DecodeAnswers(text, len(keys))
	if err != nil {
		r.t.Fatalf("push: %v", err)
	}
	return answers
}

// breaks is each thing that may be in the place of a suspect.
func (r *tripped) breaks() map[string]func(key string) {
	ctx, id := context.Background(), string([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	ring := func(key, field string) []byte { return []byte(r.node.HGet(ctx, key, field).Val()) }
	head := func(key, field string, head uint32) {
		text := ring(key, field)
		binary.BigEndian.PutUint32(text[1:], head)
		r.raw("hset", key, field, text)
	}
	replaced := func(args ...any) func(string) {
		return func(key string) {
			if err := r.admin().Del(ctx, key).Err(); err != nil {
				r.t.Fatal(err)
			}
			if err := r.admin().Do(ctx, append([]any{args[0], key}, args[1:]...)...).Err(); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return map[string]func(key string){
		"a fleet's ring of 3 bytes":          func(key string) { r.raw("hset", key, "f", "abc") },
		"an empty ring":                      func(key string) { r.raw("hset", key, "f", "") },
		"a node's ring of 3 bytes":           func(key string) { r.raw("hset", key, id, "\x01bc") },
		"a ring that is a byte too long":     func(key string) { r.raw("hset", key, "f", append(ring(key, "f"), 0)) },
		"cells of three bytes":               func(key string) { r.raw("hset", key, "f", "\x03"+string(ring(key, "f"))[1:]) },
		"a node's ring in the fleet's place": func(key string) { r.raw("hset", key, "f", ring(key, id)) },
		"no fleet's ring":                    func(key string) { r.raw("hdel", key, "f") },
		"a node's head beyond the fleet's":   func(key string) { head(key, id, r.slot+1) },
		"a fleet's head at the end of time":  func(key string) { head(key, "f", 1<<32-1) },
		"a string":                           replaced("set", "x"),
		"a list":                             replaced("rpush", "x"),
		"a sorted set":                       replaced("zadd", 1, "x"),
		"a stream":                           replaced("xadd", "*", "f", "x"),
	}
}

// TestLibraryPassesOverABrokenSuspect: the other 199 keys of the call are
// counted, and when its nodes have pushed it whole, so is the broken one.
func TestLibraryPassesOverABrokenSuspect(t *testing.T) {
	t.Parallel()
	r := newTripped(t, 200)
	one := func(n uint16) aggregator.Push {
		return aggregator.Push{First: r.slot - 1, Sum: uint32(n) + 7, Counts: []uint16{7, n}}
	}
	count := uint16(20)
	r.push(1, one(count), r.keys...)
	r.push(2, one(count), r.keys...)
	for name, spoil := range r.breaks() {
		broken := r.keys[r.now.Nanosecond()%len(r.keys)]
		spoil(broken)
		count++
		r.push(1, aggregator.Push{First: r.slot, Sum: uint32(count) + 7, Counts: []uint16{count}}, r.keys...)
		for node := range byte(2) {
			answers := r.push(node+1, aggregator.Push{First: r.slot, Sum: uint32(count) + 7, Counts: []uint16{count}}, r.keys...)
			for i, a := range answers {
				if asked := a.Status&aggregator.StatusSendFull != 0; asked != (r.keys[i] == broken) {
					t.Fatalf("%s: key %d of node %d: status %d", name, i, node, a.Status)
				}
			}
			r.push(node+1, one(count), broken)
		}
		for i, a := range r.push(1, one(count), r.keys...) {
			if want := 2 * (uint32(count) + 7); a.Total != want || a.Status != 0 {
				t.Errorf("%s: key %d has %+v, want the total %d", name, i, a, want)
			}
		}
	}
}

// TestLibraryReportsWhatANodeDidNotCount: written past the functions, as a ring
// that reads well, and whose total alone is false.
func TestLibraryReportsWhatANodeDidNotCount(t *testing.T) {
	t.Parallel()
	r := newTripped(t, 1)
	ctx, key, id := context.Background(), r.keys[0], string([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	own := aggregator.Push{First: r.slot, Sum: 5, Counts: []uint16{5}}
	reconcile := aggregator.Push{First: r.slot, Counts: []uint16{0}}
	for _, total := range []byte{5, 4, 6, 255} {
		if err := r.admin().Del(ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
		r.push(1, own, key)
		ring := []byte(r.node.HGet(ctx, key, id).Val())
		ring[len(ring)-1] = total
		r.raw("hset", key, id, ring)
		want := uint8(0)
		if total > 5 {
			want = aggregator.StatusMore
		} else if total < 5 {
			want = aggregator.StatusSendFull
		}
		if a := r.push(1, own, key)[0]; a.Status != want {
			t.Errorf("a total of %d: status %d, want %d", total, a.Status, want)
		}
		if a := r.push(1, reconcile, key)[0]; a.Status != aggregator.StatusMore {
			t.Errorf("a total of %d: a reconcile of nothing has status %d", total, a.Status)
		}
	}
}

// TestLibraryReadsNoBrokenRing: what other functions than push read.
func TestLibraryReadsNoBrokenRing(t *testing.T) {
	t.Parallel()
	r := newTripped(t, 1)
	ctx, key := context.Background(), r.keys[0]
	for name, spoil := range r.breaks() {
		if err := r.admin().Del(ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
		r.push(1, aggregator.Push{First: r.slot, Sum: 5, Counts: []uint16{5}}, key)
		spoil(key)
		if err := r.node.FCallRO(ctx, function("split"), []string{key}, r.slot).Err(); err != nil {
			t.Errorf("%s: split: %v", name, err)
		}
		if err := r.node.FCall(ctx, function("forget"), []string{key}, r.slot, r.width).Err(); err != nil {
			t.Errorf("%s: forget: %v", name, err)
		}
		if a := r.push(1, aggregator.Push{First: r.slot, Sum: 6, Counts: []uint16{6}}, key)[0]; a.Total != 6 || a.ClearedBefore != r.slot {
			t.Errorf("%s: after it %+v", name, a)
		}
	}
}

// TestLibraryReadsAnyRing: no bytes in the place of rings make a call fail.
func TestLibraryReadsAnyRing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	r := newTripped(t, 4)
	r.quoted = fmt.Sprint("seed ", seed)
	ring := func(at int) string {
		text := make([]byte, at+68*(1+random.IntN(2))+3)
		for i := range text {
			text[i] = []byte{0, 0, 255, byte(random.Uint32())}[random.IntN(4)]
		}
		text[0] = byte(len(text) / 76)
		if random.IntN(10) == 0 {
			text = text[:random.IntN(len(text))]
		} else if random.IntN(2) == 0 {
			binary.BigEndian.PutUint32(text[1:], r.slot+uint32(random.IntN(140))-70)
		}
		return string(text)
	}
	for i := range 3000 {
		key := r.keys[random.IntN(len(r.keys))]
		for range random.IntN(3) {
			if random.IntN(2) == 0 {
				r.raw("hset", key, "f", ring(9))
			} else {
				r.raw("hset", key, []byte{byte(random.IntN(3)), 0, 0, 0, 0, 0, 0, 0}, ring(5))
			}
		}
		p := aggregator.Push{First: r.slot - uint32(random.IntN(60)), Sum: random.Uint32()}
		for range 1 + random.IntN(int(r.slot-p.First)+1) {
			p.Counts = append(p.Counts, uint16(random.IntN(1<<(8*(1+i%2)))))
		}
		r.push(byte(random.IntN(3)), p, r.keys...)
		ctx := context.Background()
		if err := r.node.FCallRO(ctx, function("split"), []string{key}, int(r.slot)-random.IntN(80)).Err(); err != nil {
			r.fail("split: %v", err)
		}
		if random.IntN(40) == 0 {
			if err := r.node.FCall(ctx, function("forget"), r.keys, int(r.slot)-random.IntN(80), r.width).Err(); err != nil {
				r.fail("forget: %v", err)
			}
		}
	}
}

// TestLibraryLooksAtTypesFirst: a call with a key of another type names it, and
// writes nothing.
func TestLibraryLooksAtTypesFirst(t *testing.T) {
	t.Parallel()
	b := newBoth(t, "types")
	ctx, names, now := context.Background(), newNames("t", 1), time.Now()
	_, record := randomRecord(t, rand.New(rand.NewPCG(1, 2)), now)
	for _, c := range []struct {
		function string
		keys     []string
		args     []any
	}{
		{"publish", names.publishKeys(), []any{now.UnixMilli(), "192.0.2.1/32", record, ""}},
		{"replace", names.publishKeys(), []any{"192.0.2.1/32", "x", record, ""}},
		{"beat", names.memberKeys(), []any{"edge-1/0", "{}", "16", "0", "0", "00000000"}},
		{"repair", []string{names.state}, []any{"0", strings.Repeat("0", 16), strings.Repeat("1", 16)}},
	} {
		for _, key := range c.keys {
			for _, other := range [][]any{{"set", key, "x"}, {"rpush", key, "x"}} {
				if err := b.admin().FlushAll(ctx).Err(); err != nil {
					t.Fatal(err)
				}
				if err := b.admin().Do(ctx, other...).Err(); err != nil {
					t.Fatal(err)
				}
				before := b.dump()
				err := b.node.FCall(ctx, function(c.function), c.keys, c.args...).Err()
				if err == nil || !strings.HasPrefix(err.Error(), "EDGEGUARD type: "+key+" ") || !strings.Contains(err.Error(), "delete it") {
					t.Errorf("%s, where %v was done: %v", c.function, other, err)
				}
				if b.dump() != before {
					t.Errorf("%s, where %v was done, wrote", c.function, other)
				}
			}
		}
		if err := b.admin().FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.node.FCall(ctx, function(c.function), c.keys, c.args...).Err(); err != nil {
			t.Errorf("%s: %v", c.function, err)
		}
	}
}

// TestLibraryCountsOnFromAnyState: numbers of the state that are none count as
// 0, and a stream that has had the greatest ID begins again.
func TestLibraryCountsOnFromAnyState(t *testing.T) {
	t.Parallel()
	b := newBoth(t, "state")
	ctx, names, now := context.Background(), newNames("t", 1), time.Now()
	bad := []string{"x", "", "-1", "nan", "inf", "1e300", "0x10", "9007199254740991", "9223372036854775807", "-9223372036854775808", strings.Repeat("9", 400)}
	for i, value := range bad {
		for j, field := range []string{"version", "d1", "d2", "tip"} {
			if err := b.node.HSet(ctx, names.state, field, value).Err(); err != nil {
				t.Fatal(err)
			}
			prefix := fmt.Sprintf("192.0.%d.%d/32", i, j)
			r := aggregator.Record{Block: edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Version: 1, Since: now, Until: now.Add(time.Hour)}}
			text, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			taken, err := b.node.FCall(ctx, function("publish"), names.publishKeys(), now.UnixMilli(), prefix, text, "").Int64Slice()
			if err != nil || !slices.Equal(taken, []int64{1}) {
				t.Fatalf("%s %q: %v, %v", field, value, taken, err)
			}
			answer, err := b.node.FCall(ctx, function("beat"), names.memberKeys(), "", "", "16", "0", "0", "").Slice()
			if err != nil {
				t.Fatalf("%s %q: %v", field, value, err)
			}
			version, digest := answer[2].(int64), answer[3].(string)
			if field == "version" && version < 1 || len(digest) != 16 {
				t.Errorf("%s %q: version %d, digest %q", field, value, version, digest)
			}
			done, err := b.node.FCall(ctx, function("repair"), []string{names.state}, version, digest, "0123456789abcdef").Int64()
			if err != nil || done != 1 {
				t.Errorf("%s %q: repaired %d, %v", field, value, done, err)
			}
		}
	}
	b.exhausted(names)
}

// exhausted: a stream takes no ID after the greatest.
func (b *both) exhausted(names names) {
	b.t.Helper()
	ctx, now := context.Background(), time.Now()
	const last = "18446744073709551615-18446744073709551615"
	if err := b.node.Do(ctx, "xadd", names.stream, last, "v", "1").Err(); err != nil {
		b.t.Fatal(err)
	}
	_, text := randomRecord(b.t, rand.New(rand.NewPCG(1, 2)), now)
	if err := b.node.FCall(ctx, function("publish"), names.publishKeys(), now.UnixMilli(), "198.51.100.1/32", text, "").Err(); err != nil {
		b.t.Fatal(err)
	}
	entries := b.admin().XRange(ctx, names.stream, "-", "+").Val()
	if len(entries) != 1 || entries[0].Values["p"] != "198.51.100.1/32" || entries[0].ID != b.node.HGet(ctx, names.state, "tip").Val() {
		b.t.Errorf("the stream has %v", entries)
	}
}

// TestInstallLoadsBoth: nodes' functions, and those of a replay.
func TestInstallLoadsBoth(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	ctx := context.Background()
	for _, step := range []struct{ was, missing string }{{"", ""}, {"same", ""}, {"same", replayName}, {"", LibraryName}, {"same", ""}} {
		if step.missing != "" {
			if err := s.Client().FunctionDelete(ctx, step.missing).Err(); err != nil {
				t.Fatal(err)
			}
		}
		done, err := Install(ctx, s.Client())
		if err != nil || len(done) != 1 || done[0].Was != step.was || len(done[0].Others) != 0 {
			t.Errorf("without %q: %+v, %v", step.missing, done, err)
		}
		if err := s.Client().FCall(ctx, replayName+"_clock", []string{clockKey}, claimed).Err(); err != nil {
			t.Error(err)
		}
	}
}
