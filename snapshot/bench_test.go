package snapshot

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgeguard/blocklist"
	"edgeguard/ring"
	"edgeguard/shard"
)

const (
	benchKeys   = 1_000_000
	benchBlocks = 100_000
)

// BenchmarkWarmStart saves and loads 1 M keys, 90 % of them with up to 4
// events, and 100,000 blocks, from and into a real table and a real list, and
// reports the best of the rounds. Design: load in at most 2 s.
func BenchmarkWarmStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state")
	table, list := benchTable(), benchList(b)
	best := map[string]time.Duration{}
	took := func(what string, f func()) {
		start := time.Now()
		f()
		if d := time.Since(start); best[what] == 0 || d < best[what] {
			best[what] = d
		}
	}
	for b.Loop() {
		w, err := Create(path, Cut{Node: "edge-1", Taken: noon})
		if err != nil {
			b.Fatal(err)
		}
		took("windows", func() { saveTable(w, table) })
		took("blocks", func() {
			for blk := range list.All(noon) {
				w.Block(&Block{Block: blk})
			}
		})
		took("commit", func() { err = w.Commit() })
		if err != nil {
			b.Fatal(err)
		}
		took("read", func() { _, err = LoadFile(path, noon, Sink{}) })
		if err != nil {
			b.Fatal(err)
		}
		restored, blocks := newTable(), blocklist.New(blocklist.Config{})
		took("load", func() { loadBench(b, path, restored, blocks) })
		restored.Close()
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	for what, d := range best {
		b.ReportMetric(d.Seconds(), what+"-s")
	}
}

// loadBench puts the file's content back.
func loadBench(b *testing.B, path string, table *shard.Table, list *blocklist.List) {
	l, err := LoadFile(path, noon, Sink{
		Meter: func(Meter) func(*Window) { return func(w *Window) { restore(table, w) } },
		Block: func(blk *Block) {
			if _, err := list.Merge(blk.Block, noon); err != nil {
				b.Error(err)
			}
		},
	})
	if err != nil || l.Windows != benchKeys || list.Len() != benchBlocks {
		b.Fatal(l, list.Len(), err)
	}
}

func newTable() *shard.Table {
	return shard.New(shard.NewMemory(512<<20), shard.Config{Seed: 1})
}

func benchTable() *shard.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	t, now := newTable(), slot(noon, 5)
	for i := range uint32(benchKeys) {
		events := 1 + rng.IntN(4)
		if i%10 == 0 {
			events = 5 + rng.IntN(251)
		}
		op := shard.Op{Addr: benchAddr(i), Cost: 1}
		for range events {
			op.Now = max(op.Now, now-uint32(rng.IntN(ring.Slots)))
			op.Slot = op.Now
			t.Add(&op)
		}
	}
	return t
}

func benchAddr(i uint32) netip.Addr {
	i = i*2654435761 | 1<<24
	return netip.AddrFrom4([4]byte{byte(i>>24) | 1, byte(i >> 16), byte(i >> 8), byte(i)})
}

func benchList(b *testing.B) *blocklist.List {
	l := blocklist.New(blocklist.Config{})
	for i := range benchBlocks {
		blk := block("10.0.0.0/32", noon.Add(time.Hour)).Block
		blk.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
		if _, err := l.Merge(blk, noon); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// saveTable reads a table through what it offers to everybody.
func saveTable(w *Writer, t *shard.Table) {
	w.Meter(Meter{Fingerprint: "site", Width: 5})
	var win Window
	for e := range func(yield func(shard.Entry) bool) { t.EachEntry(slot(noon, 5), yield) } {
		recent, _ := t.SlotsOf(e.Key.Prefix.Addr(), "", e.Head)
		win = Window{Prefix: e.Key.Prefix, With: e.With, Head: e.Head}
		for i, n := range recent {
			win.Counts[(e.Head-uint32(ring.Slots-1-i))%ring.Slots] = n
		}
		w.Window(&win)
	}
}

// restore counts a window again, slot by slot, oldest first.
func restore(t *shard.Table, w *Window) {
	op := shard.Op{Addr: w.Prefix.Addr(), Now: w.Head}
	for age := range uint32(ring.Slots) {
		op.Slot = w.Head - (ring.Slots - 1 - age)
		if op.Cost = w.Counts[op.Slot%ring.Slots]; op.Cost > 0 {
			t.Add(&op)
		}
	}
}
