package status

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

// The leaders are the first of all keys in their order, whatever order they come in,
// and what takes refuses is none of them.
func TestLeaders(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for run := range 100 {
		all := make([]admin.KeyCount, random.IntN(2000))
		for i := range all {
			var a [4]byte
			binary.BigEndian.PutUint32(a[:], uint32(i))
			all[i] = admin.KeyCount{Rule: "site", Key: edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4(a), 32)}, Count: 1 + random.Uint32N(50), Limit: []uint32{20, 100}[random.IntN(2)]}
		}
		switch run % 3 { // in no order; the nearest last; first
		case 1:
			slices.SortFunc(all, func(a, b admin.KeyCount) int { return nearness(b, a) })
		case 2:
			slices.SortFunc(all, nearness)
		}
		l := leaders{most: random.IntN(100)}
		for _, k := range all {
			if l.takes(k.Count, k.Limit) {
				l.add(k)
			}
		}
		slices.SortFunc(all, nearness)
		if got, want := l.sorted(), all[:min(l.most, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("run %d, %d of %d: got %v, want %v", run, l.most, len(all), got, want)
		}
	}
}
