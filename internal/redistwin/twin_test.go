package redistwin

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

const width = 5

var (
	start = time.Unix(1_700_000_000, 0)
	slot0 = uint32(start.Unix() / width)
)

// rig is a server with one key.
type rig struct {
	t *testing.T
	*Redis
}

func (r *rig) push(node string, now time.Time, first uint32, sum uint32, counts ...uint16) aggregator.Answer {
	r.t.Helper()
	p := aggregator.Push{First: first, Sum: sum, Counts: counts}
	h := aggregator.NewHeader(aggregator.NodeID(node, ""), now, width)
	out, err := r.Call(now, "edgeguard1_push", []string{"clock", "key"}, []string{string(h.Append(nil)), string(p.AppendBody(nil))})
	if err != nil {
		r.t.Fatal(err)
	}
	a, err := aggregator.DecodeAnswers(out.(string), 1)
	if err != nil {
		r.t.Fatal(err)
	}
	return a[0]
}

func (r *rig) want(a aggregator.Answer, status uint8, peak, total, floor uint32) {
	r.t.Helper()
	if want := (aggregator.Answer{Status: status, Peak: peak, Total: total, ClearedBefore: floor}); a != want {
		r.t.Errorf("answer %+v, want %+v", a, want)
	}
}

func after(slots int) time.Time { return start.Add(time.Duration(slots) * width * time.Second) }

func TestPushAddsNodesUpAndMergesByMaximum(t *testing.T) {
	r := &rig{t, New()}
	r.want(r.push("a", start, slot0, 3, 3), 0, 3, 3, 0)
	r.want(r.push("b", start, slot0, 4, 4), 0, 7, 7, 0)
	r.want(r.push("a", start, slot0, 3, 3), 0, 7, 7, 0)
	r.want(r.push("a", after(1), slot0, 9, 5, 4), 0, 13, 13, 0)
	r.want(r.push("a", start, slot0, 4, 4), aggregator.StatusMore, 13, 9, 0) // late and re-ordered: its own window has 5 and 4
	out, _ := r.Call(after(1), "edgeguard1_split", []string{"key"}, []string{fmt.Sprint(slot0 + 1)})
	a, b := aggregator.NodeID("a", ""), aggregator.NodeID("b", "")
	want := []any{string(a[:]), int64(9), string(b[:]), int64(4)}
	if b := string(b[:]); b < want[0].(string) {
		want = []any{b, int64(4), want[0], int64(9)}
	}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("split %q, want %q", out, want)
	}
}

func TestPeakOfAWindowThatEndedBefore(t *testing.T) {
	r := &rig{t, New()}
	r.push("a", start, slot0, 10, 10)
	r.push("a", after(62), slot0+62, 1, 1)
	// In slot 59 both were in the window; 3 slots ago.
	r.want(r.push("b", after(62), slot0+59, 20, 20, 0, 0, 0), 0, 30, 21, 0)
	// A slot that none of the windows still kept holds with slot 0.
	r.want(r.push("b", after(62), slot0+60, 25, 5, 0, 0), 0, 26, 26, 0)
}

func TestFullPushIsRequestedAndRefusedSlotsAreReported(t *testing.T) {
	r := &rig{t, New()}
	r.want(r.push("a", after(2), slot0+2, 9, 4), aggregator.StatusSendFull, 4, 4, 0)
	r.want(r.push("a", after(2), slot0, 9, 5, 0, 4), 0, 9, 9, 0)
	// One slot ahead is taken, two are not.
	r.want(r.push("a", after(2), slot0+2, 15, 4, 5, 1), aggregator.StatusRefused|aggregator.StatusSendFull, 14, 14, 0)
	r.push("a", after(80), slot0+80, 1, 1)
	r.want(r.push("a", after(80), slot0+12, 3, 2, 1), aggregator.StatusRefused|aggregator.StatusSendFull, 1, 1, 0)
}

