package aggregator

import (
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard/shard"
)

const width = 5

var (
	visitor  = netip.MustParseAddr("203.0.113.45")
	stranger = netip.MustParseAddr("2001:db8::1")
	// boot is the beginning of a slot.
	boot = time.Unix(1_700_000_000, 0)
)

// bench is a node with one meter of limit 100, and its table.
type bench struct {
	t     testing.TB
	table *shard.Table
	*Totals
}

func newBench(t testing.TB, change func(*Config)) *bench {
	table := shard.New(shard.NewMemory(1<<22), shard.Config{Seed: 1})
	c := Config{Meters: []Meter{{Fingerprint: 7, Width: width, Limit: 100, Table: table}}, Boot: boot, Quiet: true, MaxNodes: 5}
	if change != nil {
		change(&c)
	}
	return &bench{t, table, New(c)}
}

func slotOf(t time.Time) uint32 { return uint32(t.Unix() / width) }

// hit counts n events of addr at a time and returns the rest that Count returned.
func (b *bench) hit(addr netip.Addr, at time.Time, n int) (rest uint32) {
	for range n {
		op := shard.Op{Addr: addr, Now: slotOf(at), Slot: slotOf(at), Cost: 1}
		rest = b.Count(0, &op, b.table.Add(&op).Count)
	}
	return rest
}

// Collect returns all that is to be pushed or, if full, all that there is.
func (b *bench) Collect(now time.Time, full bool) (all []Push) {
	for some := range b.Totals.Collect(now, 100) {
		all = append(all, some...)
	}
	if !full {
		return all
	}
	all = nil
	for i := range b.suspects {
		for _, id := range slices.Collect(maps.Keys(b.suspects[i].known)) {
			if p, ok := b.FullPush(b.keyOf(id), now); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// one expects one push, or none if want is empty.
func one(t *testing.T, pushes []Push, first uint32, sum uint32, want ...uint16) Push {
	t.Helper()
	if len(want) == 0 {
		if len(pushes) > 0 {
			t.Fatalf("pushes %+v: want none", pushes)
		}
		return Push{}
	}
	if len(pushes) != 1 || pushes[0].First != first || pushes[0].Sum != sum || !slices.Equal(pushes[0].Counts, want) {
		t.Fatalf("pushes %+v: want one from %d of %v, sum %d", pushes, first, want, sum)
	}
	return pushes[0]
}

func TestASuspectIsPushedFromItsShareOn(t *testing.T) {
	b := newBench(t, nil) // share: 100/2/5 = 10
	b.hit(visitor, boot, 9)
	one(t, b.Collect(boot, true), 0, 0)
	b.hit(visitor, boot, 1)
	p := one(t, b.Collect(boot, false), slotOf(boot), 10, 10)
	if want := (Key{Meter: 7, Prefix: netip.MustParsePrefix("203.0.113.45/32")}); p.Key != want || p.Width != width || !p.Full {
		t.Errorf("push %+v", p)
	}
	one(t, b.Collect(boot, false), slotOf(boot), 10, 10) // not answered
	b.Answered(&p, Answer{Peak: 10, Total: 10}, boot)
	one(t, b.Collect(boot, false), slotOf(boot), 10, 10) // that was the answer to an older one
	again := one(t, b.Collect(boot, false), slotOf(boot), 10, 10)
	b.Answered(&again, Answer{Peak: 10, Total: 10}, boot)
	one(t, b.Collect(boot, false), 0, 0)

	later := boot.Add(3 * width * time.Second)
	b.hit(visitor, later, 2)
	p = one(t, b.Collect(later, false), slotOf(boot), 12, 10, 0, 0, 2) // the acknowledged head may have grown since
	b.Answered(&p, Answer{Peak: 12, Total: 12}, later)
	b.hit(visitor, later, 1)
	one(t, b.Collect(later, false), 0, 0) // held back for the rest of the slot
	next := later.Add(width * time.Second)
	p = one(t, b.Collect(next, false), slotOf(later), 13, 3, 0)
	if p.Full {
		t.Error("a part was taken for all")
	}
	one(t, b.Collect(next, true), slotOf(boot), 13, 10, 0, 0, 3, 0)
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		limit uint32
		nodes int
		share float64
		want  uint32
	}{{1, 5, .5, 1}, {10, 5, .5, 1}, {100, 5, .5, 10}, {101, 5, .5, 11}, {1900, 200, .5, 5}, {30, 3, .1, 1}, {300, 3, .3, 30}} {
		var m meter
		m.Limit = c.limit
		m.setShare(true, c.share, c.nodes)
		if got := m.share.Load(); got != c.want {
			t.Errorf("limit %d, %d nodes, %.1f: share %d, want %d", c.limit, c.nodes, c.share, got, c.want)
		}
	}
}

func TestQuietOffTellsAll(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Quiet = false })
	b.hit(stranger, boot, 1)
	p := one(t, b.Collect(boot, false), slotOf(boot), 1, 1)
	if p.Key.Prefix.String() != "2001:db8::/64" {
		t.Errorf("key %v", p.Key)
	}
	if out := b.Answered(&p, Answer{Peak: 50, Total: 50}, boot); out != (Outcome{Watch: true}) {
		t.Errorf("%+v: what the others have not pushed yet is requested immediately", out)
	}
	if p, ok := b.Watch(p.Key, boot); !ok || !p.IsReconcile() {
		t.Errorf("%+v, %t: everything was pushed already", p, ok)
	} else {
		b.Answered(&p, Answer{Peak: 90, Total: 90}, boot)
	}
	b.hit(stranger, boot, 1)
	if p, ok := b.Watch(p.Key, boot); !ok || p.Full || p.Sum != 2 {
		t.Errorf("%+v, %t", p, ok)
	}
}

