package fleet

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func outboxPrefix(i int) netip.Prefix {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24|uint32(i))
	return netip.PrefixFrom(netip.AddrFrom4(b), 32)
}

func byRule(i int) Change {
	return Change{Block: edgeguard.Block{Prefix: outboxPrefix(i), Rule: "flood"}}
}

// list is a node's list as an outbox sees it: what each block refused.
type list map[netip.Prefix]uint32

func (l list) refused(p netip.Prefix) (uint32, bool) {
	n, ok := l[p]
	return n, ok
}

// TestOperatorsFirst: what no rule made goes in its order and without pace.
func TestOperatorsFirst(t *testing.T) {
	l := list{}
	o := NewPacedQueue(PublishPace, l.refused)
	for i := range 1000 {
		l[outboxPrefix(i)] = 0
		o.Add(byRule(i))
	}
	want := []Change{
		{Block: edgeguard.Block{Prefix: outboxPrefix(5), Rule: "flood", Lifted: true}},
		{Block: edgeguard.Block{Prefix: outboxPrefix(2000), Rule: edgeguard.ManualRule}},
		{Block: edgeguard.Block{Prefix: outboxPrefix(2001), Allow: true}},
		{Block: edgeguard.Block{Prefix: outboxPrefix(2002), Rule: "flood"}, Trust: blocklist.Trust{Forced: true}},
		{Block: edgeguard.Block{Prefix: outboxPrefix(2000), Rule: edgeguard.ManualRule, Lifted: true}},
		{Block: edgeguard.Block{Prefix: outboxPrefix(2003), Rule: edgeguard.OwnerRule("f2b"), Batch: 7}},
	}
	if c := (Change{Block: edgeguard.Block{Rule: edgeguard.OwnerRule("f2b")}}); !c.IsPaced() {
		t.Error("a block that another program made goes as an operator's")
	}
	for _, c := range want {
		if !o.Add(c) {
			t.Fatal("no room")
		}
	}
	if o.Waits(outboxPrefix(5)) || !o.Waits(outboxPrefix(6)) || o.Waits(outboxPrefix(2000)) || o.Len() != 999+6 {
		t.Errorf("%d wait", o.Len())
	}
	if n := len(o.TakeNext(begin, 1000)); n != PublishPace {
		t.Errorf("%d blocks go", n)
	}
	if got := o.Operators(); !slices.Equal(got, want) || len(o.Operators()) != 0 {
		t.Errorf("got %v", got)
	}
	for i := range Operators {
		if !o.Add(want[i%len(want)]) {
			t.Fatalf("no room for %d", i)
		}
	}
	if o.Add(want[0]) || len(o.Operators()) != Operators || !o.Add(want[0]) {
		t.Error("what operators changed is not bounded")
	}
}

// TestPace: 200 in a moment, then 200 a second, whatever the clock does.
func TestOutboxPace(t *testing.T) {
	l := list{}
	o := NewPacedQueue(PublishPace, l.refused)
	for i := range 10_000 {
		l[outboxPrefix(i)] = 0
		o.Add(byRule(i))
	}
	now := begin
	for _, step := range []struct {
		after time.Duration
		most  int
		want  int
	}{
		{0, 10_000, PublishPace},
		{0, 10_000, 0},
		{4 * time.Millisecond, 10_000, 0},
		{time.Millisecond, 10_000, 1},
		{250 * time.Millisecond, 10_000, 50},
		{500 * time.Millisecond, 60, 60},
		{0, 60, 40},
		{-time.Hour, 60, 0},
		{time.Hour, 10_000, PublishPace},
		{24 * time.Hour, 10_000, PublishPace},
		{0, 0, 0},
		{0, -1, 0},
	} {
		now = now.Add(step.after)
		if got := len(o.TakeNext(now, step.most)); got != step.want {
			t.Errorf("%d of %d go after %v, want %d", got, step.most, step.after, step.want)
		}
	}
	o.Return(30)
	if got := len(o.TakeNext(now, 100)); got != 30 {
		t.Errorf("%d go after 30 were given back", got)
	}
	o.Return(1000)
	if got := len(o.TakeNext(now, 1000)); got != PublishPace {
		t.Errorf("%d go after 1000 were given back", got)
	}
}

