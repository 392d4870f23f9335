package peers

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
)

// newTable returns edgeguard's table in memory of its own.
func newTable(tb testing.TB) *Edgeguard {
	memory, release, err := HugeMemory(Budget)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return NewEdgeguard(memory)
}

// What is compared must count the same: edgeguard one by one, edgeguard in
// batches, and the obvious table, on the same random events.
func TestEdgeguardCountsAsTheObviousTable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	obvious, single := NewObvious(), newTable(t)
	slot := uint32(firstSlot)
	for range 50_000 {
		if rng.IntN(100) == 0 {
			slot += rng.Uint32N(7)
		}
		addr := address(rng.Uint32N(500))
		want := obvious.Add(addr, slot)
		if got := single.Add(addr, slot); got != want {
			t.Fatalf("%s at slot %d: %d, the obvious table has %d", addr, slot, got, want)
		}
	}
}

func TestBatchCountsAsOneByOne(t *testing.T) {
	single, batched := newTable(t), newTable(t)
	keys, again := uniform(1), uniform(1)
	for round := range uint32(200) {
		want := uint32(0)
		for range BatchSize {
			want += single.Add(address(keys.next()%100), firstSlot+round/3)
		}
		got := batched.AddBatch(firstSlot+round/3, func() netip.Addr { return address(again.next() % 100) })
		if got != want {
			t.Fatalf("round %d: the batch counts %d, one by one %d", round, got, want)
		}
	}
}

// Every key is reached, or the tables would be smaller than they say.
func TestUniformReachesTheKeys(t *testing.T) {
	keys, seen := uniform(1), make([]bool, keyCount)
	n := 0
	for range 8 * keyCount {
		if k := keys.next(); !seen[k] {
			seen[k] = true
			n++
		}
	}
	if n < keyCount*999/1000 {
		t.Errorf("%d of %d keys were drawn", n, keyCount)
	}
}
