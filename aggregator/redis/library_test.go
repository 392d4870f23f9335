package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
	"edgeguard/internal/redistwin"
	"edgeguard/ring"
)

// both runs every call on a real server, as a node's user, and on the
// reference, and fails where they differ.
type both struct {
	t         testing.TB
	node      *goredis.Client
	reference *redistwin.Redis
	began     time.Time
	past      []string // the newest calls, for the failure's text
	quoted    string   // what begins each failure: the seed
}

// newBoth starts a server with the library and a user "edge" with exactly the
// rights that the documentation gives a node.
func newBoth(t testing.TB, quoted string) *both {
	t.Helper()
	return newBothOf(t, quoted, fleetFull)
}

// newBothOf is newBoth with another bound of the fleet's list.
func newBothOf(t testing.TB, quoted string, full int) *both {
	t.Helper()
	b := newBothFrom(t, quoted, sourceOf(t, full))
	b.reference.Full = full
	return b
}

// newBothFrom is newBoth with another text of the library.
func newBothFrom(t testing.TB, quoted, source string) *both {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	ctx := context.Background()
	if err := server.Client().FunctionLoadReplace(ctx, source).Err(); err != nil {
		t.Fatal(err)
	}
	line := []any{}
	for word := range strings.FieldsSeq(strings.Replace(ACLLine("edge", "t"), "PASSWORD", "secret", 1)) {
		line = append(line, word)
	}
	if err := server.Client().Do(ctx, line...).Err(); err != nil {
		t.Fatal(err)
	}
	o := server.Options()
	o.Username, o.Password, o.Protocol, o.DisableIdentity = "edge", "secret", 2, true
	node := goredis.NewClient(o)
	t.Cleanup(func() { _ = node.Close() })
	return &both{t: t, node: node, reference: redistwin.New(), began: time.Now(), quoted: quoted}
}

// sourceOf is the library with another bound of the fleet's list.
func sourceOf(t testing.TB, full int) string {
	t.Helper()
	const stands = "local FULL = 2 ^ 18 "
	if strings.Count(LibrarySource, stands) != 1 || fleetFull != 1<<18 || redistwin.DefaultFull != fleetFull {
		t.Fatal("the library, this package and the reference have different bounds")
	}
	return strings.Replace(LibrarySource, stands, fmt.Sprintf("local FULL = %d ", full), 1)
}

// call compares one call's answers and returns them.
func (b *both) call(now time.Time, function string, keys, args []string) any {
	b.t.Helper()
	b.past = append(b.past, fmt.Sprintf("%s %q %q", function, keys, args))
	b.past = b.past[max(0, len(b.past)-8):]
	want, wantErr := b.reference.Call(now, LibraryName+"_"+function, keys, args)
	var list []any
	for _, a := range args {
		list = append(list, a)
	}
	call := b.node.FCall
	if function == "split" {
		call = b.node.FCallRO
	}
	got, err := call(context.Background(), LibraryName+"_"+function, keys, list...).Result()
	if wantErr != nil {
		if err == nil || !strings.HasPrefix(err.Error(), wantErr.Error()) {
			b.fail("the library returns %v, %v; the reference %v", got, err, wantErr)
		}
		return nil
	}
	if err != nil {
		b.fail("the library returns %v; the reference %v", err, want)
	}
	if function == "split" {
		got, want = pairs(got), pairs(want)
	}
	if x, y := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); x != y {
		b.fail("the library returns %s;\nthe reference %s", x, y)
	}
	return got
}