// TestMoreThanANodeClaims: whoever counted in a node's name is found by its next
// push, and by a reconcile of a key of which it has nothing.
func TestMoreThanANodeClaims(t *testing.T) {
	r := &rig{t, New()}
	r.push("a", start, slot0, 5, 5)
	r.want(r.push("a", start, slot0, 5, 5), 0, 5, 5, 0)
	r.push("a", start, slot0, 2000, 2000) // not by it
	r.want(r.push("a", start, slot0, 6, 6), aggregator.StatusMore, 2000, 2000, 0)
	r.want(r.push("a", after(1), slot0+1, 7, 1), aggregator.StatusMore, 2001, 2001, 0)
	r.want(r.push("a", after(1), slot0+1, 0, 0), aggregator.StatusMore, 2001, 2001, 0) // a reconcile
	r.want(r.push("b", after(1), slot0+1, 3, 3), 0, 2004, 2004, 0)
	r.want(r.push("a", after(61), slot0+61, 2, 2), 0, 2, 2, 0) // its window has passed
}

func TestAFieldIsKeptWhileAnyOfItsSlotsIs(t *testing.T) {
	r := &rig{t, New()}
	head := slot0/60*60 + 60 // a multiple, where old fields are dropped
	at := func(slot uint32) time.Time { return time.Unix(int64(slot)*width, 0) }
	r.push("old", at(head-67), head-67, 5, 5)
	r.push("new", at(head), head, 1, 1)
	if len(r.suspects["key"].nodes) != 2 {
		t.Fatal("dropped with a slot still kept")
	}
	r.push("old", at(head), head-67, 5, 5)
	if fleet, sum := r.Rings("key"); fleet != sum || fleet[0] != 5 {
		t.Errorf("fleet %v, sum %v", fleet, sum)
	}
	r.push("new", at(head+60), head+60, 1, 1)
	if len(r.suspects["key"].nodes) != 1 {
		t.Error("not dropped")
	}
}

func TestForgetSetsTheMark(t *testing.T) {
	r := &rig{t, New()}
	r.push("a", start, slot0, 5, 5)
	args := []string{fmt.Sprint(slot0 + 1), strconv.Itoa(width)}
	for _, want := range []int64{1, 0} {
		if n, err := r.Call(start, "edgeguard1_forget", []string{"key"}, args); n != want || err != nil {
			t.Errorf("forgot %v (%v), want %d", n, err, want)
		}
	}
	const floor = aggregator.StatusCleared
	r.want(r.push("a", start, slot0, 6, 6), floor|aggregator.StatusSendFull, 0, 0, slot0+1)
	r.want(r.push("a", after(1), slot0, 2, 6, 2), floor, 2, 2, slot0+1)
	r.want(r.push("a", after(61), slot0+61, 1, 1), 0, 1, 1, slot0+1)
}

// TestForgetTakesAMarkBack: a mark that no unblock explains goes only where
// exactly that is, and of one in the future the server's time is set.
func TestForgetTakesAMarkBack(t *testing.T) {
	r := &rig{t, New()}
	forget := func(want int64, args ...string) {
		t.Helper()
		if n, err := r.Call(start, "edgeguard1_forget", []string{"key"}, args); n != want || err != nil {
			t.Errorf("forget %v: %v (%v), want %d", args, n, err, want)
		}
	}
	mark := func(slots int) string { return fmt.Sprint(int(slot0) + slots) }
	forget(1, mark(4), strconv.Itoa(width))
	r.want(r.push("a", start, slot0, 5, 5), aggregator.StatusCleared|aggregator.StatusSendFull, 0, 0, slot0+3)
	forget(1, mark(2), strconv.Itoa(width), mark(3))
	forget(0, mark(0), strconv.Itoa(width), mark(1))
	r.want(r.push("a", start, slot0, 5, 5), aggregator.StatusCleared|aggregator.StatusSendFull, 0, 0, slot0+2)
	forget(1, "0", strconv.Itoa(width), mark(2))
	r.want(r.push("a", start, slot0, 5, 5), 0, 5, 5, 0)
}

