package aggregator

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

var start = time.Unix(1_800_000_000, 0)

func at(after time.Duration) time.Time { return start.Add(after) }

func evidenceKey(i int) Key {
	return Key{Meter: 7, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}), 32)}
}

// judge knows the nodes a and b, and is the node o.
func judge() SplitJudge {
	return SplitJudge{Own: id("o"), Known: func(one [8]byte) bool { return one == id("a") || one == id("b") }}
}

func id(name string) [8]byte { return [8]byte([]byte(strings.Repeat(name, 8))) }

func field(name string, count uint32) SplitField {
	return SplitField{Name: strings.Repeat(name, 8), Count: count}
}

// Only nodes with heartbeats count, this node with no more than it claims, and of
// several windows the one with most of that.
func TestWhatCounts(t *testing.T) {
	a, b, o, x := field("a", 10), field("b", 20), field("o", 30), field("x", 1000)
	for _, test := range []struct {
		name   string
		splits [][]SplitField
		own    uint32
		want   SplitSum
	}{
		{"none", [][]SplitField{nil}, 99, SplitSum{}},
		{"nodes", [][]SplitField{{a, b, o}}, 99, SplitSum{Counted: 60, Fields: []SplitField{a, b, o}}},
		{"more than this node claims", [][]SplitField{{a, o}}, 5, SplitSum{Counted: 15, Fields: []SplitField{a, field("o", 5)}}},
		{"a stranger", [][]SplitField{{x, a, field("y", 7)}}, 99, SplitSum{Counted: 10, Fields: []SplitField{a}, Stranger: x}},
		{"a name that no node has", [][]SplitField{{{Name: "f", Count: 9}, {Count: 3}, {Name: strings.Repeat("a", 9), Count: 8}}}, 99, SplitSum{Stranger: SplitField{Name: "f", Count: 9}}},
		{"the best window", [][]SplitField{{x, a}, {a, b}, {b}}, 99, SplitSum{Counted: 30, Fields: []SplitField{a, b}, At: 1}},
		{"a sum that saturates", [][]SplitField{{field("a", math.MaxUint32), b}}, 99, SplitSum{Counted: math.MaxUint32, Fields: []SplitField{field("a", math.MaxUint32), b}}},
	} {
		if got := judge().GreatestSum(test.splits, test.own); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		if got := judge().Strange(test.splits); got != (test.want.Stranger != SplitField{} || test.name == "the best window") {
			t.Errorf("%s: strange %v", test.name, got)
		}
	}
}

