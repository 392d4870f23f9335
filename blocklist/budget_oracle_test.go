package blocklist

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

// slowBudget says which blocks may go next, by counting them all.
type slowBudget struct {
	refused map[netip.Prefix]uint32
	last    map[netip.Prefix]time.Time
	least   int
}

// mayGo returns every block that the rule lets go: of the fullest network, that
// with the fewest refusals, for the longest.
func (s *slowBudget) mayGo(blocks []edgeguard.Block) []netip.Prefix {
	members := make(map[netip.Prefix][]netip.Prefix)
	for _, b := range blocks {
		if b.Rule == edgeguard.ManualRule {
			continue
		}
		for _, bits := range map[bool][]int{true: {16}, false: {32, 48}}[b.Prefix.Addr().Is4()] {
			net, _ := b.Prefix.Addr().Prefix(bits)
			members[net] = append(members[net], b.Prefix)
		}
	}
	fullness := func(net netip.Prefix) int {
		if net.Addr().Is6() && net.Bits() == 32 {
			return max(s.least, len(members[net]))
		}
		return max(s.least, 64*len(members[net]))
	}
	fullest := 0
	for net := range members {
		fullest = max(fullest, fullness(net))
	}
	order := func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(s.refused[a], s.refused[b]), s.last[a].Compare(s.last[b]))
	}
	var most []netip.Prefix
	for net, in := range members {
		if fullness(net) == fullest {
			most = append(most, in...)
		}
	}
	least := slices.MinFunc(most, order)
	return slices.DeleteFunc(most, func(p netip.Prefix) bool { return order(p, least) != 0 })
}

// TestEvictionAgainstScan: whichever block goes, it is one that the plain
// reading of the rule lets go; and the list never holds more than it may.
func TestEvictionAgainstScan(t *testing.T) {
	fulltest.Only(t)
	d := newDice(t)
	for range 10 {
		const most = 24
		l := New(Config{Most: most, Retention: time.Minute})
		slow := &slowBudget{make(map[netip.Prefix]uint32), make(map[netip.Prefix]time.Time), d.IntN(5) * wideShare}
		l.budget.least = slow.least
		now, evicted := epoch, []netip.Prefix(nil)
		l.OnEvict(func(b edgeguard.Block) { evicted = append(evicted, b.Prefix) })
		for range 2000 {
			now = now.Add(time.Duration(d.IntN(1000)) * time.Millisecond)
			if d.IntN(20) == 0 {
				now = now.Add(10 * time.Second)
			}
			for l.Sweep(now) > 0 {
			}
			standing := slices.Collect(l.All(now))
			if d.IntN(2) == 0 {
				a := d.addr()
				if found, b := l.FindHit(now, a); found == Blocked {
					b.Refused(now, 1)
					slow.refused[b.Block().Prefix]++
					slow.last[b.Block().Prefix] = now
				}
				continue
			}
			b := d.crowded()
			b.Since, b.Until = now, now.Add(time.Duration(1+d.IntN(300))*time.Second)
			if d.IntN(30) == 0 {
				b.Rule = edgeguard.ManualRule
			}
			if d.IntN(10) == 0 && len(standing) > 0 {
				l.Lift(standing[d.IntN(len(standing))].Prefix, now, "", "")
				standing = slices.Collect(l.All(now))
			}
			known := slices.ContainsFunc(standing, func(o edgeguard.Block) bool { return o.Prefix == b.Prefix })
			evicted = evicted[:0]
			_, changed, err := l.Add(b, false, now)
			if err != nil && !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			if changed && !known {
				slow.refused[b.Prefix], slow.last[b.Prefix] = 0, now
			}
			for _, p := range evicted {
				if !slices.Contains(slow.mayGo(standing), p) {
					t.Fatalf("%s went (%d refusals); may go: %v\nof %v", p, slow.refused[p], slow.mayGo(standing), standing)
				}
			}
			checkBudget(t, l, slow)
			if t.Failed() {
				return
			}
		}
		if l.Stats().Evicted == 0 {
			t.Error("nothing was ever evicted: the test tried nothing")
		}
	}
}

// crowded makes a block in one of a few networks.
func (d dice) crowded() edgeguard.Block {
	few := byte(d.IntN(12))
	var p netip.Prefix
	switch d.IntN(3) {
	case 0:
		p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, few % 3, few, byte(d.IntN(3))}), 32)
	case 1: // a /32 whose blocks lie in many /48
		p = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, byte(d.IntN(200))}), 64)
	default:
		p = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb0 + few%4, 0, few % 2, 0, few}), 64)
	}
	return edgeguard.Block{Prefix: p, Rule: "site"}
}

// checkBudget holds the budget's books against the list.
func checkBudget(t *testing.T, l *List, slow *slowBudget) {
	t.Helper()
	b, byHand, rest := &l.budget, 0, 0
	for p, e := range l.blocks.All() {
		if e.byHand() {
			byHand++
		} else {
			rest++
		}
		if n, _, _ := l.Refusals(p); n != slow.refused[p] {
			t.Errorf("%s has %d refusals, want %d", p, n, slow.refused[p])
		}
	}
	if b.byHand != byHand || b.rest != rest || b.isOver() || byHand > b.most/2 || l.Len() > b.most {
		t.Errorf("%d of rules and %d by hand; the books say %d and %d; at most %d", rest, byHand, b.rest, b.byHand, b.most)
	}
	seats := 0
	for i, g := range b.groups.items {
		if g.place != i || len(g.seats.items) == 0 {
			t.Errorf("group %s: at %d and not %d, with %d", g.prefix, g.place, i, len(g.seats.items))
		}
		if g.prefix.Bits() != groupWide {
			seats += len(g.seats.items)
		}
	}
	if len(b.known) != len(b.groups.items) || seats != rest {
		t.Errorf("%d groups known, %d in order; %d seats of %d blocks", len(b.known), len(b.groups.items), seats, rest)
	}
}
