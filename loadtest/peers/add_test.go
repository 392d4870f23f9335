package peers

import (
	"net/netip"
	"runtime"
	"testing"

	"edgeguard/shard"
)

// sink keeps the answers alive.
var sink uint32

// state is what the keys have lived through when the measurement begins.
type state struct {
	name  string
	slots uint32 // each key was seen once in each of so many slots
	// pace is log2 of the decisions after which the clock goes on by a slot.
	pace uint8
}

// A cold key was seen in one slot, and edgeguard keeps it small. A dense one
// has its ring, and so every key has the same 60 slots as the obvious table;
// the clock goes on every four million decisions, which is about a million a
// second for a slot of five.
var (
	cold  = state{"cold", 1, 63}
	dense = state{"dense", 8, 22}
)

// clock is the time of one table. It never goes back, not even from one
// pattern to the next.
type clock struct {
	first, decisions uint64
	pace             uint8
}

// tick counts n decisions and gives the slot.
func (c *clock) tick(n uint64) uint32 {
	c.decisions += n
	return uint32(c.first + c.decisions>>c.pace)
}

// firstSlot is some time in 2026.
const firstSlot = 356_000_000

// warm brings every key into the state, and gives the clock that goes on from
// there.
func (s state) warm(c Counter) *clock {
	for slot := range s.slots {
		for n := range uint32(keyCount) {
			c.Add(address(n), firstSlot+slot)
		}
	}
	runtime.GC()
	return &clock{first: firstSlot + uint64(s.slots) - 1, pace: s.pace}
}

// BenchmarkAdd returns the time of one decision, as state/table/pattern. The
// patterns: independent keys, whose cache misses the processor overlaps;
// dependent ones, each derived from the last answer, as a lone request must
// wait; Zipf; and batches of 64. The table edgeguard lies in huge pages, as in
// the program; edgeguard-heap in Go's heap, as the peers do.
func BenchmarkAdd(b *testing.B) {
	for _, s := range []state{cold, dense} {
		b.Run(s.name+"/obvious", func(b *testing.B) {
			o := NewObvious()
			patterns(b, o, s.warm(o))
		})
		b.Run(s.name+"/edgeguard", func(b *testing.B) { both(b, newTable(b), s) })
		b.Run(s.name+"/edgeguard-heap", func(b *testing.B) { both(b, NewEdgeguard(shard.NewMemory(Budget)), s) })
	}
	b.Run("cold/xtime", func(b *testing.B) {
		x := NewXTime()
		patterns(b, x, cold.warm(x))
	})
	b.Run("cold/golimiter", func(b *testing.B) {
		g, err := NewGoLimiter()
		if err != nil {
			b.Fatal(err)
		}
		defer g.Close()
		patterns(b, g, cold.warm(g))
	})
}

func both(b *testing.B, e *Edgeguard, s state) {
	now := s.warm(e)
	patterns(b, e, now)
	b.Run("batch64", func(b *testing.B) { batches(b, e, now) })
}

func patterns(b *testing.B, c Counter, now *clock) {
	b.Run("independent", func(b *testing.B) {
		keys, sum := uniform(1), uint32(0)
		for range b.N {
			sum += c.Add(address(keys.next()), now.tick(1))
		}
		sink += sum
	})
	b.Run("dependent", func(b *testing.B) {
		keys, answer := uniform(1), uint32(0)
		for range b.N {
			// An answer is always below 2^31, but the processor has to wait
			// for it to know.
			keys += uniform(answer >> 31)
			answer = c.Add(address(keys.next()), now.tick(1))
		}
		sink += answer
	})
	b.Run("zipf", func(b *testing.B) {
		keys, sum := newSkewed(), uint32(0)
		b.ResetTimer()
		for range b.N {
			sum += c.Add(address(keys.next()), now.tick(1))
		}
		sink += sum
	})
}

func batches(b *testing.B, e *Edgeguard, now *clock) {
	keys, sum := uniform(1), uint32(0)
	next := func() netip.Addr { return address(keys.next()) }
	for i := 0; i < b.N; i += BatchSize {
		sum += e.AddBatch(now.tick(BatchSize), next)
	}
	sink += sum
}