func TestRestoredSlotsAreLocal(t *testing.T) {
	b := newBench(t, nil)
	before := boot.Add(-time.Second)
	op := shard.Op{Addr: visitor, Now: slotOf(before), Slot: slotOf(before), Cost: 50}
	b.table.Add(&op)
	b.hit(visitor, boot, 1)
	p := one(t, b.Collect(boot, true), slotOf(boot), 1, 1)
	// The total may hold what an earlier boot pushed of the 50.
	b.Answered(&p, Answer{Peak: 60, Total: 60}, boot)
	if rest := b.hit(visitor, boot, 1); rest != 60-51 {
		t.Errorf("rest %d", rest)
	}
}

func TestRestIsOfItsSlotOnly(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	p := b.Collect(boot, false)[0]
	b.hit(visitor, boot, 3)
	b.Answered(&p, Answer{Peak: 40, Total: 40}, boot)
	if rest := b.hit(visitor, boot, 1); rest != 40-13 {
		t.Errorf("rest %d, want 27", rest)
	}
	if rest := b.hit(visitor, boot.Add(width*time.Second), 1); rest != 0 {
		t.Errorf("rest %d in the next slot", rest)
	}
}

// Who only asks reads the rest as who counts does, and nothing is pushed for it.
func TestRestIsRead(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	p := b.Collect(boot, false)[0]
	b.Answered(&p, Answer{Peak: 40, Total: 40}, boot)
	b.Collect(boot, false)
	rest := func(addr netip.Addr, count uint32, at time.Time) uint32 {
		return b.RestOfFleet(0, &shard.Op{Addr: addr, Now: slotOf(at), Slot: slotOf(at)}, count)
	}
	other := visitor.Next()
	if got := rest(visitor, 10, boot); got != 30 {
		t.Errorf("rest %d, want 30", got)
	}
	if late, few, others := rest(visitor, 10, boot.Add(width*time.Second)), rest(visitor, 0, boot), rest(other, 50, boot); late+few+others != 0 {
		t.Errorf("in the next slot %d, of a key below the share %d, of another %d", late, few, others)
	}
	one(t, b.Collect(boot, false), 0, 0)
	if s := b.Stats(); s.Suspects != 1 {
		t.Errorf("%d suspects", s.Suspects)
	}
}

