package aggregator

import (
	"maps"
	"net/netip"
	"testing"
	"time"

	"edgeguard/ring"
	"edgeguard/shard"
)

// again returns the node after a clean restart that keeps its boot: with the
// same table, as a snapshot restores it.
func (b *bench) again(now time.Time, change func(*Config)) *bench {
	c := Config{Meters: []Meter{b.meters[0].Meter}, Boot: now, Quiet: true, MaxNodes: 5, Since: b.Since()}
	if change != nil {
		change(&c)
	}
	return &bench{b.t, b.table, New(c)}
}

// TestAKeptBootPushesWhatWasRestored: Redis may have lost all of it.
func TestAKeptBootPushesWhatWasRestored(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	b.hit(stranger, boot, 9) // under the share
	next := boot.Add(width * time.Second)
	b = b.again(next, nil)
	p := one(t, b.Collect(next, false), slotOf(boot), 20, 20, 0) // without an event
	b.Answered(&p, Answer{Peak: 20, Total: 20}, next)
	b.hit(visitor, next, 10)
	one(t, b.Collect(next, false), slotOf(boot), 30, 20, 10) // in full: the boot may be young because the clock stepped
}

// TestAKeptBootKeepsItsFirstSlot: slots before it may be an earlier boot's, also
// after another restart, a reload and with a clock that was corrected.
func TestAKeptBootKeepsItsFirstSlot(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Offset = 10 * width * time.Second })
	before := boot.Add(-width * time.Second)
	op := shard.Op{Addr: visitor, Now: slotOf(before), Slot: slotOf(before), Cost: 50}
	b.table.Add(&op)
	b.hit(visitor, boot, 10)
	want := map[uint64]uint32{7: slotOf(boot) + 10}
	if got := b.Since(); !maps.Equal(got, want) {
		t.Fatalf("since %v, want %v", got, want)
	}
	now := boot
	for range 2 {
		now = now.Add(width * time.Second)
		b = b.again(now, func(c *Config) { c.Offset = 10 * width * time.Second })
		b.Totals = New(Config{Meters: []Meter{b.meters[0].Meter}, Boot: now, Quiet: true, MaxNodes: 5, Previous: b.Totals})
		if got := b.Since(); !maps.Equal(got, want) {
			t.Fatalf("since %v, want %v", got, want)
		}
	}
	one(t, b.Collect(now, false), slotOf(boot)+10, 10, 10, 0, 0)
}

// TestAMeterThatTheBootMayHavePushed begins with the next slot: its counts of
// before the restart are not here.
func TestAMeterThatTheBootMayHavePushed(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	b = b.again(boot, func(c *Config) { c.Since = map[uint64]uint32{8: 1} })
	b.hit(visitor, boot, 20)
	one(t, b.Collect(boot, true), 0, 0)
	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 1)
	one(t, b.Collect(next, true), slotOf(next), 1, 1)
}

// TestMarksComeBeforeAKeptBootPushes: an unblock of before the restart comes
// again from its tombstone.
func TestMarksComeBeforeAKeptBootPushes(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	next := boot.Add(width * time.Second)
	b = b.again(next, nil)
	b.Forget(netip.PrefixFrom(visitor, 32), boot)
	one(t, b.Collect(next, true), 0, 0)
	b.hit(visitor, next, 1)
	one(t, b.Collect(next, true), slotOf(next), 1, 1)
}

// TestANewBootPushesItsFirstSlot: without what was restored of that slot, which a boot
// before may have pushed, and which this node goes on counting.
func TestANewBootPushesItsFirstSlot(t *testing.T) {
	for _, restored := range []uint16{0, 20, ring.Max} {
		b := newBench(t, nil)
		slot := slotOf(boot)
		for _, at := range []uint32{slot - 1, slot} {
			b.table.Add(&shard.Op{Addr: visitor, Now: slot, Slot: at, Cost: restored})
		}
		b.table.Add(&shard.Op{Addr: stranger, Now: slot, Slot: slot, Cost: 9})
		b.Restored(boot)
		b.hit(visitor, boot, 12)
		one(t, b.Collect(boot, true), slot, 12, 12)
		if here := b.OwnCount(Key{Meter: 7, Prefix: netip.PrefixFrom(visitor, 32)}, boot); here != 2*uint32(restored)+12 {
			t.Errorf("with %d restored in two slots the node counts %d", restored, here)
		}
		b.hit(visitor, boot, 1) // a line of the slot before, as one that is read again
		b.table.Add(&shard.Op{Addr: visitor, Now: slot, Slot: slot - 1, Cost: 5})
		next := boot.Add(width * time.Second)
		b.hit(visitor, next, 1)
		one(t, b.Collect(next, true), slot, 14, 13, 1)
	}
}

// TestAnotherBootPushesNoSlotTwice: of a boot that is drawn while the node counts, the
// present slot was pushed under the one before.
func TestAnotherBootPushesNoSlotTwice(t *testing.T) {
	b := newBench(t, nil)
	b.hit(visitor, boot, 20)
	b.Redrawn(boot)
	b.hit(visitor, boot, 20)
	one(t, b.Collect(boot, true), 0, 0)
	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 1)
	one(t, b.Collect(next, true), slotOf(next), 1, 1)
}
