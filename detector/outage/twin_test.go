package outage

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"edgeguard/internal/fulltest"
)

// twin is the Watch by its definition: it keeps all that it saw, counts it again for each
// step, and knows of no sample.
type twin struct {
	now    uint32 // step
	late   uint64
	scopes [MostScopes]twinScope
}

type twinScope struct {
	groups    map[netip.Prefix][]*visitor
	successes []success
	armed     map[uint32]bool // by step
	spent     []uint32        // steps that were
}

// visitor is an address that has one of the three places of its group.
type visitor struct {
	addr              netip.Prefix
	succeeded, failed []uint32 // steps
}

func (v *visitor) last() uint32 { return slices.Max(v.succeeded) }

type success struct {
	addr netip.Prefix
	step uint32
}

func newTwin() *twin {
	w := &twin{}
	for i := range w.scopes {
		w.scopes[i] = twinScope{groups: map[netip.Prefix][]*visitor{}, armed: map[uint32]bool{}}
	}
	return w
}

// names returns the address as it counts, and its group.
func names(addr netip.Addr) (one, group netip.Prefix) {
	bits := [2]int{64, 48}
	if addr.Is4() {
		bits = [2]int{32, 24}
	}
	one, _ = addr.Prefix(bits[0])
	group, _ = addr.Prefix(bits[1])
	return one, group
}

func (w *twin) See(scope uint8, sec uint32, addr netip.Addr, ok bool) (held bool) {
	step := sec/10 + origin
	if w.now == 0 {
		w.now = step - 1
	}
	for w.now < step {
		w.now++
		w.judge()
	}
	if step+6 < w.now {
		w.late++
		return false
	}
	s := &w.scopes[scope]
	s.note(step, addr, ok)
	return s.armed[step]
}

func (s *twinScope) note(step uint32, addr netip.Addr, ok bool) {
	one, group := names(addr)
	all := s.groups[group]
	i := slices.IndexFunc(all, func(v *visitor) bool { return v.addr == one })
	if !ok {
		if i >= 0 {
			all[i].failed = append(all[i].failed, step)
		}
		return
	}
	switch {
	case i >= 0 && all[i].last() > step:
		return // nothing new
	case i < 0 && len(all) < 3:
		i = len(all)
		all = append(all, &visitor{addr: one})
	case i < 0:
		i = 0
		for j, v := range all {
			if v.last() < all[i].last() || v.last() == all[i].last() && v.addr.Addr().Less(all[i].addr.Addr()) {
				i = j
			}
		}
		if all[i].last()+6 >= step {
			return // no place
		}
		all[i] = &visitor{addr: one}
	}
	all[i].succeeded = append(all[i].succeeded, step)
	s.groups[group] = all
	s.successes = append(s.successes, success{one, step})
}

// judge decides of the step that begins.
func (w *twin) judge() {
	for i := range w.scopes {
		s := &w.scopes[i]
		if len(s.successes) == 0 {
			continue
		}
		s.spent = slices.DeleteFunc(s.spent, func(step uint32) bool { return step+360 <= w.now })
		base, sudden, succeeding, failing := s.figures(w.now)
		least := 10
		if len(s.spent) == 0 {
			base, least = min(base, sudden*6), 20
		}
		if base >= least*30 && succeeding*5*30 <= base && failing >= 10 && failing >= 4*succeeding && len(s.spent) < 72 {
			s.armed[w.now], s.spent = true, append(s.spent, w.now)
		}
	}
}

func (s *twinScope) figures(now uint32) (base, sudden, succeeding, failing int) {
	window := now - 6
	first, minutes, seen := window/6-30, map[success]bool{}, map[netip.Prefix]bool{}
	for _, one := range s.successes {
		if minute := one.step / 6; minute >= first && minute < window/6 {
			minutes[success{one.addr, minute}] = true
		}
		if one.step >= window && one.step < now {
			seen[one.addr] = true
		}
	}
	within := func(steps []uint32, from, to uint32) bool {
		return slices.ContainsFunc(steps, func(step uint32) bool { return step >= from && step < to })
	}
	for _, all := range s.groups {
		for _, v := range all {
			if within(v.succeeded, window-180, window) && !within(v.succeeded, window, now) && within(v.failed, window, now) {
				failing++
			}
		}
	}
	for one := range minutes {
		if one.step >= window/6-5 {
			sudden++
		}
	}
	return len(minutes), sudden, len(seen), failing
}

// TestTwin holds that the Watch answers exactly as its definition says, for answers in any
// order, as long as nothing is sampled.
func TestTwin(t *testing.T) {
	fulltest.Only(t)
	armed := 0
	for seed := range uint64(12) {
		armed += againstTwin(t, seed)
	}
	if armed < 1000 {
		t.Errorf("only %d answers were held: the traffic tests little", armed)
	}
}

// mood is how a site does for a while.
type mood struct {
	steps   int
	asks    float64 // the share of visitors that ask in a step
	success float64
}

func randomMood(r *rand.Rand) mood {
	m := mood{1 + r.IntN(12), 0.1 + r.Float64()/2, 1}
	switch r.IntN(8) {
	case 0:
		m.success = r.Float64()
	case 1, 2, 3:
		m.success = r.Float64() / 30
	case 4:
		m.asks = 0
	}
	return m
}

func againstTwin(t *testing.T, seed uint64) (armed int) {
	r := rand.New(rand.NewPCG(seed, 1))
	g, w := New(seed), newTwin()
	visitors := make([]netip.Addr, 30+r.IntN(90))
	for i := range visitors {
		visitors[i] = v4(r.IntN(60), 1+r.IntN(5))
		if r.IntN(3) == 0 {
			visitors[i] = v6(r.IntN(60))
		}
	}
	step, calm := uint32(noon/10), mood{200 + r.IntN(50), 0.3, 1}
	for range 8 + r.IntN(20) {
		for range calm.steps {
			for _, addr := range visitors {
				if r.Float64() > calm.asks {
					continue
				}
				sec := step*10 + uint32(r.IntN(10))
				if r.IntN(10) == 0 {
					sec -= uint32(r.IntN(80))
				}
				late, scope, ok := g.Late, uint8(r.IntN(5)/4), r.Float64() < calm.success
				got, want := g.CountAnswer(scope, sec, addr, ok), w.See(scope, sec, addr, ok)
				if got != want || g.Late != w.late || g.IsExcused(scope, sec) != want {
					t.Fatalf("seed %d, second %d, %v %v: held %v, want %v; late %d, want %d", seed, sec, addr, ok, got, want, g.Late, w.late)
				}
				if want {
					armed++
				}
				if ok && g.Late == late && !g.Succeeded(addr, sec+uint32(r.IntN(1800))) {
					t.Fatalf("seed %d: %v succeeded", seed, addr)
				}
			}
			step++
		}
		if calm = randomMood(r); r.IntN(9) == 0 {
			step += uint32(r.IntN(500))
		}
	}
	return armed
}