func TestOutcomes(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	p := b.Collect(boot, false)[0]
	for _, c := range []struct {
		name string
		a    Answer
		want Outcome
	}{
		{"nothing", Answer{Peak: 49, Total: 49}, Outcome{}},
		{"near", Answer{Peak: 50, Total: 50}, Outcome{Watch: true}},
		{"sent a moment ago", Answer{Peak: 60, Total: 60}, Outcome{}},
		{"at the limit", Answer{Peak: 100, Total: 100}, Outcome{}},
		{"over it before this push", Answer{Peak: 111, Total: 12}, Outcome{Over: true}},
		{"over it by this push", Answer{Peak: 110, Total: 12}, Outcome{Over: true, Crossed: true, Watch: true}},
		{"asked twice, repeated once", Answer{Status: StatusSendFull, Peak: 10}, Outcome{}},
	} {
		if out := b.Answered(&p, c.a, boot); out != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, out, c.want)
		}
	}
	p.Full = false
	if out := b.Answered(&p, Answer{Status: StatusSendFull, Peak: 10}, boot); !out.Again {
		t.Errorf("full push requested: %+v", out)
	}
	if w, ok := b.FullPush(p.Key, boot); !ok || !w.Full {
		t.Errorf("full push %+v", w)
	}
	p.head += watchAgainAfter
	if out := b.Answered(&p, Answer{Peak: 50, Total: 50}, boot); !out.Watch {
		t.Errorf("a quarter window later: %+v", out)
	}
}

// TestOneNodeAsksForAll: what another node had the fleet watch is not asked for again,
// except by the node whose push brought the total over the limit. It is sure of that
// where it knows what Redis has of it.
func TestOneNodeAsksForAll(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Quiet = false })
	b.hit(visitor, boot, 11)
	p := b.Collect(boot, false)[0]
	b.Answered(&p, Answer{Peak: 40, Total: 40}, boot)
	p, _ = b.Watch(p.Key, boot)
	if out := b.Answered(&p, Answer{Peak: 60, Total: 60}, boot); out.Watch {
		t.Error("asked for what the fleet watches")
	}
	b.hit(visitor, boot, 2)
	p = b.Collect(boot, false)[0]
	if out := b.Answered(&p, Answer{Peak: 104, Total: 104}, boot); out.Watch {
		t.Error("two more requests brought the total from 102 to 104, and not over 100")
	}
	b.hit(visitor, boot, 2)
	p = b.Collect(boot, false)[0]
	if out := b.Answered(&p, Answer{Peak: 102, Total: 102}, boot); !out.Watch {
		t.Error("these two brought it over the limit")
	}
	quarter := boot.Add(watchAgainAfter * width * time.Second)
	if p.head += watchAgainAfter; b.Answered(&p, Answer{Peak: 60, Total: 60}, quarter) != (Outcome{WatchLater: true}) {
		t.Error("a quarter of a window later another node asks, whose push brought it from 49 to 50, or this one after a moment")
	}
	if !b.AskWatch(p.Key, quarter) || b.AskWatch(p.Key, quarter) {
		t.Error("not asked once by then")
	}
	if out := b.Answered(&p, Answer{Peak: 60, Total: 60}, quarter); out != (Outcome{}) {
		t.Errorf("asked for a moment ago: %+v", out)
	}
	if p.added = 11; b.Answered(&p, Answer{Peak: 60, Total: 60}, quarter).Watch {
		t.Error("asked for again at once")
	}
}

// TestOneNodeAsksFirst: of the nodes that see a total near its limit that one asks whose push
// brought it there. The others ask if nobody has by their turn.
func TestOneNodeAsksFirst(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Quiet = false })
	b.hit(visitor, boot, 3)
	p := b.Collect(boot, false)[0]
	if out := b.Answered(&p, Answer{Peak: 60, Total: 60}, boot); out != (Outcome{WatchLater: true}) {
		t.Errorf("60, of which this push brought 3: %+v", out)
	}
	heard := p.Key
	b.Watch(heard, boot)
	if b.AskWatch(heard, boot) {
		t.Error("asked for what another node has asked")
	}
}

