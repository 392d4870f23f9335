package shard

import (
	"net/netip"
	"slices"
	"testing"
)

// TestBatch holds AddBatch to the answers of Add, with keys that come twice in
// a batch, and pages that split and are swept between and within batches.
func TestBatch(t *testing.T) {
	for _, c := range configs {
		for _, budget := range []int64{256 << 10, 64 << 20} {
			t.Run(c.name, func(t *testing.T) {
				r := &traffic{Rand: random(t), past: 1000, keys: 40_000}
				one, many := New(NewMemory(budget), c.Config), New(NewMemory(budget), c.Config)
				for range 300 {
					ops := make([]Op, r.IntN(200))
					for i := range ops {
						if ops[i] = r.op(); i > 0 && r.IntN(4) == 0 {
							ops[i].Addr = ops[r.IntN(i)].Addr
						} else if r.IntN(20) == 0 {
							ops[i].Addr = netip.IPv4Unspecified() // its key is that of a free entry
						}
					}
					var want []Count
					for i := range ops {
						want = append(want, one.Add(&ops[i]))
					}
					got := make([]Count, len(ops))
					many.AddBatch(ops, got)
					if !slices.Equal(got, want) {
						t.Fatalf("got %v\nwant %v", got, want)
					}
					if r.IntN(20) == 0 {
						one.Sweep(r.past, 50)
						many.Sweep(r.past, 50)
					}
				}
				if one.Stats() != many.Stats() {
					t.Errorf("one by one %+v, in batches %+v", one.Stats(), many.Stats())
				}
			})
		}
	}
}
