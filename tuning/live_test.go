package tuning

import (
	"encoding/binary"
	"math"
	"net/netip"
	"testing"

	"edgeguard"
	"edgeguard/rules"
)

// numberedKey returns the i-th of many keys.
func numberedKey(i int) edgeguard.Key {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 0x14000000+uint32(i))
	return edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4(b), 32)}
}

// What a live tally says of any threshold is what one counts by looking at every
// key: exactly where it says so, else within a bucket.
func TestLiveOutcomeAgainstEveryKey(t *testing.T) {
	r := newRand(t)
	half := func(threshold uint32) uint32 { return (threshold + 1) / 2 }
	exact, inexact := 0, 0
	for range 60 {
		tally := NewTally(Config{Live: true, Top: 1 + r.IntN(100)})
		counts := make([]uint32, 1+r.IntN(2000))
		total := uint64(0)
		for i := range counts {
			counts[i] = uint32(r.IntN(65536)) >> r.IntN(17)
			tally.RecordPeak(numberedKey(i), counts[i])
			total += uint64(counts[i])
		}
		if tally.Peaks.Sum() != total {
			t.Fatalf("all is %d, want %d", tally.Peaks.Sum(), total)
		}
		for range 50 {
			threshold := uint32(r.IntN(65536))>>r.IntN(17) + 1
			got := tally.Outcome(threshold, half)
			var keys, events, near uint64
			for _, count := range counts {
				if count > got.Limit {
					keys++
					events += uint64(count - got.Limit)
				}
				if float64(count) > float64(got.Limit)*31/32 && float64(count) < float64(got.Limit)*33/32+1 {
					near++
				}
			}
			if got.Limit != half(threshold) || got.EventShare != share(got.Events, total) {
				t.Fatalf("%+v of %d in all", got, total)
			}
			if got.Exact {
				exact++
				if got.Keys != keys || got.Events != events {
					t.Fatalf("%+v, want %d keys and %d events", got, keys, events)
				}
				continue
			}
			inexact++
			if off := math.Abs(float64(got.Keys) - float64(keys)); off > float64(near) {
				t.Fatalf("%+v, want %d keys, %d of which are near", got, keys, near)
			}
			if off := math.Abs(float64(got.Events) - float64(events)); off > float64(near)*float64(got.Limit)/32+1 {
				t.Fatalf("%+v, want %d events", got, events)
			}
		}
	}
	if exact == 0 || inexact == 0 {
		t.Errorf("%d exact, %d not: one case was not tested", exact, inexact)
	}
}

// The sums of a distribution's buckets are those of the values in them.
func TestBucketSums(t *testing.T) {
	r := newRand(t)
	var d, other Distribution
	want := make(map[int]uint64)
	for range 5000 {
		v, n := spread(r), uint64(1+r.IntN(3))
		into := &d
		if r.IntN(2) == 0 {
			into = &other
		}
		into.AddN(v, n)
		want[bucketOf(v)] += uint64(v) * n
	}
	d.Merge(&other)
	for b := range d.Buckets() {
		if b.Sum != want[bucketOf(b.Low)] {
			t.Errorf("%+v, want the sum %d", b, want[bucketOf(b.Low)])
		}
	}
}

// A live suggestion lies in the gap, and says what it would refuse now.
func TestLiveSuggestion(t *testing.T) {
	tally := NewTally(Config{Live: true})
	for i := range 1000 {
		tally.RecordPeak(numberedKey(i), uint32(1+i%50))
	}
	for i := range 3 {
		tally.RecordPeak(numberedKey(1000+i), 5000)
	}
	s := tally.Suggest(nil, rules.People{})
	if s.Gap != (Gap{Low: 50, High: 5000, Keys: 3}) || s.Keys != 3 || s.Events != 3*uint64(5000-s.Limit) || !s.Exact {
		t.Errorf("%+v", s)
	}
}