// TestATotalActsWhereItIsCounted: a node that has counted nothing of a key does not act on
// its total, however far over the limit.
func TestATotalActsWhereItIsCounted(t *testing.T) {
	b := newBench(t, nil)
	k := Key{Meter: 7, Prefix: netip.MustParsePrefix("203.0.113.45/32")}
	over := Answer{Peak: 200, Total: 200}
	p, _ := b.Watch(k, boot)
	if out := b.Answered(&p, over, boot); out.Over {
		t.Error("a node acts on what it has not counted")
	}
	b.hit(visitor, boot, 1)
	p, _ = b.Watch(k, boot)
	if out := b.Answered(&p, over, boot); !out.Over {
		t.Error("a node does not act on what it has counted")
	}
}

func TestWatchedKeysArePushedHoweverLittle(t *testing.T) {
	b := newBench(t, nil)
	k := Key{Meter: 7, Prefix: netip.MustParsePrefix("203.0.113.45/32")}
	b.hit(visitor, boot, 2)
	p, ok := b.Watch(k, boot)
	if !ok || p.Sum != 2 {
		t.Fatalf("%+v, %t", p, ok)
	}
	b.Answered(&p, Answer{Peak: 2, Total: 2}, boot)
	b.Collect(boot, false)
	b.hit(visitor, boot, 1)
	one(t, b.Collect(boot, false), slotOf(boot), 3, 3)

	nothing, ok := b.Watch(Key{Meter: 7, Prefix: netip.MustParsePrefix("2001:db8::/64")}, boot)
	if !ok || !nothing.IsReconcile() || nothing.Sum != 0 || nothing.NewestSlot() != slotOf(boot) {
		t.Errorf("a reconcile of nothing: %+v, %t", nothing, ok)
	}
	if out := b.Answered(&nothing, Answer{Peak: 90, Total: 90}, boot); out != (Outcome{}) {
		t.Errorf("a watch that follows from a watch: %+v", out)
	}
	b.hit(stranger, boot, 1)
	if got := b.Collect(boot, false); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for _, bad := range []Key{{Meter: 8, Prefix: k.Prefix}, {Meter: 7, Prefix: netip.MustParsePrefix("203.0.113.0/24")}, {Meter: 7}} {
		if _, ok := b.Watch(bad, boot); ok {
			t.Errorf("%v is no key of this node", bad)
		}
	}
	if s := b.Stats(); s.Watched != 2 || s.WatchesReceived != 2 {
		t.Errorf("%+v", s)
	}

	later := boot.Add(61 * width * time.Second)
	b.Sweep(later)
	if s := b.Stats(); s.Watched != 0 || s.Suspects != 0 {
		t.Errorf("after the window: %+v", s)
	}
	b.hit(visitor, later, 1)
	one(t, b.Collect(later, false), 0, 0)
}

func TestForget(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	p := b.Collect(boot, false)[0]
	keys := b.Forget(netip.MustParsePrefix("203.0.113.0/24"), boot)
	if len(keys) != 1 || keys[0] != p.Key {
		t.Fatalf("keys %v", keys)
	}
	if out := b.Answered(&p, Answer{Peak: 200, Total: 200}, boot); out != (Outcome{}) {
		t.Errorf("an answer from before the unblock: %+v", out)
	}
	if !b.Forgotten(p.Key, p.NewestSlot()) || b.Forgotten(p.Key, p.NewestSlot()+1) {
		t.Error("a total of the slot of the unblock still counts, or one of the next does not")
	}
	b.hit(visitor, boot, 1) // the table still has 20
	one(t, b.Collect(boot, true), 0, 0)

	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 4)
	p = one(t, b.Collect(next, false), slotOf(next), 4, 4)
	if out := b.Answered(&p, Answer{Peak: 200, Total: 200}, next); out != (Outcome{Forget: slotOf(next)}) {
		t.Errorf("Redis has not heard: %+v", out)
	}
	if rest := b.hit(visitor, next, 1); rest != 0 {
		t.Errorf("rest %d of what was forgotten", rest)
	}
	if out := b.Answered(&p, Answer{Status: StatusCleared, Peak: 101, Total: 101, ClearedBefore: slotOf(next)}, next); out != (Outcome{Over: true, Crossed: true, Watch: true}) {
		t.Errorf("Redis has heard: %+v", out)
	}
	b.Sweep(next.Add((Kept + 1) * width * time.Second))
	if s := b.Stats(); s.Cleared != 0 {
		t.Errorf("%+v", s)
	}
}

