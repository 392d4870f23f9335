package blocklist

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

// slowNewest is Newest as one would write it first: all blocks, sorted.
func slowNewest(l *List, now time.Time, only Only, after Place) (out []netip.Prefix) {
	newer := func(a, b Place) int {
		if by := b.Since.Compare(a.Since); by != 0 {
			return by
		}
		return b.Prefix.Compare(a.Prefix)
	}
	all := slices.SortedFunc(l.All(now), func(a, b edgeguard.Block) int { return newer(PlaceOf(&a), PlaceOf(&b)) })
	for i := range all {
		if (only.Rule == "" || all[i].Rule == only.Rule) && (only.Origin == "" || all[i].Origin == only.Origin) && (!after.Prefix.IsValid() || newer(after, PlaceOf(&all[i])) < 0) {
			out = append(out, all[i].Prefix)
		}
	}
	return out
}

// checkKinds counts the blocks of each kind.
func checkKinds(t *testing.T, l *List) {
	t.Helper()
	want := make(map[Common]int)
	for p, e := range l.blocks.All() { // those that have ended, too
		want[Common{e.block.Rule, e.block.Origin, p.Addr().Is6()}]++
	}
	if !maps.Equal(l.newest.common, want) {
		t.Fatalf("there are %v, want %v", l.newest.common, want)
	}
	for kind, n := range want {
		if got, ok := l.Count(func(k Common) bool { return k == kind }); got != n || !ok {
			t.Fatalf("%d of %v, want %d", got, kind, n)
		}
	}
}

// Of too many kinds there is no count, which would hold the lock for long.
func TestTooManyKinds(t *testing.T) {
	fulltest.Only(t)
	l := New(Config{})
	for i := range mostCommon + 1 {
		b := edgeguard.Block{Prefix: host(i), Rule: "site", Origin: fmt.Sprint("n", i), Until: epoch.Add(time.Hour), Version: 1}
		if _, err := l.Merge(b, epoch); err != nil {
			t.Fatal(err)
		}
		if n, ok := l.Count(func(Common) bool { return true }); ok != (i < mostCommon) || ok && n != i+1 {
			t.Fatalf("%d, %v of %d", n, ok, i+1)
		}
	}
}

func prefixesOf(l *List, now time.Time, only Only, after Place) (out []netip.Prefix) {
	for b := range l.Newest(now, only, after) {
		if (only.Rule == "" || b.Rule == only.Rule) && (only.Origin == "" || b.Origin == only.Origin) {
			out = append(out, b.Prefix)
		} else if only.Rule == "" || only.Origin == "" {
			return nil // not looked for
		}
	}
	return out
}

// The newest blocks are those of a sorted list, whatever was merged, extended,
// replaced, lifted, evicted, restored and swept before.
func TestNewestOracle(t *testing.T) {
	fulltest.Only(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	rules := []string{"site", "login", edgeguard.ManualRule}
	for range 10 {
		l, now := New(Config{Most: 900}), epoch
		for step := range 4000 {
			p := host(random.IntN(1200))
			switch random.IntN(10) {
			case 0:
				l.Lift(p, now, "", "n1")
			case 1:
				now = now.Add(time.Duration(random.IntN(3)) * time.Second)
				l.Sweep(now)
			case 2:
				a := edgeguard.Block{Prefix: p, Allow: true, Rule: edgeguard.ManualRule, Since: now, Until: now.Add(time.Minute)}
				_, _, _ = l.Add(a, false, now) // may be refused: then nothing changes
			case 3:
				b := edgeguard.Block{Prefix: p, Rule: "site", Since: now.Add(-time.Minute), Until: now.Add(time.Hour), Version: 1 << 40}
				l.Restore(maps.All(map[edgeguard.Block]Trust{b: {}}), now)
			default:
				since := now.Add(-time.Duration(random.IntN(5)) * time.Second) // the fleet's come late
				b := edgeguard.Block{Prefix: p, Rule: rules[random.IntN(3)], Origin: []string{"n1", "n2"}[random.IntN(2)], Since: since, Until: now.Add(time.Duration(random.IntN(600)) * time.Second)}
				_, _, _ = l.Add(b, random.IntN(9) == 0, now)
			}
			if step == 2000 {
				l.SetMost(500)
			}
			if step%400 != 0 {
				continue
			}
			for _, only := range []Only{{}, {Rule: "site"}, {Rule: "manual"}, {Rule: "none"}, {Origin: "n1"}, {Origin: "n2"}, {"site", "n2"}, {"manual", "n1"}, {"site", "n3"}} {
				after := Place{}
				if all := slowNewest(l, now, Only{}, Place{}); random.IntN(2) == 0 && len(all) > 0 {
					after = Place{now.Add(-time.Duration(random.IntN(100)) * time.Second), all[random.IntN(len(all))]}
				}
				if diff := gocmp.Diff(slowNewest(l, now, only, after), prefixesOf(l, now, only, after), gocmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
					t.Fatalf("only %+v after %v: %s", only, after, diff)
				}
			}
			counted := 0
			for rule, n := range l.Stats().Rules {
				if listed := slowNewest(l, epoch, Only{Rule: rule}, Place{}); n < len(listed) || n == 0 {
					t.Fatalf("%d blocks of rule %s are counted, %d listed", n, rule, len(listed))
				}
				counted += n
			}
			checkKinds(t, l)
			if counted != l.Len() {
				t.Fatalf("%d blocks are counted by rule, Len is %d", counted, l.Len())
			}
		}
	}
}

// Every block that stays is returned once, while others come and go between the
// steps and within them.
func TestNewestWhileOthersChange(t *testing.T) {
	const many = 5 * newestStep
	l := New(Config{})
	for i := range many {
		mustMerge(t, l, edgeguard.Block{Prefix: host(2 * i), Rule: "site", Since: epoch.Add(time.Duration(i%7) * time.Millisecond), Until: epoch.Add(time.Hour), Version: 1})
	}
	var others sync.WaitGroup
	done := make(chan struct{})
	others.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			b := edgeguard.Block{Prefix: host(2*(i%many) + 1), Rule: "site", Since: epoch.Add(time.Duration(i%9) * time.Millisecond), Until: epoch.Add(time.Hour)}
			if _, _, err := l.Add(b, false, epoch); err != nil {
				t.Error(err)
			}
			l.Lift(b.Prefix, epoch, "", "n1")
		}
	})
	for range 20 {
		seen := make(map[netip.Prefix]int)
		for b := range l.Newest(epoch, Only{Rule: "site"}, Place{}) {
			seen[b.Prefix]++
		}
		for i := range many {
			if seen[host(2*i)] != 1 {
				t.Errorf("%v was returned %d times", host(2*i), seen[host(2*i)])
			}
		}
	}
	close(done)
	others.Wait()
}

// BenchmarkNewest reads a page of 100 in the middle of a million blocks.
func BenchmarkNewest(b *testing.B) {
	l := New(Config{})
	l.Restore(func(yield func(edgeguard.Block, Trust) bool) {
		for i := range 1_000_000 {
			if !yield(edgeguard.Block{Prefix: host(i), Rule: "site", Since: epoch.Add(time.Duration(i)), Until: epoch.Add(time.Hour), Version: 1}, Trust{}) {
				return
			}
		}
	}, epoch)
	for b.Loop() {
		n := 0
		for range l.Newest(epoch, Only{Rule: "site"}, Place{epoch.Add(500_000), host(0)}) {
			if n++; n == 100 {
				break
			}
		}
	}
}
