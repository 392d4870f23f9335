package blocklist

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"edgeguard"
)

// host is the i-th of many addresses.
func host(i int) netip.Prefix {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 0x0b000000+uint32(i)*2654435761%0x40000000)
	return netip.PrefixFrom(netip.AddrFrom4(a), 32)
}

func fill(tb testing.TB, l *List, n int, until func(i int) time.Time) {
	tb.Helper()
	for i := range n {
		b := edgeguard.Block{Prefix: host(i), Rule: "site", Reason: "over limit", Origin: "n1", Since: epoch, Until: until(i), Version: 1}
		if _, err := l.Merge(b, epoch); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestSweepInSteps(t *testing.T) {
	l := New(Config{Retention: time.Minute})
	n := 2*SweepStep + 10
	fill(t, l, n, func(int) time.Time { return epoch.Add(time.Second) })
	end := epoch.Add(time.Second)
	for _, want := range []struct {
		now      time.Time
		handled  int
		standing int
	}{
		{end.Add(-1), 0, n},
		{end, SweepStep, n - SweepStep},
		{end, SweepStep, 10},
		{end, 10, 0},
		{end, 0, 0},
		{end.Add(time.Minute - 1), 0, 0},
		{end.Add(time.Minute), SweepStep, 0},
		{end.Add(time.Hour), SweepStep, 0},
		{end.Add(time.Hour), 10, 0},
	} {
		if got := l.Sweep(want.now); got != want.handled || l.Len() != want.standing {
			t.Errorf("%s: handled %d, want %d; %d stand, want %d", want.now, got, want.handled, l.Len(), want.standing)
		}
		checkCounts(t, l)
	}
	if s := l.Stats(); s.Remembered != 0 {
		t.Errorf("remembers %d", s.Remembered)
	}
}

func TestSweepForgetsAtOnceWhatIsLongOver(t *testing.T) {
	l := New(Config{Retention: time.Minute})
	fill(t, l, 3, func(int) time.Time { return epoch.Add(time.Second) })
	if got := l.Sweep(epoch.Add(time.Hour)); got != 3 || l.Stats().Remembered != 0 {
		t.Errorf("handled %d, remembers %d", got, l.Stats().Remembered)
	}
}

// TestSweepNotEarly: an end between two milliseconds is not swept in the first.
func TestSweepNotEarly(t *testing.T) {
	l := New(Config{})
	end := epoch.Add(time.Second + 500*time.Microsecond)
	fill(t, l, 1, func(int) time.Time { return end })
	if l.Sweep(end.Add(-time.Microsecond)) != 0 || l.Len() != 1 {
		t.Error("swept before its end")
	}
	if l.Sweep(end.Add(time.Millisecond)) != 1 {
		t.Error("not swept after its end")
	}
}

// TestRepeatedBlockKeepsOnePlace: blocking one prefix again and again must not
// grow anything.
func TestRepeatedBlockKeepsOnePlace(t *testing.T) {
	l := New(Config{})
	for i := range 10_000 {
		b := block("172.16.1.1/32", time.Hour)
		b.Version = uint64(i)
		b.Lifted = i%3 == 0
		mustMerge(t, l, b)
	}
	checkCounts(t, l)
	n, pages := 0, 0
	for _, q := range []*expiries{&l.expiries, &l.ended, &l.lifted} {
		n, pages = n+q.n, max(pages, len(q.pages))
	}
	if n != 1 || pages != 1 {
		t.Errorf("%d expiries in %d pages", n, pages)
	}
}

func TestExpiriesAgainstSort(t *testing.T) {
	d := newDice(t)
	var h expiries
	var held []*entry
	for range 3 {
		for range 3 * pageSize {
			if d.IntN(4) == 0 && len(held) > 0 {
				i := d.IntN(len(held))
				h.remove(held[i])
				held = slices.Delete(held, i, i+1)
			} else {
				e := &entry{due: int64(d.IntN(1000))}
				h.pushEntry(e)
				held = append(held, e)
			}
		}
		slices.SortFunc(held, func(a, b *entry) int { return int(a.due - b.due) })
		for len(held) > 100 {
			e := h.nextDue()
			if e.due != held[0].due {
				t.Fatalf("first is due at %d, want %d", e.due, held[0].due)
			}
			h.remove(e)
			held = slices.Delete(held, slices.Index(held, e), slices.Index(held, e)+1)
		}
		if h.n != 100 || len(h.pages) > 2 {
			t.Fatalf("%d left in %d pages", h.n, len(h.pages))
		}
	}
}

func TestOnChange(t *testing.T) {
	l := New(Config{})
	var heard []edgeguard.Block
	l.OnChange(func(b edgeguard.Block) {
		heard = append(heard, b)
		if len(heard) == 1 { // a call from inside is heard after this one
			mustMerge(t, l, block("172.16.1.2/32", time.Minute))
			if len(heard) != 1 {
				t.Error("heard a change inside another")
			}
		}
	})
	first := block("172.16.1.1/32", time.Minute)
	mustMerge(t, l, first, first)
	if _, err := l.Merge(block("0.0.0.0/0", time.Minute), epoch); err == nil {
		t.Error("not refused")
	}
	l.Lift(first.Prefix, epoch, "", "")
	l.Sweep(epoch.Add(time.Hour))
	var got []string
	for _, b := range heard {
		got = append(got, b.Prefix.String()+map[bool]string{true: " lifted"}[b.Lifted])
	}
	if want := []string{"172.16.1.1/32", "172.16.1.2/32", "172.16.1.1/32 lifted"}; !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	l.OnChange(nil)
	mustMerge(t, l, block("172.16.1.3/32", time.Minute))
	if len(heard) != 3 {
		t.Error("heard after it was stopped")
	}
}

func TestOnChangePanics(t *testing.T) {
	l := New(Config{})
	l.OnChange(func(edgeguard.Block) { panic("hearer") })
	func() {
		defer func() {
			if recover() != "hearer" {
				t.Error("the panic was lost")
			}
		}()
		mustMerge(t, l, block("172.16.1.1/32", time.Minute))
	}()
	if l.Len() != 1 { // and the lock is free
		t.Error("the block was lost")
	}
	l.Sweep(epoch)
}

// TestConcurrent runs readers against writers: what always holds must hold in
// every state that a reader can see, and changes are heard in order.
func TestConcurrent(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24")})
	always := block("172.16.0.0/16", time.Hour)
	mustMerge(t, l, always)
	versions := make(map[netip.Prefix]uint64)
	l.OnChange(func(b edgeguard.Block) { // one at a time: the map needs no lock
		if b.Version <= versions[b.Prefix] {
			t.Errorf("heard version %d of %s after %d", b.Version, b.Prefix, versions[b.Prefix])
		}
		versions[b.Prefix] = b.Version
	})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 1000 {
				b := block("172.16.1.1/32", time.Duration(i)*time.Millisecond)
				b.Version = uint64(i + 2)
				switch g % 4 {
				case 0:
					_, _ = l.Merge(b, epoch)
				case 1:
					l.Sweep(epoch.Add(time.Duration(i) * time.Millisecond))
					l.SetProtected(prefixes("10.0.0.0/8"))
				default:
					now := epoch.Add(time.Duration(i) * time.Millisecond)
					if s, _ := l.Find(now, b.Prefix.Addr()); s != Blocked {
						t.Errorf("always blocked, found %s", s)
					}
					if s, _ := l.Find(now, netip.MustParseAddr("192.0.2.1")); s != Allowed {
						t.Errorf("always allowed, found %s", s)
					}
					for b := range l.All(now) {
						_ = b
					}
					l.Stats()
				}
			}
		})
	}
	all.Wait()
	checkCounts(t, l)
}
