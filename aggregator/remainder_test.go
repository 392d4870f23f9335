package aggregator

import (
	"strings"
	"testing"
	"time"

	"edgeguard/ring"
)

// slotsOf is a field of a node that counted n in each of the newest slots.
func slotsOf(name string, n byte, slots int) SplitField {
	f := SplitField{Name: name, Slots: strings.Repeat("\x00", ring.Slots-slots) + strings.Repeat(string(rune(n)), slots)}
	f.Count = uint32(n) * uint32(slots)
	return f
}

var here = [8]byte([]byte("edge-aaa"))

// foreseen is a bench whose visitor has 10 here and 20 in each of ten slots elsewhere.
func foreseen(t *testing.T) (*bench, Push) {
	t.Helper()
	b := newBench(t, nil)
	b.Totals.meters[0].Renews = 100
	b.hit(visitor, boot, 10)
	p, out := answeredBy(t, b, boot, 210)
	if !out.Renew {
		t.Fatalf("%+v", out)
	}
	b.Foresee(p.Key, p.NewestSlot(), []SplitField{slotsOf("edge-bbb", 20, 10), slotsOf("edge-aaa", 10, 1)}, here)
	return b, p
}

// rest is what visitor has elsewhere so many slots later, without an answer for that slot.
func restLater(b *bench, slots int) uint32 {
	return b.hit(visitor, boot.Add(time.Duration(slots*width)*time.Second), 1)
}

// What remains is a floor for a window, slot by slot.
func TestRemainder(t *testing.T) {
	b, _ := foreseen(t)
	for slots, want := range map[int]uint32{1: 200, 50: 200, 51: 180, 55: 100, 59: 20, 60: 0} {
		b, _ := foreseen(t)
		if got := restLater(b, slots); got != want {
			t.Errorf("%d slots later: %d, want %d", slots, got, want)
		}
	}
	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 1)
	if _, out := answeredBy(t, b, next, 500); out.Renew {
		t.Error("renewed though what is known denies for a quarter of a window")
	}
}

// It ends with an unblock, with counts that are forgotten here, and where Redis has less.
func TestRemainderEnds(t *testing.T) {
	b, p := foreseen(t)
	b.Forget(p.Key.Prefix, boot)
	if got := restLater(b, 1); got != 0 {
		t.Errorf("%d after an unblock", got)
	}
	b, p = foreseen(t)
	b.Cleared(p.Key.Prefix, boot)
	if got := restLater(b, 1); got != 0 {
		t.Errorf("%d after the detector forgot it", got)
	}
	b, p = foreseen(t)
	b.Forget(p.Key.Prefix, boot.Add(-5*width*time.Second))
	b.hit(visitor, boot, 10)
	b.Foresee(p.Key, p.NewestSlot(), []SplitField{slotsOf("edge-bbb", 60, 10), slotsOf("edge-aaa", 20, 1)}, here)
	if got := restLater(b, 1); got != 5*60 {
		t.Errorf("%d, want what was counted after the unblock", got)
	}
	b, _ = foreseen(t)
	next := boot.Add(width * time.Second)
	b.hit(visitor, next, 1)
	answeredBy(t, b, next, 11) // what was elsewhere is gone
	if got := restLater(b, 2); got != 0 {
		t.Errorf("%d after Redis had less", got)
	}
	b, p = foreseen(t)
	b.Foresee(p.Key, p.NewestSlot(), []SplitField{slotsOf("edge-bbb", 20, 10)}, here) // an earlier boot of this node may have pushed 10 of it
	if got := restLater(b, 1); got != 190 {
		t.Errorf("%d, want what no earlier boot can have pushed", got)
	}
	b, p = foreseen(t)
	b.Foresee(p.Key, p.NewestSlot(), []SplitField{{Name: "edge-bbb", Count: 150}}, here) // by functions of before
	if got := restLater(b, 1); got != 200 {
		t.Errorf("%d after sums alone", got)
	}
}
