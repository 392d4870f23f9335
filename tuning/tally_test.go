package tuning

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"edgeguard"
)

func key(i int) edgeguard.Key {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 0x0a000000+uint32(i))
	return edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4(a), 32)}
}

// tallyOf makes the tally of keys with these peaks, each of which counted up
// to its peak once.
func tallyOf(c Config, peaks ...uint32) *Tally {
	t := NewTally(c)
	for i, p := range peaks {
		for n := range p {
			t.Event(n + 1)
		}
		t.RecordPeak(key(i), p)
	}
	return t
}

func TestTopAgainstSort(t *testing.T) {
	r := newRand(t)
	for range 100 {
		k := 1 + r.IntN(20)
		top := newTop(k)
		var all []Peak
		for i := range r.IntN(200) {
			p := Peak{Key: key(i / 2), Peak: uint32(r.IntN(50))}
			p.Key.With = []string{"", "host=a"}[i%2]
			all = append(all, p)
			top.Add(p)
		}
		slices.SortFunc(all, Peak.compare)
		want := all[:min(k, len(all))]
		if got := top.Sorted(); !slices.Equal(got, want) {
			t.Fatalf("k %d: got %v, want %v", k, got, want)
		}
		for n := range uint32(50) {
			above := uint64(0)
			for _, p := range all {
				if p.Peak > n {
					above++
				}
			}
			if top.complete(n) && top.above(n) != above {
				t.Fatalf("k %d: says all above %d are kept, and has %d of %d", k, n, top.above(n), above)
			}
		}
	}
}

func TestTopBreaksTiesByKey(t *testing.T) {
	for _, order := range [][]int{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}} {
		top := newTop(2)
		for _, i := range order {
			top.Add(Peak{key(i), 7})
		}
		if got := top.Sorted(); got[0].Key != key(1) || got[1].Key != key(2) {
			t.Errorf("order %v: %v", order, got)
		}
	}
}

// TestOutcomeAgainstScan compares with the peaks and counts themselves.
func TestOutcomeAgainstScan(t *testing.T) {
	r := newRand(t)
	for range 50 {
		peaks := make([]uint32, r.IntN(100))
		for i := range peaks {
			peaks[i] = uint32(r.IntN(400)) >> r.IntN(6)
		}
		tally := tallyOf(Config{Top: 10}, peaks...)
		for limit := range uint32(420) {
			var keys, all, events, total uint64
			for _, p := range peaks {
				total += uint64(p)
				if p > 0 {
					all++
				}
				if p > limit {
					keys++
					events += uint64(p - limit)
				}
			}
			o := tally.Outcome(limit, nil)
			if o.KeyShare != share(o.Keys, all) || o.EventShare != share(o.Events, total) {
				t.Fatalf("shares %v of %d keys and %d events", o, all, total)
			}
			if (limit < exactBelow || keys < 10) && o.Keys != keys {
				t.Fatalf("limit %d: %d keys, want %d of %v", limit, o.Keys, keys, peaks)
			}
			if limit < exactBelow && o.Events != events {
				t.Fatalf("limit %d: %d events, want %d", limit, o.Events, events)
			}
			if low, high := boundsOf(bucketOf(limit)); tally.Events.Above(high) > o.Events || o.Events > tally.Events.Above(max(low, 1)-1) {
				t.Fatalf("limit %d: %d events are not between those of its bucket's ends", limit, o.Events)
			}
		}
	}
}

func TestOutcomesByThreshold(t *testing.T) {
	tally := tallyOf(Config{}, 3, 20, 30)
	guard := func(threshold uint32) uint32 { return (threshold*95 + 99) / 100 }
	got := tally.Outcomes([]uint32{20, 1000, 20}, guard)
	if len(got) != 3 || got[0].Threshold != 20 || got[0].Limit != 19 || got[0].Keys != 2 || got[0].Events != 1+11 || got[1].Keys != 0 || got[2] != got[0] {
		t.Errorf("%+v", got)
	}
	ladder := tally.Outcomes(nil, nil)
	var steps []uint32
	for _, o := range ladder {
		steps = append(steps, o.Threshold)
	}
	if !slices.Equal(steps, []uint32{10, 20, 50}) {
		t.Errorf("ladder %v", steps)
	}
}

func TestLadder(t *testing.T) {
	tests := []struct {
		highest uint32
		last    uint32
		steps   int
	}{
		{0, 10, 1}, {10, 10, 1}, {11, 20, 2}, {386, 500, 6}, {2000, 2000, 8}, {65534, 50000, 12}, {1 << 31, 50000, 12},
	}
	for _, tt := range tests {
		got := Ladder(tt.highest, 1)
		if len(got) != tt.steps || got[len(got)-1] != tt.last {
			t.Errorf("up to %d: %v", tt.highest, got)
		}
	}
}

func TestInside(t *testing.T) {
	guard := func(threshold uint32) uint32 { return (threshold*95 + 99) / 100 }
	always := func(uint32) uint32 { return 7 }
	tests := []struct {
		name      string
		low, high uint32
		limitOf   LimitOf
		want      uint32
		ok        bool
	}{
		{"the nearest to the middle", 264, 363, nil, 300, true},
		{"its limit is what counts", 264, 363, guard, 300, true},
		{"the low end is a good limit", 300, 301, nil, 300, true},
		{"the high end is not", 299, 300, nil, 299, true},
		{"wide", 100, 10_000, nil, 1000, true},
		{"two digits where no human number is", 110, 118, nil, 110, true},
		{"two digits, the nearest", 121, 149, nil, 130, true},
		{"any number where it must be", 263, 266, nil, 264, true},
		{"any number, guarded", 263, 266, guard, 277, true},
		{"from nothing", 0, 1, nil, 0, true},
		{"above what a limit can be", 65_535, 80_000, nil, 0, false},
		{"partly above it", 65_000, 1_000_000, nil, 65_000, true},
		{"no threshold has such a limit", 10, 20, always, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := inside(tt.low, tt.high, 1, tt.limitOf)
			if ok != tt.ok || (ok && got != tt.want) {
				t.Errorf("got %d, %v, want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestInsideKeepsItsWord(t *testing.T) {
	r := newRand(t)
	guard := func(threshold uint32) uint32 { return uint32((uint64(threshold)*95 + 99) / 100) }
	for range 2000 {
		low := uint32(r.IntN(edgeguard.MaxLimit))
		high := low + 1 + spread(r)>>10
		for _, f := range []LimitOf{nil, guard} {
			n, ok := inside(low, high, 1, f)
			if limit := f.limitOf(n); !ok || limit < low || limit >= high {
				t.Fatalf("inside %d and %d: %d (limit %d), %v", low, high, n, limit, ok)
			}
		}
	}
}