// What is no field of a split is passed over.
func TestFields(t *testing.T) {
	answer := []any{"a", int64(3), "b", "4", 5, int64(6), "c", int64(0), "d", int64(-1), "e", int64(1 << 32), "g", int64(math.MaxUint32), "odd"}
	want := []SplitField{{Name: "a", Count: 3}, {Name: "g", Count: math.MaxUint32}}
	if got := SplitFields(answer); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The windows of a peak: those that a late push reaches, and as many as clocks may
// differ, on both sides.
func TestAround(t *testing.T) {
	for width, want := range map[uint32][2]uint32{0: {986, 1006}, 1: {986, 1006}, 5: {990, 1002}, 60: {991, 1001}} {
		heads := HeadsAround(1000, width)
		if heads[0] != want[0] || heads[len(heads)-1] != want[1] || len(heads) != int(want[1]-want[0])+1 {
			t.Errorf("width %d: %v, want %v", width, heads, want)
		}
	}
}

// A doubt alarms when it has lasted for longer than a node takes to be known, and
// is over when the total is proven or a minute has passed without it.
func TestDoubts(t *testing.T) {
	var d Doubts
	see := func(k int, now time.Duration) {
		d.NoteStranger(evidenceKey(k), SplitField{Name: "\x1b[2Jabcd", Count: 1000}, at(now))
	}
	due := func(when string, now time.Duration, again int, alarms string) {
		t.Helper()
		keys, _, text := d.due(at(now), nobody)
		if len(keys) != again || !strings.Contains(text, alarms) || (text == "") != (alarms == "") {
			t.Errorf("%s: %d to look at again, %q; want %d, %q", when, len(keys), text, again, alarms)
		}
	}
	due("nothing", 0, 0, "")
	see(1, 0)
	due("just seen", time.Second, 0, "")
	due("after a heartbeat", 2*time.Second, 1, "")
	due("asked", 3*time.Second, 0, "")
	see(1, 4*time.Second)
	see(2, 4*time.Second)
	see(1, 9*time.Second)
	due("explained, perhaps", 10*time.Second, 1, "")
	see(1, 10*time.Second)
	due("not explained", 10*time.Second, 0, "203.0.0.1/32 over its limit by counts that no node made (1000 in the field 1b5b324a61626364)")
	see(2, 14*time.Second)
	due("the same key is named", 15*time.Second, 1, "203.0.0.1/32")
	d.Settle(evidenceKey(1))
	due("the other one is", 15*time.Second, 0, "203.0.0.2/32")
	due("a minute without it", 74*time.Second, 0, "")
}

// alarms are the alarms that are active.
type alarms map[string]string

func (a alarms) Alarm(kind, about, text string) { a[kind+" "+about] = text }
func (a alarms) Calm(kind, about string)        { delete(a, kind+" "+about) }

// nobody is the nodes of a fleet that has none.
func nobody([8]byte) bool { return false }

// TestLateHeartbeat: all keys that waited for a node to be known are looked at as soon as it
// is, however many they are, and the others are not.
func TestLateHeartbeat(t *testing.T) {
	var d Doubts
	late, invented := SplitField{Name: "edge-lat", Count: 100}, SplitField{Name: "edge-inv", Count: 100}
	for i := range 3 * mostAgain {
		d.NoteStranger(evidenceKey(i), late, start)
		d.NoteStranger(evidenceKey(-1-i), invented, start)
	}
	known := func(id [8]byte) bool { return string(id[:]) == late.Name }
	again, explained := d.Report(at(0), known, alarms{})
	if len(again) != 0 || len(explained) != 3*mostAgain {
		t.Errorf("%d to look at again, %d explained", len(again), len(explained))
	}
	for _, k := range explained {
		d.Settle(k)
	}
	if again, explained = d.Report(at(looksAgain), known, alarms{}); len(again) != mostAgain || len(explained) != 0 {
		t.Errorf("%d to look at again, %d explained", len(again), len(explained))
	}
}

func TestDoubtsReport(t *testing.T) {
	var d Doubts
	active := alarms{}
	d.NoteStranger(evidenceKey(1), SplitField{}, start)
	d.NoteStranger(evidenceKey(1), SplitField{}, at(evidenceExplains))
	if again, _ := d.Report(at(evidenceExplains+looksAgain), nobody, active); len(again) != 1 || active["forged strangers"] == "" {
		t.Errorf("%v, %v", again, active)
	}
	if again, _ := d.Report(at(evidenceExplains+forgets), nobody, active); len(again) != 0 || len(active) != 0 {
		t.Errorf("%v, %v", again, active)
	}
}

// Who raises the counts of very many clients fills no memory, and has few looked at
// in one call.
func TestDoubtsAreBounded(t *testing.T) {
	var d Doubts
	for i := range 2 * mostDoubts {
		d.NoteStranger(evidenceKey(i), SplitField{}, start)
	}
	again, _, _ := d.due(at(looksAgain), nobody)
	if len(d.known) != mostDoubts || len(again) != mostAgain {
		t.Errorf("%d known, %d to look at again", len(d.known), len(again))
	}
	d.NoteStranger(evidenceKey(0), SplitField{}, at(time.Minute)) // a known one is still seen
	d.NoteStranger(evidenceKey(0), SplitField{}, at(2*time.Minute-1))
	if _, _, text := d.due(at(2*time.Minute-1), nobody); len(d.known) != 1 || !strings.Contains(text, "a total without nodes") {
		t.Errorf("%d known, %q", len(d.known), text)
	}
}

func TestBudget(t *testing.T) {
	var b SplitBudget
	taken := func(now time.Duration) int {
		return b.TakeReads(2*eachSecond, eachSecond, at(now))
	}
	if b.TakeReads(eachSecond-10, eachSecond, start) != eachSecond-10 || b.TakeReads(11, eachSecond-10, start) != 0 {
		t.Error("a second's splits")
	}
	if n := taken(999 * time.Millisecond); n != 10 {
		t.Errorf("%d more in the second, want 10", n)
	}
	if n := taken(time.Second); n != eachSecond {
		t.Errorf("%d in the next, want %d", n, eachSecond)
	}
	if n := taken(0); n != eachSecond {
		t.Errorf("%d after a step back, want %d", n, eachSecond)
	}
}

// A node that was killed is evidence for as long as its counts are in a window, the
// slots included by which a push may be late.
func TestRemembered(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{time.Minute: 85 * time.Second, time.Hour: 75*time.Minute + 10*time.Second} {
		if late := window * Kept / 60; SplitRemembered(window) != want || want < late+2*time.Second || SplitSince(start, window) != at(-want) {
			t.Errorf("%v: %v, want %v", window, SplitRemembered(window), want)
		}
	}
}

// What a split says never panics, and never counts more than its fields.
func FuzzMost(f *testing.F) {
	f.Add("aaaaaaaa", int64(3), "x", int64(9))
	f.Fuzz(func(t *testing.T, one string, n int64, other string, m int64) {
		fields := SplitFields([]any{one, n, other, m})
		s := judge().GreatestSum([][]SplitField{fields}, 5)
		if uint64(s.Counted) > uint64(max(n, 0))+uint64(max(m, 0)) {
			t.Errorf("%+v of %v", s, fields)
		}
		_ = fmt.Sprint(s.Stranger)
	})
}

// Of keys that very many nodes count, each of them looks at few in a second.
func TestSplitsOfManyFields(t *testing.T) {
	for fields, want := range map[int][2]int{0: {70_422, 1000}, 5: {8695, 1000}, 50: {163, 40}, 1000: {1, SplitWindows}} {
		if first, again := SplitsFor(fields); first != want[0] || again != want[1] {
			t.Errorf("%d fields: %d and %d splits a second, want %d", fields, first, again, want)
		}
	}
}
