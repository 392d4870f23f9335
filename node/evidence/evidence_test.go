package evidence

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/internal/safetext"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func prefixOf(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 32)
}

func made(n int, since time.Time, lasts time.Duration) edgeguard.Evidence {
	return edgeguard.Evidence{Prefix: prefixOf(n), Rule: "site", Since: since, Until: since.Add(lasts), Count: uint32(n), Width: 5}
}

// oracle is what is kept, in the order in which it was made, without any index.
type oracle []edgeguard.Evidence

func (o *oracle) drop(prefix netip.Prefix) {
	*o = slices.DeleteFunc(*o, func(e edgeguard.Evidence) bool { return e.Prefix == prefix })
}

func (o *oracle) add(e edgeguard.Evidence) {
	if o.drop(e.Prefix); len(*o) == mostKept {
		*o = slices.Delete(*o, 0, 1)
	}
	*o = append(*o, e)
}

func (o *oracle) of(prefix netip.Prefix) *edgeguard.Evidence {
	if i := slices.IndexFunc(*o, func(e edgeguard.Evidence) bool { return e.Prefix == prefix }); i >= 0 {
		return &(*o)[i]
	}
	return nil
}

// Whatever is made, lifted and looked at: the newest blocks are kept, each until a
// day after its end, and no more of them than the bound.
func TestKeepsAsTheOracle(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	k, now := NewKept(), noon
	var o oracle
	for step := range 15_000 {
		now = now.Add(time.Duration(rng.IntN(20)) * time.Second)
		prefix := prefixOf(rng.IntN(2 * mostKept))
		switch rng.IntN(8) {
		case 0:
			b := edgeguard.Block{Prefix: prefix, Until: now.Add(time.Duration(rng.IntN(7200)) * time.Second), Lifted: rng.IntN(2) == 0}
			k.Changed(b, now)
			if e := o.of(prefix); e != nil && now.Before(e.Until) {
				if e.Until = b.Until; b.Lifted {
					e.Until = now
				}
			}
		case 1:
			got, ok := k.Of(prefix, now)
			want := o.of(prefix)
			if ok != (want != nil && now.Sub(want.Until) < keep) || ok && got.Count != want.Count {
				t.Fatalf("step %d, %s: %v %+v, want %+v", step, prefix, ok, got, want)
			}
		default:
			e := made(step, now, time.Duration(rng.IntN(3600))*time.Second)
			e.Prefix, e.MayBeCustomer = prefix, rng.IntN(9) == 0
			k.Add(e)
			o.add(e)
		}
		if step%3000 == 2999 {
			o = slices.DeleteFunc(o, func(e edgeguard.Evidence) bool { return now.Sub(e.Until) >= keep })
			same(t, k.All(now), o)
			var may oracle
			for _, e := range slices.Backward(o) {
				if e.MayBeCustomer && now.Before(e.Until) && len(may) < 20 {
					may = append(may, e)
				}
			}
			same(t, k.Customers(now, 20), may)
		}
		if k.Customers(now, mostKept); k.marked < 0 || k.marked > len(k.of) {
			t.Fatalf("step %d: %d of %d may be customers", step, k.marked, len(k.of))
		}
		if n := len(k.of); n > mostKept || n != k.oldest.Len() {
			t.Fatalf("step %d: %d kept, %d in order", step, n, k.oldest.Len())
		}
	}
}

func same(t *testing.T, got []edgeguard.Evidence, want oracle) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d are kept, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Prefix != want[i].Prefix || got[i].Count != want[i].Count || !got[i].Until.Equal(want[i].Until) {
			t.Fatalf("at %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestGoneADayAfterTheEnd(t *testing.T) {
	k := NewKept()
	k.Add(made(1, noon, time.Hour))
	k.Add(made(2, noon, time.Hour))
	lifted := noon.Add(time.Minute)
	k.Changed(edgeguard.Block{Prefix: prefixOf(2), Lifted: true, Until: noon.Add(48 * time.Hour)}, lifted)
	for _, c := range []struct {
		n    int
		ends time.Time
	}{{1, noon.Add(time.Hour)}, {2, lifted}} {
		if _, ok := k.Of(prefixOf(c.n), c.ends.Add(keep-1)); !ok {
			t.Errorf("%d is gone within a day of its end", c.n)
		}
		if _, ok := k.Of(prefixOf(c.n), c.ends.Add(keep)); ok {
			t.Errorf("%d is still there a day after its end", c.n)
		}
	}
	// What becomes of the prefix later is not about the block that has ended.
	k.Changed(edgeguard.Block{Prefix: prefixOf(2), Until: noon.Add(48 * time.Hour)}, noon.Add(3*time.Hour))
	if e, ok := k.Of(prefixOf(2), noon.Add(3*time.Hour)); !ok || !e.Until.Equal(lifted) {
		t.Errorf("the end moved to %v, %v", e.Until, ok)
	}
}

// The first split stays, the greatest parts first; a block of this node's own count
// has none.
func TestSplit(t *testing.T) {
	k := NewKept()
	fleet := made(1, noon, time.Hour)
	fleet.Fleet = true
	k.Add(fleet)
	k.Add(made(2, noon, time.Hour))
	var parts []aggregator.NodeCount
	for i := range 40 {
		parts = append(parts, aggregator.NodeCount{Node: fmt.Sprintf("edge-%02d", i), Count: uint32(i + 1)})
	}
	before := k.Changes()
	if !k.Split(prefixOf(1), parts) || k.Changes() == before {
		t.Error("the split was not added")
	}
	if k.Split(prefixOf(1), parts[:1]) || k.Split(prefixOf(2), parts) || k.Split(prefixOf(3), parts) {
		t.Error("a split was added twice, to a block of this node's count, or to none")
	}
	e, _ := k.Of(prefixOf(1), noon)
	if len(e.Split) != maxParts || e.Split[0] != (edgeguard.Part{Node: "edge-39", Count: 40}) {
		t.Errorf("%d parts, %+v", len(e.Split), e.Split[0])
	}
	e.Split[0].Count = 0 // a copy
	if again, _ := k.Of(prefixOf(1), noon); again.Split[0].Count != 40 {
		t.Error("the caller changed what is kept")
	}
}

// A client writes the attributes of a key: what is kept of them is short, and no
// terminal acts on it.
func TestHostileAttributes(t *testing.T) {
	k := NewKept()
	for i, text := range []string{strings.Repeat("\xff", 4096), "host=\x1b[31m\u202e", strings.Repeat("é", 4096)} {
		e := made(i, noon, time.Hour)
		e.With = text
		k.Add(e)
		if got, _ := k.Of(e.Prefix, noon); len(got.With) > 3*maxWith || !safetext.Clean(got.With) {
			t.Errorf("%d bytes: %q", len(got.With), got.With)
		}
	}
}

// BenchmarkAdd is what a crossing costs beside its block, with a full store.
func BenchmarkAdd(b *testing.B) {
	k := NewKept()
	for i := 0; b.Loop(); i++ {
		k.Add(made(i&0xffffff, noon, time.Hour))
	}
	b.ReportAllocs()
}