// TestAMarkNeedsAnUnblock: a mark that only Redis has is not taken, since
// whoever writes there could keep a key from being counted.
func TestAMarkNeedsAnUnblock(t *testing.T) {
	b := newBench(t, nil)
	at := func(slots int) time.Time { return boot.Add(time.Duration(slots) * width * time.Second) }
	b.hit(visitor, at(1), 20)
	b.hit(visitor, at(2), 1)
	floor := slotOf(at(2))
	a := Answer{Status: StatusCleared | StatusSendFull, ClearedBefore: floor}
	for _, wait := range []time.Duration{0, 5 * time.Second} {
		p := one(t, b.Collect(at(2), false), slotOf(at(1)), 21, 20, 1)
		if out := b.Answered(&p, a, at(2).Add(wait)); out != (Outcome{Floor: floor}) {
			t.Errorf("%+v", out)
		}
	}
	b.Forget(netip.PrefixFrom(visitor, 32), at(1))
	b.hit(visitor, at(2), 1)
	p := one(t, b.Collect(at(2), false), floor, 2, 2)
	if out := b.Answered(&p, Answer{Status: StatusCleared, ClearedBefore: floor}, at(4)); out != (Outcome{}) {
		t.Errorf("after the unblock: %+v", out)
	}
	b.hit(visitor, at(2), 1)
	p = one(t, b.Collect(at(2), false), floor, 3, 3)
	if out := b.Answered(&p, Answer{Status: StatusCleared, ClearedBefore: floor + 50}, at(4)); out != (Outcome{Floor: floor + 50}) {
		t.Errorf("a mark in the future: %+v", out)
	}
}

// TestAMarkFarAhead is not taken from Redis by a node whose clock was set within
// the window, either: the key would never be pushed again.
func TestAMarkFarAhead(t *testing.T) {
	b := newBench(t, nil)
	b.SetOffset(width*time.Second, boot)
	next := boot.Add(2 * width * time.Second)
	b.hit(visitor, next, 20)
	p := b.Collect(next, false)
	if len(p) != 1 {
		t.Fatalf("%d pushes", len(p))
	}
	for _, ahead := range []uint32{lateSlots + 2, math.MaxUint32 - slotOf(next)} {
		floor := slotOf(next) + ahead
		if out := b.Answered(&p[0], Answer{Status: StatusCleared | StatusSendFull, ClearedBefore: floor}, next); out.Floor != floor {
			t.Errorf("%d slots ahead: %+v", ahead, out)
		}
	}
	b.hit(visitor, next, 1)
	if p = b.Collect(next, false); len(p) != 1 || p[0].Sum != 21 {
		t.Errorf("pushed after it: %+v", p)
	}
}

// TestAMarkOfBeforeTheJoin is taken: a later block may have replaced the unblock.
func TestAMarkOfBeforeTheJoin(t *testing.T) {
	for _, join := range []bool{true, false} {
		b := newBench(t, nil)
		at := func(slots int) time.Time { return boot.Add(time.Duration(slots) * width * time.Second) }
		b.hit(visitor, at(3), 20)
		if join {
			b.ReconcileAll()
		}
		p := one(t, b.Collect(at(3), false), slotOf(at(3)), 20, 20)
		a := Answer{Status: StatusCleared, ClearedBefore: slotOf(at(2))}
		if out := b.Answered(&p, a, at(3)); (out.Floor == 0) != join {
			t.Errorf("joined after it %t: %+v", join, out)
		}
	}
}

func TestMemoryIsBoundedAndRefusalsAreCounted(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSuspects = 1 })
	b.hit(visitor, boot, 10)
	b.hit(stranger, boot, 10)
	if s := b.Stats(); s.Suspects != 1 || s.HeldBack != 1 {
		t.Errorf("%+v", s)
	}
	later := boot.Add(61 * width * time.Second)
	b.Sweep(later)
	b.hit(stranger, later, 10)
	if got := b.Collect(later, false); len(got) != 1 {
		t.Errorf("%+v: there is room now", got)
	}
}

