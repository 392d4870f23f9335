package enforce

import (
	"iter"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

// manyBlocks are n of which a fifth are IPv6 /64, in no order.
func manyBlocks(n int) []edgeguard.Block {
	d := rand.New(rand.NewPCG(1, 2))
	blocks := make([]edgeguard.Block, n)
	for i := range blocks {
		x := d.Uint64()
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(1 + x%223), byte(x >> 8), byte(x >> 16), byte(x >> 24)}), 32)
		if i%5 == 0 {
			p = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24), byte(x >> 32)}), 64)
		}
		blocks[i] = edgeguard.Block{Prefix: p, Until: epoch.Add(time.Duration(600+x%3000) * time.Second)}
	}
	return blocks
}

// BenchmarkWrite writes 100,000 blocks as each format, synced and renamed.
func BenchmarkWrite(b *testing.B) {
	l := collect(epoch, slices.Values(manyBlocks(100_000)), false, 0)
	for _, format := range []Format{FormatPlain, FormatNginx, FormatNginxGeo, FormatIPSet, FormatNFT} {
		b.Run(format.String(), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "list")
			for b.Loop() {
				f, err := NewFile(FileConfig{Path: path, Format: format})
				if err != nil {
					b.Fatal(err)
				}
				if err := f.Replace(b.Context(), epoch, l.entries); err != nil {
					b.Fatal(err)
				}
			}
			if info, err := os.Stat(path); err == nil {
				b.ReportMetric(float64(info.Size()), "file-bytes")
			}
			b.ReportMetric(float64(len(l.entries)), "entries")
		})
	}
}

// BenchmarkUnchanged passes on 100,000 entries that are written already.
func BenchmarkUnchanged(b *testing.B) {
	l := collect(epoch, slices.Values(manyBlocks(100_000)), false, 0)
	f, err := NewFile(FileConfig{Path: filepath.Join(b.TempDir(), "list")})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := f.Replace(b.Context(), epoch, l.entries); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCollect makes the list of 100,000 blocks, sorted as the blocklist
// gives them and in no order.
func BenchmarkCollect(b *testing.B) {
	unsorted := manyBlocks(100_000)
	sorted := slices.SortedFunc(slices.Values(unsorted), func(a, b edgeguard.Block) int {
		return comparePrefix(Entry{Prefix: a.Prefix}, Entry{Prefix: b.Prefix})
	})
	for name, blocks := range map[string][]edgeguard.Block{"sorted": sorted, "unsorted": unsorted} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				collect(epoch, slices.Values(blocks), true, len(blocks))
			}
		})
	}
}

// BenchmarkChanged is what the blocklist's writer pays for a change.
func BenchmarkChanged(b *testing.B) {
	r, err := New(Config{Enforcer: fakeKernel{newFake(time.Second)}, Now: time.Now,
		Blocks: func(time.Time) iter.Seq[edgeguard.Block] { return slices.Values([]edgeguard.Block(nil)) }})
	if err != nil {
		b.Fatal(err)
	}
	r.whole = false
	blocks := manyBlocks(maxPending)
	for i := 0; b.Loop(); i++ {
		r.Changed(blocks[i%len(blocks)])
	}
}
