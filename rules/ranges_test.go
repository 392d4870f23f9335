package rules

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestRangesAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	spans := func() (list []span, twin map[uint16]bool) {
		twin = make(map[uint16]bool)
		for range random.IntN(5) {
			low := random.IntN(50)
			if random.IntN(4) == 0 {
				low += 65535 - 70 // the upper end, where adding one overflows
			}
			high := min(low+random.IntN(20), 65535)
			list = append(list, span{uint16(low), uint16(high)})
			for n := low; n <= high; n++ {
				twin[uint16(n)] = true
			}
		}
		return list, twin
	}
	for range 2_000 {
		in, inTwin := spans()
		out, outTwin := spans()
		set := newRanges(in)
		rest, all := set.without(newRanges(out)), ranges(nil).without(newRanges(out))
		for _, n := range probes {
			if got, want := set.has(n), inTwin[n]; got != want {
				t.Fatalf("%v has %d: %v", set, n, got)
			}
			if got, want := rest.has(n), inTwin[n] && !outTwin[n]; got != want {
				t.Fatalf("%v without %v has %d: %v", in, out, n, got)
			}
			if got, want := all.has(n), !outTwin[n]; got != want {
				t.Fatalf("all without %v has %d: %v", out, n, got)
			}
		}
		for i := 1; i < len(set); i++ {
			if int(set[i].low) <= int(set[i-1].high)+1 {
				t.Fatalf("%v of %v touches itself: it has another form of the same", set, in)
			}
		}
	}
}

var probes = func() (list []uint16) {
	for n := range 80 {
		list = append(list, uint16(n), uint16(65535-n))
	}
	return list
}()

func TestRangesNotGiven(t *testing.T) {
	if none := ranges(nil); !none.has(0) || !none.has(65535) {
		t.Error("a term that is not given must be satisfied by all")
	}
	if empty := (ranges{}); empty.has(0) {
		t.Error("an empty set has nothing")
	}
}