func TestAStepOfTheClockCountsNothingTwice(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	b.Collect(boot, false)
	b.SetOffset(10*width*time.Second, boot)
	b.hit(visitor, boot, 1)
	one(t, b.Collect(boot, true), 0, 0)
	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 2)
	one(t, b.Collect(next, true), slotOf(next)+10, 2, 2)
}

func TestReloadKeepsSuspectsAndMarks(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	b.hit(stranger, boot, 20)
	b.Forget(netip.MustParsePrefix("2001:db8::/32"), boot)
	other := Meter{Fingerprint: 9, Width: 1, Limit: 1, Table: b.table}
	b.Totals = New(Config{Meters: []Meter{other, b.config.Meters[0]}, Boot: boot, Quiet: true, MaxNodes: 5, Previous: b.Totals})
	one(t, b.Collect(boot, false), slotOf(boot), 20, 20)
	op := shard.Op{Addr: stranger, Now: slotOf(boot), Slot: slotOf(boot)}
	b.Count(1, &op, 20)
	for _, p := range b.Collect(boot, false) {
		if p.Key.Prefix.Addr().Is6() {
			t.Errorf("what was forgotten is back: %+v", p)
		}
	}
}

func TestReloadWithALowerLimitFindsWhatIsThere(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 5)
	lower := b.config.Meters[0]
	lower.Limit = 50
	b.Totals = New(Config{Meters: []Meter{lower}, Boot: boot, Quiet: true, MaxNodes: 5, Previous: b.Totals})
	one(t, b.Collect(boot, false), slotOf(boot), 5, 5)
}

// Events that overtake the caller's clock must not shift the others.
func TestReadFindsTheHead(t *testing.T) {
	b := newBench(t, nil)
	for i, n := range []int{5, 5, 7, 5} {
		b.hit(visitor, boot.Add(time.Duration(i)*width*time.Second), n)
	}
	for behind := range 3 {
		now := boot.Add(time.Duration(3-behind) * width * time.Second)
		one(t, b.Collect(now, true), slotOf(boot), 22, 5, 5, 7, 5)
	}
	if got := b.Collect(boot.Add(-10*width*time.Second), true); len(got) != 0 {
		t.Errorf("a clock far behind: %+v", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxSuspects = 50 })
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 3000 {
				addr := netip.AddrFrom4([4]byte{10, byte(g % 2), 0, byte(i % 40)})
				b.hit(addr, boot.Add(time.Duration(i)*10*time.Millisecond), 1)
			}
		})
	}
	wg.Go(func() {
		for i := range 60 {
			now := boot.Add(time.Duration(i) * 500 * time.Millisecond)
			reconciles, _ := b.Reconcile(now, 20)
			for _, p := range append(b.Collect(now, false), reconciles...) {
				if out := b.Answered(&p, Answer{Peak: p.Sum, Total: p.Sum, Status: uint8(i % 2)}, now); out.Watch {
					b.Watch(p.Key, now)
				}
			}
			switch i % 20 {
			case 3:
				b.ReconcileAll()
			case 7:
				b.Sweep(now)
			case 11:
				b.Forget(netip.MustParsePrefix("10.1.0.0/16"), now)
			case 13:
				b.SetNodes(6, now)
			case 17:
				b.SetNodes(5, now)
			}
			b.Stats()
		}
	})
	wg.Wait()
	b.Sweep(boot.Add(time.Hour))
	if s := b.Stats(); s.Suspects != 0 || s.Watched != 0 {
		t.Errorf("left after an hour: %+v", s)
	}
}

// TestWatchLater: a watched key that cannot be pushed now goes with the next round, also if
// all of it was pushed before.
func TestWatchLater(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 10)
	p := b.Collect(boot, false)[0]
	b.Answered(&p, Answer{Peak: 10, Total: 10}, boot)
	if left := b.Collect(boot, false); len(left) != 0 {
		t.Fatalf("%d are pushed, and nothing is new", len(left))
	}
	b.WatchLater(p.Key, boot)
	if later := b.Collect(boot, false); len(later) != 1 || later[0].Key != p.Key {
		t.Errorf("%+v", later)
	}
	if b.AskWatch(p.Key, boot) {
		t.Error("asked for what the fleet watches")
	}
}