// TestMostRefusedFirst: of 100,000 blocks the few hundred that refuse anything are
// out within the seconds that it takes to look at all once.
func TestMostRefusedFirst(t *testing.T) {
	const flood, hot = 100_000, 300
	l := list{}
	o := NewPacedQueue(PublishPace, l.refused)
	for i := range flood {
		l[outboxPrefix(i)] = 0
		o.Add(byRule(i))
	}
	for i := range hot {
		l[outboxPrefix(i*flood/hot)] = uint32(1 + i)
	}
	sent, now := 0, begin
	for turns := 0; sent < hot; turns++ {
		if turns > flood/outboxSample+hot/50 {
			t.Fatalf("%d of %d went in %d turns", sent, hot, turns)
		}
		for _, p := range o.TakeNext(now, 50) {
			if l[p] > 0 {
				sent++
			}
		}
		now = now.Add(250 * time.Millisecond)
	}
}

// naive is the same, written for reading: a set of prefixes that is sorted at
// each turn, and the moments at which blocks went.
type naive struct {
	list      list
	waiting   map[netip.Prefix]bool
	operators []Change
	unused    time.Duration
	last      time.Time
}

func (n *naive) add(c Change) {
	if c.ByRule() {
		n.waiting[c.Block.Prefix] = true
		return
	}
	delete(n.waiting, c.Block.Prefix)
	n.operators = append(n.operators, c)
}

// next returns how much each of the blocks that go has refused.
func (n *naive) next(now time.Time, most int) (refused []uint32) {
	for n.last.Before(now) && n.unused < time.Second {
		n.unused += time.Millisecond
		n.last = n.last.Add(time.Millisecond)
	}
	n.last = now
	for p := range n.waiting {
		if events, ok := n.list[p]; ok {
			refused = append(refused, events)
		}
	}
	slices.Sort(refused)
	slices.Reverse(refused)
	most = min(most, int(n.unused/(5*time.Millisecond)), len(refused))
	n.unused -= time.Duration(most) * 5 * time.Millisecond
	return refused[:most]
}

// live returns the prefixes that wait and that the list still has.
func (n *naive) live() map[netip.Prefix]bool {
	out := map[netip.Prefix]bool{}
	for p := range n.waiting {
		if _, ok := n.list[p]; ok {
			out[p] = true
		}
	}
	return out
}

// TestRandom compares the outbox with the naive one under random changes of a
// list: what waits, what goes and how much memory it takes.
func TestRandom(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		prefixes := 1 + random.IntN(400)
		l, now := list{}, begin
		o, n := NewPacedQueue(PublishPace, l.refused), &naive{list: l, waiting: map[netip.Prefix]bool{}, unused: time.Second, last: begin}
		for step := range 3000 {
			i := random.IntN(prefixes)
			p := outboxPrefix(i)
			switch random.IntN(12) {
			case 0: // evicted, or it ended
				delete(l, p)
			case 1:
				if _, ok := l[p]; ok {
					l[p] += uint32(random.IntN(5))
				}
			case 2: // another node published it
				o.DropBlock(p)
				delete(n.waiting, p)
			case 3:
				c := byRule(i)
				c.Block.Lifted = true
				o.Add(c)
				n.add(c)
				delete(l, p)
			case 4:
				if got := o.Operators(); !slices.Equal(got, n.operators) {
					t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, n.operators)
				}
				n.operators = nil
			case 5:
				now = now.Add(time.Duration(random.IntN(300)) * time.Millisecond)
				compareNext(t, fmt.Sprintf("seed %d, step %d", seed, step), o, n, now, random.IntN(60))
			default:
				if _, ok := l[p]; !ok {
					l[p] = 0
				}
				o.Add(byRule(i))
				n.add(byRule(i))
			}
			live := n.live()
			for p := range n.waiting { // what the list has lost may wait or not
				if live[p] != o.Waits(p) && live[p] {
					t.Fatalf("seed %d, step %d: %v does not wait", seed, step, p)
				}
			}
			if got := o.Len() - len(o.operators); got < len(live) || got > len(n.waiting) {
				t.Fatalf("seed %d, step %d: %d wait, not %d to %d", seed, step, got, len(live), len(n.waiting))
			}
		}
		// In the end all that the list has goes, once.
		live := n.live()
		for range 10 * prefixes {
			now = now.Add(time.Second)
			for _, p := range o.TakeNext(now, 50) {
				if !live[p] {
					t.Fatalf("seed %d: %v went", seed, p)
				}
				delete(live, p)
			}
		}
		if len(live) > 0 || o.queue.len() > 0 || len(o.waiting) > 0 {
			t.Fatalf("seed %d: left %v, %d in the queue", seed, slices.Collect(maps.Keys(live)), o.queue.len())
		}
	}
}

