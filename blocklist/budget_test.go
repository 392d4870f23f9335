package blocklist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

// flooder makes the prefixes of a flood, one after the other.
type flooder func(i int) netip.Prefix

var floods = map[string]flooder{
	"one /44": func(i int) netip.Prefix {
		return v6Net(0x20010db800000000|uint64(i&(1<<20-1)), 64)
	},
	"a /32, one /64 of each /48": func(i int) netip.Prefix {
		return v6Net(0x20010db800000000|uint64(i&0xffff)<<16, 64)
	},
	"a hundred /48 of as many providers": func(i int) netip.Prefix {
		return v6Net(0x2a00000000000000|uint64(i%100)<<32|uint64(i/100), 64)
	},
	"all IPv6": func(i int) netip.Prefix {
		return v6Net(0x2000000000000000|uint64(i)*0x9e3779b97f4a7c15>>3, 64)
	},
	"an IPv4 /12": func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64 | byte(i>>16)&15, byte(i >> 8), byte(i)}), 32)
	},
	"all IPv4": func(i int) netip.Prefix {
		n := uint32(i)*2654435761 | 1
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{1 + byte(n>>24)%220, byte(n >> 16), byte(n >> 8), byte(n)}), 32)
	},
}

func v6Net(hi uint64, bits int) netip.Prefix {
	var a [16]byte
	for i := range 8 {
		a[i] = byte(hi >> (56 - 8*i))
	}
	return netip.PrefixFrom(netip.AddrFrom16(a), bits).Masked()
}

// TestOffendersSurviveTraps: 2,000 offenders blocked for ten minutes go on
// asking, while 2,000 addresses a second spring a trap that blocks for a day. By
// the end of the blocks the traps would push out every offender.
func TestOffendersSurviveTraps(t *testing.T) {
	fulltest.Only(t)
	for name, flood := range floods {
		for _, asks := range []int{1, 2} { // of each address of the flood, the one that blocks it included
			t.Run(fmt.Sprintf("%s, %d requests each", name, asks), func(t *testing.T) {
				if stay := besieged(t, flood, asks); stay != besiegedOffenders {
					t.Errorf("%d of %d offenders are still blocked", stay, besiegedOffenders)
				}
			})
		}
	}
}

const besiegedOffenders = 2000

func besieged(t *testing.T, flood flooder, asks int) (stay int) {
	const most, each, seconds = 6000, 1000, 15 // the whole of it is in test/torture
	l := New(Config{Most: most})
	r := rand.New(rand.NewPCG(1, 2))
	offenders := make([]netip.Prefix, besiegedOffenders)
	for i := range offenders {
		if offenders[i] = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(1 + r.IntN(220)), byte(r.IntN(256)), byte(i >> 8), byte(i)}), 32); i%2 == 0 {
			offenders[i] = v6Net(0x2600000000000000|r.Uint64()>>10&^0xffff|uint64(i), 64)
		}
		mustMerge(t, l, edgeguard.Block{Prefix: offenders[i], Rule: "site", Since: epoch, Until: epoch.Add(10 * time.Minute), Version: 1})
	}
	for second := range seconds {
		now := epoch.Add(time.Duration(second) * time.Second)
		for i := range each {
			at := now.Add(time.Duration(i) * time.Second / each)
			p := flood(second*each + i)
			if _, _, err := l.Add(edgeguard.Block{Prefix: p, Rule: "trap", Since: at, Until: at.Add(24 * time.Hour)}, false, at); err != nil {
				t.Fatal(err)
			}
			ask(l, p, at, asks)
			ask(l, offenders[2*i%len(offenders)], at, 1)
			ask(l, offenders[(2*i+1)%len(offenders)], at, 1)
		}
	}
	for _, p := range offenders {
		if standing, b := l.Find(epoch.Add(seconds*time.Second), p.Addr()); standing == Blocked && b.Rule == "site" {
			stay++
		}
	}
	if l.Len() > most || l.Stats().Evicted < each*seconds-most {
		t.Errorf("%d blocks stand of %d, %d were evicted", l.Len(), most, l.Stats().Evicted)
	}
	return stay
}

func ask(l *List, p netip.Prefix, now time.Time, times int) {
	for range times {
		if standing, b := l.FindHit(now, p.Addr()); standing == Blocked {
			b.Refused(now, 1)
		}
	}
}

