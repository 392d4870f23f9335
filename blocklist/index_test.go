package blocklist

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"
	"unsafe"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

func indexed(p netip.Prefix) *entry {
	e := &entry{block: edgeguard.Block{Prefix: p}, due: nanos(epoch.Add(time.Hour))}
	e.network, e.length = split(p)
	return e
}

// TestIndexAgainstMap puts in, replaces and takes out, up to some thousands and
// down to none, so that pages split and are joined.
func TestIndexAgainstMap(t *testing.T) {
	fulltest.Only(t)
	d := newDice(t)
	x := newIndex()
	held := make(map[netip.Prefix]*entry)
	most := 0
	for round := range 12 {
		for range 4000 {
			p := randomPrefix(d.Rand)
			if d.IntN(2) == 0 {
				p = host(d.IntN(1 << 16))
			}
			switch e := held[p]; {
			case e != nil && (round >= 8 || d.IntN(4) == 0):
				x.remove(e)
				delete(held, p)
			case round < 8:
				held[p] = indexed(p)
				x.putBlock(held[p])
			}
			if e := x.exact(p); e != held[p] {
				t.Fatalf("%v: %p is held and %p found", p, held[p], e)
			}
		}
		most = max(most, len(held))
		checkIndex(t, x, held)
	}
	for p, e := range held {
		x.remove(e)
		delete(held, p)
	}
	checkIndex(t, x, held)
	if most < 3*pageFull {
		t.Errorf("at most %d were held: no page can have split", most)
	}
	if p := x.dir.Load().pageOf(0); p.depth != 0 {
		t.Errorf("empty again, and pages are left at depth %d", p.depth)
	}
}

func checkIndex(t *testing.T, x *index, held map[netip.Prefix]*entry) {
	t.Helper()
	for p, e := range held {
		if x.exact(p) != e {
			t.Fatalf("%v is held and not found", p)
		}
	}
	d, n := x.dir.Load(), 0
	for i := 0; i < len(d.pages); {
		p := d.pages[i].Load()
		counted := 0
		p.entries(func(*entry) { counted++ })
		if counted != p.n || p.n > pageFull {
			t.Fatalf("a page says that it holds %d, and holds %d", p.n, counted)
		}
		n += p.n
		i += 1 << (d.depth - p.depth)
	}
	if n != len(held) {
		t.Fatalf("%d entries, want %d", n, len(held))
	}
	if n == 0 && len(x.v4.longestFirst())+len(x.v6.longestFirst()) > 0 {
		t.Error("empty, and there are lengths in use")
	}
}

// TestIndexOverfullBuckets makes every entry meet in few buckets, so that they
// are passed more often than a bucket counts.
func TestIndexOverfullBuckets(t *testing.T) {
	fulltest.Only(t)
	p, held := new(page), make(map[int]*entry)
	at := func(i int) hash { return hash(i%3<<8 | i%5) }
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		i := r.IntN(1500)
		e := held[i]
		switch found, b, slot := p.findEntry(at(i), network{lo: uint64(i)}, 128); {
		case found != e:
			t.Fatalf("%d: %p is held and %p found", i, e, found)
		case e != nil && r.IntN(3) == 0:
			p.remove(at(i), b, slot)
			delete(held, i)
		case e == nil && p.n < pageFull:
			held[i] = &entry{network: network{lo: uint64(i)}, length: 128}
			p.addEntry(at(i), held[i])
		}
	}
}

// TestBlockNeverOutOfSight: while a block is replaced again and again, and
// pages split and join around it, no reader ever misses it.
func TestBlockNeverOutOfSight(t *testing.T) {
	l := New(Config{})
	watched := block("198.51.100.7/32", time.Hour)
	mustMerge(t, l, watched)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s, b := l.Find(epoch, watched.Prefix.Addr()); s != Blocked || b.Prefix != watched.Prefix {
					t.Errorf("found %v %v", s, b)
					return
				}
			}
		})
	}
	for i := range 6 * pageFull {
		watched.Version++
		other := block(host(i).String(), time.Minute)
		mustMerge(t, l, watched, other)
	}
	for l.Sweep(epoch.Add(time.Minute)) > 0 {
	}
	close(done)
	readers.Wait()
}

// TestOneLine: what a look-up reads of an entry, and a bucket, is one cache
// line; and entries begin at one.
func TestOneLine(t *testing.T) {
	var e entry
	if end := unsafe.Offsetof(e.block) + unsafe.Sizeof(e.block.Prefix); end > 64 {
		t.Errorf("what a look-up reads ends at byte %d", end)
	}
	if size := unsafe.Sizeof(e); size != 192 {
		t.Errorf("an entry has %d bytes", size)
	}
	if size := unsafe.Sizeof(bucket{}); size != 64 {
		t.Errorf("a bucket has %d bytes", size)
	}
}

func TestNanos(t *testing.T) {
	at := func(s string) int64 {
		parsed, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return nanos(parsed)
	}
	order := []string{"0001-01-01T00:00:00Z", "1700-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", "2262-01-01T00:00:00Z", "9999-01-01T00:00:00Z"}
	for i, s := range order[1:] {
		if at(order[i]) >= at(s) {
			t.Errorf("%s is not before %s", order[i], s)
		}
	}
}

// FuzzIndex plays bytes as puts and removes of few prefixes in tiny orders.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0x81, 0x82, 0x83})
	f.Fuzz(func(t *testing.T, ops []byte) {
		x, held := newIndex(), make(map[netip.Prefix]*entry)
		for _, op := range ops {
			p, _ := netip.AddrFrom4([4]byte{10, 0, op & 15, op & 31}).Prefix(32 - int(op&0x60>>4))
			if e := held[p]; e != nil && op&0x80 != 0 {
				x.remove(e)
				delete(held, p)
			} else {
				held[p] = indexed(p)
				x.putBlock(held[p])
			}
			a := netip.AddrFrom4([4]byte{10, 0, op & 15, op & 31})
			want := (*entry)(nil)
			for length := 32; length >= 0 && want == nil; length-- {
				q, _ := a.Prefix(length)
				want = held[q]
			}
			if got := x.findLongest(epoch, a, 0); got != want {
				t.Fatalf("%v: found %p, want %p", a, got, want)
			}
		}
		checkIndex(t, x, held)
	})
}