func compareNext(t *testing.T, when string, o *PacedQueue, n *naive, now time.Time, most int) {
	t.Helper()
	want := n.next(now, most)
	var got []uint32
	for _, p := range o.TakeNext(now, most) {
		events, ok := n.list[p]
		if !ok || !n.waiting[p] {
			t.Fatalf("%s: %v went", when, p)
		}
		got = append(got, events)
		delete(n.waiting, p)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s: refused %v, want %v", when, got, want)
	}
}

// TestBounded: a flood of blocks that the list does not keep, while nothing is
// sent, takes no more memory than twice what the list keeps.
func TestBounded(t *testing.T) {
	const keeps, flood = 1000, 200_000
	l := list{}
	o := NewPacedQueue(PublishPace, l.refused)
	for i := range flood {
		delete(l, outboxPrefix(i-keeps))
		l[outboxPrefix(i)] = 0
		o.Add(byRule(i))
		if o.Len() > 2*keeps || o.queue.len() > 2*keeps {
			t.Fatalf("%d wait, %d in the queue", o.Len(), o.queue.len())
		}
	}
	for i := range flood {
		o.DropBlock(outboxPrefix(i))
	}
	if o.Len() != 0 || len(o.queue.ring) != 0 {
		t.Errorf("%d wait, memory for %d", o.Len(), len(o.queue.ring))
	}
}

// BenchmarkNext is a turn while 100,000 blocks wait.
func BenchmarkNext(b *testing.B) {
	l := list{}
	o := NewPacedQueue(PublishPace, l.refused)
	for i := range 100_000 {
		l[outboxPrefix(i)] = uint32(i * 7919 % 1000)
		o.Add(byRule(i))
	}
	now := begin
	for b.Loop() {
		now = now.Add(250 * time.Millisecond)
		for _, p := range o.TakeNext(now, 50) {
			c := byRule(0)
			c.Block.Prefix = p
			o.Add(c)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	l := list{}
	o := NewPacedQueue(PublishPace, l.refused)
	i := 0
	for b.Loop() {
		p := outboxPrefix(i % 1_000_000)
		l[p] = 0
		o.Add(byRule(i % 1_000_000))
		i++
	}
}

// An operator's change is unsent until it was sent: also while it is on its way.
func TestUnsent(t *testing.T) {
	o := NewPacedQueue(PublishPace, list{}.refused)
	is := func(when string, want bool) {
		t.Helper()
		if o.Unsent() != want {
			t.Errorf("%s: unsent %v", when, !want)
		}
	}
	is("empty", false)
	o.Add(byRule(1))
	is("with a rule's block", false)
	o.Operators()
	is("when there was nothing to send", false)
	forced := Change{Block: edgeguard.Block{Prefix: outboxPrefix(2)}, Trust: blocklist.Trust{Forced: true}}
	o.Add(forced)
	is("with an operator's", true)
	o.Operators()
	is("on its way", true)
	o.Operators()
	is("still on its way", true)
	o.OperatorsSent()
	is("sent", false)
	o.Operators()
	o.Add(forced)
	o.OperatorsSent()
	is("with one that came since", true)
}