func TestKeysEnd(t *testing.T) {
	r := &rig{t, New()}
	r.push("a", start, slot0, 5, 5)
	if _, sum := r.Clone().Rings("key"); sum == ([kept]uint32{}) {
		t.Error("the clone is empty")
	}
	r.want(r.push("a", start.Add(ttlSlots*width*time.Second-time.Second), slot0+69, 1, 1), 0, 1, 1, 0)
	r.Call(start.Add(time.Hour), "edgeguard1_split", []string{"key"}, []string{"1"})
	if len(r.suspects) != 0 {
		t.Error("still there after its time")
	}
}

func TestClock(t *testing.T) {
	r := &rig{t, New()}
	call := func(now, claims time.Time) error {
		h := aggregator.NewHeader([8]byte{}, claims, width)
		p := aggregator.Push{First: uint32(claims.Unix() / width), Sum: 1, Counts: []uint16{1}}
		_, err := r.Call(now, "edgeguard1_push", []string{"clock", "key"}, []string{string(h.Append(nil)), string(p.AppendBody(nil))})
		return err
	}
	if err := call(start, start.Add(-5*time.Second)); err != nil {
		t.Error(err)
	}
	var e Error
	if err := call(start, start.Add(5001*time.Millisecond)); !errors.As(err, &e) || e != Error(fmt.Sprintf("EDGEGUARD clock %d", start.UnixMilli())) {
		t.Error(err)
	}
	const function = "edgeguard1_replay_clock"
	for _, set := range []string{"claimed", ""} {
		if _, err := r.Call(start, function, []string{"clock"}, []string{set}); err != nil {
			t.Error(err)
		}
		if err := call(start, start.Add(time.Hour)); (err == nil) != (set == "claimed") {
			t.Errorf("%q: %v", set, err)
		}
	}
	if _, err := r.Call(start, function, []string{"clock"}, []string{"3600000"}); err == nil {
		t.Error("no error")
	}
}

var listKeys = []string{"blocks", "ends", "stream", "state", "macs"}