// Operators' blocks never go, fill half at most, and say so.
func TestOperatorsBlocksStay(t *testing.T) {
	const most = 100
	l := New(Config{Most: most})
	byHand := func(i int) edgeguard.Block {
		return edgeguard.Block{Prefix: host(i), Rule: edgeguard.ManualRule, Since: epoch, Until: epoch.Add(time.Hour)}
	}
	for i := range most / 2 {
		if _, _, err := l.Add(byHand(i), i%2 == 0, epoch); err != nil {
			t.Fatal(err)
		}
	}
	_, changed, err := l.Add(byHand(most), false, epoch)
	want := host(most).String() + ": the list is full: 50 blocks by hand, half of max_blocks (100)"
	if changed || !errors.Is(err, ErrFull) || err.Error() != want {
		t.Errorf("one more: %v, %v", changed, err)
	}
	longer := byHand(0)
	longer.Until = epoch.Add(2 * time.Hour)
	if _, changed, err := l.Add(longer, true, epoch); err != nil || !changed {
		t.Errorf("a longer one in its own place: %v, %v", changed, err)
	}
	for i := range 10 * most {
		mustMerge(t, l, block(host(1000+i).String(), time.Hour))
	}
	if s := l.Stats(); s.ByHand != most/2 || l.Len() != most || s.Evicted != 9*most+most/2 || s.Full != 1 {
		t.Errorf("%+v", s)
	}
	if _, ok := l.Lift(host(0), epoch, "", ""); !ok {
		t.Error("an operator's block cannot be lifted")
	}
	if _, _, err := l.Add(byHand(most), false, epoch); err != nil {
		t.Errorf("after one was removed: %v", err)
	}
}

// A rule's block that an operator takes over stays, and the other way round.
func TestBlockChangesHands(t *testing.T) {
	l := New(Config{Most: 4})
	b := block("192.0.2.1/32", time.Hour)
	mustMerge(t, l, b)
	ask(l, b.Prefix, epoch, 1)
	b.Version, b.Rule = 2, edgeguard.ManualRule
	mustMerge(t, l, b)
	if s := l.Stats(); s.ByHand != 1 || l.budget.rest != 0 {
		t.Errorf("by hand %d, others %d", s.ByHand, l.budget.rest)
	}
	b.Version, b.Rule = 3, "site"
	mustMerge(t, l, b)
	if s := l.Stats(); s.ByHand != 0 || l.budget.rest != 1 {
		t.Errorf("by hand %d, others %d", s.ByHand, l.budget.rest)
	}
	if n, last, ok := l.Refusals(b.Prefix); n != 1 || !ok || !last.Equal(epoch) {
		t.Errorf("%d refusals, the last at %v, %v", n, last, ok)
	}
}

// Evicting leaves nothing behind: no tombstone, and the next block of the
// address is as the first.
func TestEvictionIsLocal(t *testing.T) {
	l := New(Config{Most: 2})
	var told, gone []netip.Prefix
	l.OnChange(func(b edgeguard.Block) { told = append(told, b.Prefix) })
	l.OnEvict(func(b edgeguard.Block) { gone = append(gone, b.Prefix) })
	for i := range 3 {
		mustMerge(t, l, block(host(i).String(), time.Hour))
	}
	if !slices.Equal(told, []netip.Prefix{host(0), host(1), host(2)}) || !slices.Equal(gone, []netip.Prefix{host(0)}) {
		t.Errorf("told of %v, evicted %v", told, gone)
	}
	if v := l.Version(host(0)); v != 0 || l.Stats().Remembered != 0 {
		t.Errorf("version %d, %d remembered", v, l.Stats().Remembered)
	}
	if standing, _ := l.Find(epoch, host(0).Addr()); standing != None {
		t.Errorf("evicted and %v", standing)
	}
}

// What is over makes room before anything that stands does.
func TestOverGoesFirst(t *testing.T) {
	l := New(Config{Most: 2})
	mustMerge(t, l, block(host(0).String(), time.Minute), block(host(1).String(), time.Hour))
	later := epoch.Add(2 * time.Minute)
	if _, err := l.Merge(edgeguard.Block{Prefix: host(2), Rule: "site", Since: later, Until: later.Add(time.Hour), Version: 1}, later); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.Evicted != 0 || l.Len() != 2 {
		t.Errorf("%d evicted, %d stand", s.Evicted, l.Len())
	}
}