// claim makes both use the time that pushes claim.
func (b *both) claim() {
	b.t.Helper()
	if _, err := b.reference.Call(time.Time{}, replayName+"_clock", []string{clockKey}, []string{claimed}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.admin().Set(context.Background(), clockKey, claimed, 0).Err(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *both) fail(format string, args ...any) {
	b.t.Helper()
	b.t.Fatalf("%s: %s\nafter\n%s", b.quoted, fmt.Sprintf(format, args...), strings.Join(b.past, "\n"))
}

// pairs sorts a flat list of names and values by name: a hash has no order. Slots of one byte
// are written in two.
func pairs(flat any) []string {
	list, _ := flat.([]any)
	var out []string
	for ; len(list) >= 2; list = list[2:] {
		value := list[1]
		if slots, ok := value.(string); ok && len(slots) == ring.Slots {
			var wide []byte
			for _, n := range []byte(slots) {
				wide = append(wide, 0, n)
			}
			value = string(wide)
		}
		out = append(out, fmt.Sprintf("%q %v", list[0], value))
	}
	slices.Sort(out)
	return out
}

const clockKey = "eg:{t/0}:c"

// script is a random sequence of calls about a few suspects.
type script struct {
	*both
	r      *rand.Rand
	width  uint32
	now    time.Time
	keys   []string
	nodes  [][8]byte
	floors []string // that forget was called with
	big    bool     // counts near and beyond what a slot holds
}

func (s *script) slot() uint32 { return uint32(s.now.Unix() / int64(s.width)) }

// count is mostly small, sometimes one that needs two bytes or saturates.
func (s *script) count() uint16 {
	switch s.r.IntN(12) {
	case 0:
		return 0
	case 1:
		return uint16(200 + s.r.IntN(120))
	case 2:
		if s.big {
			return uint16(65535 - s.r.IntN(3)*20000)
		}
	}
	return uint16(s.r.IntN(30))
}

// push is one call with what one node reports of some suspects: fresh, late,
// early, short, full or a reconcile, with a claim that is right or wrong.
func (s *script) push() {
	node := s.nodes[s.r.IntN(len(s.nodes))]
	h := aggregator.NewHeader(node, s.now, s.width)
	if s.r.IntN(30) == 0 {
		h.Now += int64(s.r.IntN(20000) - 10000)
	}
	keys, args := []string{clockKey}, []string{string(h.Append(nil))}
	for _, i := range s.r.Perm(len(s.keys))[:1+s.r.IntN(len(s.keys))] {
		keys = append(keys, s.keys[i])
		args = append(args, s.body())
	}
	s.call(s.began, "push", keys, args)
}

func (s *script) body() string {
	n := 1 + s.r.IntN(3)
	if s.r.IntN(6) == 0 {
		n = 1 + s.r.IntN(60)
	}
	head := s.slot()
	switch s.r.IntN(8) {
	case 0:
		head -= uint32(s.r.IntN(12))
	case 1:
		head += uint32(s.r.IntN(4))
	case 2:
		head -= uint32(s.r.IntN(140))
	}
	if s.r.IntN(5) == 0 {
		return string((&aggregator.Push{First: head, Sum: uint32(s.r.IntN(400)), Counts: []uint16{0}}).AppendBody(nil))
	}
	p := aggregator.Push{First: head - uint32(n) + 1, Sum: uint32(s.r.IntN(400))}
	for range n {
		p.Counts = append(p.Counts, s.count())
	}
	return string(p.AppendBody(nil))
}

// step moves time on: mostly not at all, a slot, some, or past everything.
func (s *script) step() {
	steps := []int{0, 0, 0, 0, 1, 1, 1, 2, 7, 61, 200}[s.r.IntN(11)]
	if steps > 2 && s.r.IntN(4) > 0 {
		steps = 1
	}
	s.now = s.now.Add(time.Duration(steps) * time.Duration(s.width) * time.Second)
}

func (s *script) run(calls int) {
	for range calls {
		switch s.r.IntN(20) {
		case 0:
			floor := int(s.slot()) + s.r.IntN(70) - 66
			args := []string{strconv.Itoa(floor), strconv.Itoa(int(s.width))}
			if len(s.floors) > 0 && s.r.IntN(3) == 0 { // a floor that was set before, and a lower one in its place
				args = append(args, s.floors[s.r.IntN(len(s.floors))])
				args[0] = strconv.Itoa(floor - s.r.IntN(200))
			}
			s.floors = append(s.floors, args[0])
			s.call(s.began, "forget", s.keys[:1+s.r.IntN(len(s.keys))], args)
		case 1, 2, 3:
			end := int(s.slot()) + s.r.IntN(80) - 76
			args := []string{strconv.Itoa(end), "slots"}
			s.call(s.began, "split", []string{s.keys[s.r.IntN(len(s.keys))]}, args[:1+s.r.IntN(2)])
		default:
			s.push()
		}
		s.step()
	}
}

// TestLibraryIsReference drives both with the same random calls. The slots'
// time is claimed, as in a replay, and passes quickly; the server's does not move
// for the reference and hardly for the server, so that no key expires.
func TestLibraryIsReference(t *testing.T) {
	seed := rand.Uint64()
	b := newBoth(t, fmt.Sprintf("seed %d", seed))
	r := rand.New(rand.NewPCG(seed, 0))
	b.claim()
	for run := range 60 {
		s := &script{
			both: b, r: r, width: []uint32{1, 5, 60}[r.IntN(3)], big: run%3 == 0,
			now: time.Unix(1_700_000_000+int64(r.IntN(100_000)), 0),
		}
		b.quoted = fmt.Sprintf("seed %d, run %d", seed, run)
		for i := range 1 + r.IntN(3) {
			s.keys = append(s.keys, fmt.Sprintf("eg:{t/0}:k:%d/%d", run, i))
		}
		for range 1 + r.IntN(20) {
			var id [8]byte
			binary.BigEndian.PutUint64(id[:], r.Uint64())
			s.nodes = append(s.nodes, id)
		}
		s.run(80)
	}
}

// TestLibraryTime is the real clock's part: pushes whose time is wrong, and what a
// clock's key may hold beside "claimed".
func TestLibraryTime(t *testing.T) {
	b := newBoth(t, "time")
	ctx := context.Background()
	key := "eg:{t/0}:k:1"
	push := func(at time.Time) (string, error) {
		h := aggregator.NewHeader([8]byte{1}, at, 5)
		p := aggregator.Push{First: uint32(at.Unix() / 5), Sum: 1, Counts: []uint16{1}}
		return b.node.FCall(ctx, LibraryName+"_push", []string{clockKey, key}, string(h.Append(nil)), string(p.AppendBody(nil))).Text()
	}
	server := func() time.Time {
		now, err := b.node.Time(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	if _, err := push(server()); err != nil {
		t.Fatal(err)
	}
	if ttl := b.ttl(key); ttl <= 0 || ttl > 350*time.Second {
		t.Fatalf("a suspect's life is %s", ttl)
	}
	for _, ahead := range []time.Duration{-time.Hour, -7 * time.Second, 7 * time.Second, time.Hour} {
		_, err := push(server().Add(ahead))
		if err == nil || !strings.HasPrefix(err.Error(), "EDGEGUARD clock 1") {
			t.Fatalf("%s ahead: %v", ahead, err)
		}
	}
	for _, set := range [][]any{{"set", clockKey, "3600000"}, {"hset", clockKey, "a", "b"}, {"rpush", clockKey, "claimed"}, {"set", clockKey, "claimed "}} {
		if err := b.admin().Do(ctx, "del", clockKey).Err(); err != nil {
			t.Fatal(err)
		}
		if err := b.admin().Do(ctx, set...).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := push(server()); err != nil {
			t.Errorf("%q: %v", set, err)
		}
		if _, err := push(server().Add(time.Hour)); err == nil {
			t.Errorf("%q moves the clock", set)
		}
	}
	b.claim()
	if _, err := push(server().Add(time.Hour)); err != nil {
		t.Error(err)
	}
}

// TestLibraryClock: a node's user may not claim a namespace's clock, by any way.
func TestLibraryClock(t *testing.T) {
	b := newBoth(t, "clock")
	ctx := context.Background()
	if _, err := Install(ctx, b.admin()); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"SET":      b.node.Set(ctx, clockKey, claimed, 0).Err(),
		"function": b.node.FCall(ctx, replayName+"_clock", []string{clockKey}, claimed).Err(),
	} {
		if fault := (&Config{}).diagnose(err); fault.Kind != "permission" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := b.admin().Exists(ctx, clockKey).Val(); n != 0 {
		t.Error("the clock is set")
	}
}

func (b *both) ttl(key string) time.Duration {
	var ttl time.Duration
	_, err := b.node.Ping(context.Background()).Result()
	if err == nil {
		ttl, err = b.admin().TTL(context.Background(), key).Result()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return ttl
}

// admin returns a client that may do everything.
func (b *both) admin() *goredis.Client {
	o := *b.node.Options()
	o.Username, o.Password, o.Dialer = "", "", nil
	c := goredis.NewClient(&o)
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}

// dump returns all keys and their values.
func (b *both) dump() string {
	ctx, admin := context.Background(), b.admin()
	keys := admin.Keys(ctx, "*").Val()
	slices.Sort(keys)
	var out strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&out, "%q %q\n", k, admin.Dump(ctx, k).Val())
	}
	return out.String()
}