func record(t *testing.T, version uint64, until time.Time, change func(*edgeguard.Block)) string {
	t.Helper()
	b := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.45/32"), Rule: "site", Origin: "a", Version: version, Since: start, Until: until}
	if change != nil {
		change(&b)
	}
	r := aggregator.Record{Block: b, Retention: time.Minute}
	s, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPublish(t *testing.T) {
	end := start.Add(time.Minute)
	r := New()
	for _, c := range []struct {
		name   string
		record string
		want   int64
	}{
		{"the first", record(t, 1, end, nil), 1},
		{"again", record(t, 1, end, nil), 0},
		{"another node that crossed with it", record(t, 1, end.Add(time.Second), func(b *edgeguard.Block) { b.Origin = "b" }), 0},
		{"clearly longer", record(t, 1, end.Add(time.Second+1), nil), 1},
		{"less", record(t, 1, end, nil), 0},
		{"another rule", record(t, 1, end.Add(time.Second+2), func(b *edgeguard.Block) { b.Rule = "login" }), 1},
		{"a tombstone", record(t, 2, end, func(b *edgeguard.Block) { b.Lifted = true }), 1},
		{"a block after it, of its version", record(t, 2, end, nil), 0},
		{"an allowance of its version, that ends sooner", record(t, 2, end.Add(-1), func(b *edgeguard.Block) { b.Allow = true }), 1},
		{"another node's, made with it", record(t, 2, end.Add(-1), func(b *edgeguard.Block) { b.Allow, b.Origin = true, "b" }), 1},
		{"a tombstone of the block of its version", record(t, 2, end, func(b *edgeguard.Block) { b.Lifted = true }), 0},
		{"no record", "x", 0},
		{"too long", record(t, 9, end, nil) + strings.Repeat("x", 1024), 0},
	} {
		out, err := r.Call(start, "edgeguard1_publish", listKeys, []string{fmt.Sprint(start.UnixMilli()), "203.0.113.45/32", c.record, ""})
		if err != nil || !reflect.DeepEqual(out, []any{c.want}) {
			t.Errorf("%s: %v %v, want %d", c.name, out, err, c.want)
		}
	}
	if n := len(r.Stream("blocks")); n != 6 || len(r.Blocks("blocks")) != 1 {
		t.Errorf("%d changes, %d blocks", n, len(r.Blocks("blocks")))
	}
}

func TestHeartbeat(t *testing.T) {
	r := New()
	keys := []string{"nodes", "state", "ends", "blocks", "seen", "moved", "macs"}
	ledger := aggregator.NewLedger()
	var args []string
	for i := range 250 {
		p := fmt.Sprintf("10.0.0.%d/32", i)
		s := record(t, 1, start.Add(time.Duration(i)*time.Second+1), nil)
		args = append(args, p, s, "")
		ledger.Apply(p, s, aggregator.Judged{})
	}
	r.Call(start, "edgeguard1_publish", listKeys, slices.Concat([]string{fmt.Sprint(start.UnixMilli())}, args))
	beat := func(now time.Time, partitions string) []any {
		out, err := r.Call(now, "edgeguard1_beat", keys, []string{"edge-1/0", "{}", partitions, "0", "0", ""})
		if err != nil {
			return []any{err.Error()}
		}
		return out.([]any)
	}
	want := []any{start.Unix(), int64(0), int64(250), ledger.Digest(start.Unix()), start.Unix(), "250", fmt.Sprintf("%d.0", start.Unix()),
		int64(1), int64(0), int64(0), int64(0), int64(1), int64(0), int64(0), "edge-1/0", int64(1), "{}"}
	if got := beat(start, "16"); !reflect.DeepEqual(got, want) {
		t.Errorf("beat %v, want %v", got, want)
	}
	if got := beat(start, "8"); got[0] != "EDGEGUARD partitions 16" {
		t.Errorf("beat %v", got)
	}
	late := start.Add(60*time.Second + 230*time.Second)
	if got := beat(late, "16"); got[3] != "" {
		t.Errorf("digest %v with ended records left", got[3])
	}
	if got := beat(late, "16"); got[3] != ledger.Digest(late.Unix()) || ledger.Len() != 19 {
		t.Errorf("digest %v, want %v of %d", got[3], ledger.Digest(late.Unix()), ledger.Len())
	}
	if got := beat(late.Add(2*time.Hour), "16"); len(got) != 17 || got[6] != want[6] {
		t.Errorf("beat %v", got)
	}
}

func TestBadCalls(t *testing.T) {
	r := New()
	header := string(aggregator.NewHeader([8]byte{}, start, width).Append(nil))
	for _, c := range []struct {
		function   string
		keys, args []string
	}{
		{"edgeguard1_push", []string{"clock"}, []string{header}},
		{"edgeguard1_push", []string{"clock", "k"}, []string{header}},
		{"edgeguard1_push", []string{"clock", "k"}, []string{"short", "body"}},
		{"edgeguard1_push", []string{"clock", "k"}, []string{header, "body"}},
		{"edgeguard1_split", []string{"k"}, []string{"x"}},
		{"edgeguard1_forget", []string{"k"}, []string{"1", "0"}},
		{"edgeguard1_publish", listKeys, []string{"now"}},
		{"edgeguard1_publish", listKeys, []string{"1", "prefix"}},
		{"edgeguard1_beat", listKeys, nil},
		{"edgeguard2_push", nil, nil},
	} {
		if out, err := r.Call(start, c.function, c.keys, c.args); err == nil {
			t.Errorf("%s %q %q: %v", c.function, c.keys, c.args, out)
		}
	}
	if len(r.suspects) != 0 {
		t.Error("a bad call left something")
	}
}
