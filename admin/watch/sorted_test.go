package watch

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

func randomPrefix(random *rand.Rand) netip.Prefix {
	b := [16]byte{0x20, 1, 15: byte(random.IntN(8))}
	addr := netip.AddrFrom16(b)
	if random.IntN(2) == 0 {
		addr = netip.AddrFrom4([4]byte{byte(random.IntN(3)), 0, 0, byte(random.IntN(8))})
	}
	return netip.PrefixFrom(addr, random.IntN(addr.BitLen()+1)).Masked()
}

// References are in the order of their keys and then of their prefixes, each is its
// prefix again, and what comes behind one is what a walk through all says.
func TestOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	type pair struct {
		key    int64
		prefix netip.Prefix
	}
	compare := func(a, b pair) int {
		if a.key != b.key {
			return int(a.key - b.key)
		}
		return a.prefix.Compare(b.prefix)
	}
	for range 200 {
		twin := make(map[pair]bool)
		var refs []Ref
		for range random.IntN(60) {
			p := pair{int64(random.IntN(5) - 2), randomPrefix(random)}
			if !twin[p] {
				refs = append(refs, NewRef(p.key, p.prefix))
			}
			twin[p] = true
		}
		list := Sort(refs)
		for range 20 {
			after := pair{int64(random.IntN(5) - 2), randomPrefix(random)}
			backwards, all := random.IntN(2) == 0, random.IntN(5) == 0
			var want []pair
			for p := range twin {
				if by := compare(p, after); all || backwards && by < 0 || !backwards && by > 0 {
					want = append(want, p)
				}
			}
			slices.SortFunc(want, compare)
			if backwards {
				slices.Reverse(want)
			}
			refs := list.Behind(NewRef(after.key, after.prefix), backwards)
			if all {
				refs = list.All(backwards)
			}
			var got []pair
			for i := range refs.Len() {
				got = append(got, pair{refs.At(i).Key(), refs.At(i).Prefix()})
			}
			if !slices.Equal(got, want) {
				t.Fatalf("behind %v, backwards %v, all %v: got %v, want %v", after, backwards, all, got, want)
			}
		}
	}
}

func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Ref{}); size != refSize {
		t.Errorf("a reference has %d bytes", size)
	}
}

// lists makes copies of a list that grows, so that each copy's length is its own.
type lists struct {
	copies *Copies
	length int
	made   int
}

func (l *lists) read(t *testing.T, order string, name uint64) *Copy {
	t.Helper()
	c, ok := l.copies.Of(t.Context(), order, name, func(time.Time) []Ref {
		l.made++
		return make([]Ref, l.length+l.made)
	})
	if !ok || c.Name == 0 || len(c.List) != l.length+int(c.Name) {
		t.Fatalf("%+v, %v", c, ok)
	}
	return c
}

// A walk stays in its copy while others ask for new ones, as long as it reads.
// Memory is bounded, and free a minute after the last reader.
func TestWalkStays(t *testing.T) {
	for length, most := range map[int]int{10: many, room / 4: 3, room: few} {
		synctest.Test(t, func(t *testing.T) {
			l := &lists{copies: NewCopies(time.Now), length: length}
			walk := l.read(t, "ends", 0)
			for range 70 {
				for range most - 1 {
					time.Sleep(max(copyLifetime, copiesKept/2/time.Duration(most)))
					if got := l.read(t, "ends", 0); got == walk {
						t.Fatal("a first page is of an old copy")
					}
				}
				if got := l.read(t, "ends", walk.Name); got != walk {
					t.Fatalf("the next page is of copy %d, not %d", got.Name, walk.Name)
				}
				if got := l.copies.Bytes(); got > int64(max(few*(length+l.made), room)*refSize) || got > int64(many*(length+l.made)*refSize) {
					t.Fatalf("%d bytes", got)
				}
			}
			if other := l.read(t, "count", walk.Name); other == walk {
				t.Fatal("a copy of another order")
			}
			time.Sleep(copiesKept + time.Nanosecond)
			synctest.Wait()
			if n := l.copies.Bytes(); n != 0 {
				t.Fatalf("%d bytes are kept that nobody reads", n)
			}
			if again := l.read(t, "ends", walk.Name); again == walk {
				t.Fatal("a copy that is gone")
			}
		})
	}
}

// A first page of a short list is of now.
func TestShortIsOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lists{copies: NewCopies(time.Now), length: short - 2}
		if one, other := l.read(t, "ends", 0), l.read(t, "ends", 0); one == other {
			t.Error("the second first page is of the same copy")
		}
		if one, other := l.read(t, "ends", 0), l.read(t, "ends", 0); one != other {
			t.Error("of a longer list, the second first page is of another copy")
		}
	})
}

// First pages share a copy while it is fresh. One that took long is used for longer.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCopies(time.Now)
		var mu sync.Mutex
		made := 0
		slow := func(time.Time) []Ref {
			mu.Lock()
			defer mu.Unlock()
			made++
			time.Sleep(time.Second)
			return make([]Ref, short+1)
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { c.Of(t.Context(), "ends", 0, slow) })
		}
		all.Wait()
		time.Sleep(copyRest*time.Second - time.Nanosecond)
		if c.Of(t.Context(), "ends", 0, slow); made != 1 {
			t.Fatalf("made %d copies for 51 readers", made)
		}
		time.Sleep(time.Nanosecond)
		if c.Of(t.Context(), "ends", 0, slow); made != 2 {
			t.Fatalf("made %d copies, want a new one", made)
		}
	})
}

// Who goes away while another copy is made does not wait for it.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCopies(time.Now)
		end := make(chan struct{})
		go c.Of(t.Context(), "ends", 0, func(time.Time) []Ref { <-end; return nil })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, ok := c.Of(ctx, "count", 0, func(time.Time) []Ref { t.Error("two are made together"); return nil }); ok {
			t.Error("an answer")
		}
		close(end)
	})
}

// BenchmarkSort sorts a million references.
func BenchmarkSort(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	refs := make([]Ref, 1_000_000)
	for b.Loop() {
		b.StopTimer()
		for i := range refs {
			refs[i] = NewRef(random.Int64N(1_000_000), netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), 32))
		}
		b.StartTimer()
		Sort(refs)
	}
}