// What ends, and what is lifted, is remembered within the budget too.
func TestRememberedIsBounded(t *testing.T) {
	l := New(Config{Most: 100, Retention: time.Hour})
	for i := range 1000 {
		now := epoch.Add(time.Duration(i) * time.Second)
		if _, err := l.Merge(edgeguard.Block{Prefix: host(i), Since: now, Until: now.Add(time.Second), Version: 1}, now); err != nil {
			t.Fatal(err)
		}
		l.Sweep(now)
	}
	if n := l.Stats().Remembered; n != 100 {
		t.Errorf("%d ended blocks are remembered", n)
	}
	now := epoch.Add(1000 * time.Second)
	for i := range 1000 {
		b := edgeguard.Block{Prefix: host(5000 + i), Since: now, Until: now.Add(time.Minute), Version: 1, Lifted: true}
		if _, err := l.Merge(b, now); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.Stats().Remembered; n != 200 {
		t.Errorf("%d are remembered", n)
	}
}

// A restart with a smaller budget, and a reload with one.
func TestLessBudget(t *testing.T) {
	big := New(Config{Most: 1000})
	for i := range 700 {
		mustMerge(t, big, block(host(i).String(), time.Hour))
	}
	for i := range 300 {
		b := edgeguard.Block{Prefix: host(1000 + i), Rule: edgeguard.ManualRule, Since: epoch, Until: epoch.Add(time.Hour), Version: 1}
		mustMerge(t, big, b)
	}
	small := New(Config{Most: 200})
	small.Restore(big.Records(), epoch)
	if s := small.Stats(); s.ByHand != 300 || small.Len() != 400 {
		t.Errorf("restored: %d by hand of %d, want 300 of 400", s.ByHand, small.Len())
	}
	big.SetMost(200)
	for big.Sweep(epoch) > 0 {
	}
	if s := big.Stats(); s.ByHand != 300 || big.Len() != 400 || s.Evicted != 600 {
		t.Errorf("set: %d by hand of %d, %d evicted, want 300 of 400, 600", s.ByHand, big.Len(), s.Evicted)
	}
	checkCounts(t, big)
	checkCounts(t, small)
}

// Readers note refusals while the writer evicts.
func TestRefusedBesideEvictions(t *testing.T) {
	l := New(Config{Most: 200})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20_000 {
			if standing, b := l.FindHit(epoch, host(i%400).Addr()); standing == Blocked {
				b.Refused(epoch, 1)
			}
		}
	}()
	for i := range 4000 {
		mustMerge(t, l, edgeguard.Block{Prefix: host(i % 400), Rule: "site", Until: epoch.Add(time.Hour), Version: uint64(i)})
	}
	<-done
	if l.Len() != 200 {
		t.Errorf("%d stand", l.Len())
	}
}

func TestAllowancesHaveTheirPart(t *testing.T) {
	l := New(Config{Most: 40})
	allow := func(i int) error {
		_, _, err := l.Add(edgeguard.Block{Prefix: host(i), Rule: edgeguard.ManualRule, Allow: true, Since: epoch, Until: edgeguard.Forever}, false, epoch)
		return err
	}
	for i := range 10 {
		if err := allow(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := allow(10); !errors.Is(err, ErrFull) {
		t.Errorf("the eleventh: %v", err)
	}
	if err := allow(3); err != nil {
		t.Errorf("again: %v", err)
	}
}

// BenchmarkEvict is one more block where each has to make room, among blocks of
// which a tenth was refused something since the last.
func BenchmarkEvict(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := New(Config{Most: n})
			for i := range n {
				if _, err := l.Merge(edgeguard.Block{Prefix: host(i), Until: epoch.Add(time.Hour), Version: 1}, epoch); err != nil {
					b.Fatal(err)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			for i := n; b.Loop(); i++ {
				if r.IntN(10) == 0 {
					if standing, blk := l.FindHit(epoch, host(r.IntN(i)).Addr()); standing == Blocked {
						blk.Refused(epoch, 1)
					}
				}
				if _, err := l.Merge(edgeguard.Block{Prefix: host(i), Until: epoch.Add(time.Hour), Version: 1}, epoch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRefused notes refusals of blocks that were found just before.
func BenchmarkRefused(b *testing.B) {
	for _, n := range sizes {
		l, addrs := filled(b, n), probes(n)["hit"]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, blk := l.FindHit(epoch, addrs[i&(probeCount-1)]); blk != nil {
					blk.Refused(epoch, 1)
				}
			}
		})
	}
}

// A new tombstone always finds room: what has ended goes for it, and then the
// tombstone that ends first. It is counted, and what is remembered stays bounded.
func TestTombstonesFindRoom(t *testing.T) {
	l := New(Config{Most: 10, Retention: time.Hour})
	for i := range 10 {
		mustMerge(t, l, block(host(i).String(), time.Second))
	}
	now := epoch.Add(time.Minute)
	l.Sweep(now) // ten are remembered as ended
	lift := func(i int, lasts time.Duration) {
		t.Helper()
		b := edgeguard.Block{Prefix: host(100 + i), Since: now, Until: now.Add(lasts), Version: 7, Lifted: true}
		if _, err := l.Merge(b, now); err != nil {
			t.Fatal(err)
		}
		if v := l.Version(b.Prefix); v != 7 {
			t.Fatalf("tombstone %d is not remembered: version %d", i, v)
		}
	}
	for i := range 20 {
		lift(i, 24*time.Hour+time.Duration(20-i)*time.Hour) // the last ends first
	}
	if s := l.Stats(); s.Remembered != 20 || s.Forgotten != 10 || l.Version(host(3)) != 0 {
		t.Fatalf("%d remembered, %d forgotten, an ended one %d", s.Remembered, s.Forgotten, l.Version(host(3)))
	}
	lift(20, 12*time.Hour)
	lift(21, 366*24*time.Hour)
	for i, want := range map[int]uint64{0: 7, 18: 7, 19: 0, 20: 0, 21: 7} {
		if v := l.Version(host(100 + i)); v != want {
			t.Errorf("tombstone %d has version %d, want %d", i, v, want)
		}
	}
	if s := l.Stats(); s.Remembered != 20 || s.Forgotten != 12 {
		t.Errorf("%d remembered, %d forgotten", s.Remembered, s.Forgotten)
	}
}
