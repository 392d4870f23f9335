package outage

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"edgeguard/internal/fulltest"
)

// scene plays traffic second by second and notes what the Watch makes of scope 0.
type scene struct {
	g      *Watch
	r      *rand.Rand
	at     uint32
	armed  int      // seconds armed
	turns  []uint32 // the seconds at which it became armed or not, in turn
	held   int      // failures held
	failed int      // failures
}

func newScene(seed uint64) *scene {
	s := &scene{g: New(seed), r: rand.New(rand.NewPCG(seed, 2)), at: noon}
	s.g.Armed = func(_ uint8, sec uint32) { s.turns = append(s.turns, sec) }
	s.g.Disarmed = s.g.Armed
	return s
}

// crowd is addresses who ask, each once in so many seconds, and how often they succeed.
type crowd struct {
	size, every int
	success     float64
	addr        func(i int) netip.Addr
}

// visitors are people, each in a network of his own.
func visitors(size, every int, success float64) crowd {
	return crowd{size, every, success, func(i int) netip.Addr { return v4(i, 1) }}
}

// bots are as visitors, elsewhere.
func bots(size, every int, success float64) crowd {
	return crowd{size, every, success, func(i int) netip.Addr { return v4(50_000+i, 1) }}
}

// play lets crowds ask for so many seconds.
func (s *scene) play(seconds int, crowds ...crowd) *scene {
	for range seconds {
		for _, c := range crowds {
			for i := range c.size {
				if s.r.IntN(c.every) != 0 {
					continue
				}
				ok := s.r.Float64() < c.success
				held := s.g.CountAnswer(0, s.at, c.addr(i), ok)
				if !ok {
					s.failed++
				}
				if !ok && held {
					s.held++
				}
			}
		}
		if s.g.IsExcused(0, s.at) {
			s.armed++
		}
		s.at++
	}
	return s
}

// never fails where the scene was armed.
func (s *scene) never(t *testing.T, what string) {
	t.Helper()
	if s.armed > 0 {
		t.Errorf("%s: armed for %d s, at %v", what, s.armed, s.turns)
	}
}

const minute, hour = 60, 3600

// A deploy of three minutes is armed about a minute after it began, and no longer than
// half a minute after it ended, from thirty visitors a minute on.
func TestDeploy(t *testing.T) {
	fulltest.Only(t)
	for _, size := range []int{30, 60, 300, 3000} {
		for seed := range uint64(8) {
			s := newScene(seed).play(40*minute+int(seed), visitors(size, 25, 0.99))
			from := s.at
			s.play(3*minute, visitors(size, 25, 0))
			to := s.at
			s.play(20*minute, visitors(size, 25, 0.99))
			if len(s.turns) != 2 || s.turns[0] > from+75 || s.turns[1] > to+30 {
				t.Errorf("%d visitors: failed from %d to %d, armed at %v", size, from, to, s.turns)
			}
		}
	}
}

// What is no outage never arms.
func TestCalm(t *testing.T) {
	busy := visitors(100, 25, 0.97)
	for seed := range uint64(4) {
		start := func() *scene { return newScene(seed).play(40*minute, busy) }
		start().play(hour).play(10*minute, busy).never(t, "silence")
		start().play(hour, visitors(3, 25, 1)).never(t, "all but three go elsewhere, as in a failover")
		start().play(hour, visitors(9, 2, 0)).never(t, "all go, and nine go on and fail")
		start().play(hour, busy, bots(500, 2, 0)).never(t, "500 bots beside it that fail")
		start().play(hour, visitors(100, 25, 0.5)).never(t, "one of two servers is down")
		start().play(10*minute, busy, bots(500, 120, 1)).play(hour, busy, bots(500, 2, 0)).never(t, "500 bots that had their successes")

		night := newScene(seed)
		for size := 200; size > 0; size -= 5 {
			night.play(3*minute, visitors(size, 25, 0.97), bots(40, 20, 0.02))
		}
		night.play(5*hour, visitors(2, 60, 0.9), bots(40, 20, 0.02)).never(t, "a night that grows quiet, with 40 scanners")
		newScene(seed).play(3*hour, visitors(12, 25, 0.97)).play(10*minute, visitors(12, 25, 0)).never(t, "a site with too few visitors")
		newScene(seed).play(hour, crowd{200, 25, 1, func(i int) netip.Addr { return v4(9, i+1) }}).
			play(10*minute, crowd{200, 25, 0, func(i int) netip.Addr { return v4(9, i+1) }}).never(t, "a site of one network")
	}
}

// A site that crashes each time that it has started is armed each time, though the last
// minutes were few between two crashes, and the half hour has crashes in it.
func TestCrashLoop(t *testing.T) {
	for seed := range uint64(8) {
		s := newScene(seed).play(40*minute, visitors(60, 60, 0.99))
		for i := range 9 {
			from := s.at
			s.play(2*minute, visitors(60, 60, 0))
			to := s.at
			s.play(2*minute, visitors(60, 60, 0.99))
			if len(s.turns) != 2*(i+1) || s.turns[2*i] > from+75 || s.turns[2*i+1] > to+30 {
				t.Fatalf("crash %d failed from %d to %d, armed at %v", i, from, to, s.turns)
			}
		}
	}
}

// Ten hours of failure are armed for no more than twelve minutes; a site that fails again and
// again for no more than that in any hour.
func TestBudget(t *testing.T) {
	s := newScene(1).play(40*minute, visitors(100, 25, 1)).play(10*hour, visitors(100, 25, 0))
	if s.armed > 720 || s.armed < 600 {
		t.Errorf("ten hours of failure: armed for %d s", s.armed)
	}
	s = newScene(2).play(40*minute, visitors(100, 25, 1))
	var ends []uint32
	for range 40 {
		for range 9 * minute {
			before := s.armed
			if s.play(1, visitors(100, 25, 0)); s.armed > before {
				ends = append(ends, s.at)
			}
		}
		s.play(11*minute, visitors(100, 25, 1))
	}
	for i := 720; i < len(ends); i++ {
		if ends[i]-ends[i-720] < 3600 {
			t.Fatalf("721 seconds armed from %d to %d", ends[i-720], ends[i])
		}
	}
	if len(ends) < 10*600 {
		t.Errorf("failing for 6 of 13 hours armed %d s", len(ends))
	}
	if state := s.g.State(); len(state) != 1 || state[0].Used == 0 || state[0].Visitors < 20 {
		t.Errorf("state %+v", state)
	}
}

// Who pumps successes and stops arms nothing alone, nor from one network, nor beside a
// site that has more than a quarter of his addresses.
func TestPump(t *testing.T) {
	one := crowd{1, 1, 1, func(int) netip.Addr { return v4(7, 7) }}
	network := crowd{250, 5, 1, func(i int) netip.Addr { return v4(7, i) }}
	prefix := crowd{5_000, 60, 1, func(i int) netip.Addr {
		a := v6(1).As16()
		a[6], a[7] = byte(i>>8), byte(i)
		return netip.AddrFrom16(a)
	}}
	failing := func(c crowd) crowd { c.success = 0; return c }
	for name, c := range map[string]crowd{"an address": one, "a /24": network, "a /48": prefix} {
		newScene(1).play(35*minute, visitors(30, 25, 0.97), c).play(10*minute, visitors(30, 25, 0.97), failing(c)).never(t, name)
		newScene(1).play(35*minute, c).play(10*minute, failing(c)).never(t, name+", and no visitors")
	}
	newScene(1).play(40*minute, visitors(200, 25, 0.97), bots(500, 20, 1)).play(20*minute, visitors(200, 25, 0.97), bots(500, 5, 0)).
		never(t, "500 bots, and 200 visitors")
	// This arms, by design. It costs the bots a success each a minute for half an hour, and saves them
	// less than twelve minutes an hour.
	s := newScene(1).play(40*minute, visitors(30, 25, 0.97), bots(500, 20, 1))
	before := s.armed
	for range 10 {
		s.play(30*minute, visitors(30, 25, 0.97), bots(500, 20, 1)).play(30*minute, visitors(30, 25, 0.97), bots(500, 5, 0))
	}
	t.Logf("500 bots that take turns for ten hours beside 30 visitors: armed for %d s, %d of %d failures held", s.armed-before, s.held, s.failed)
	if s.armed > 7200 || s.armed == 0 {
		t.Errorf("armed for %d s of ten hours", s.armed)
	}
}

// A failed page whose images are served looks healthy where images are shown to the Watch.
func TestAssets(t *testing.T) {
	page, images := visitors(100, 25, 0), visitors(100, 25, 1)
	newScene(1).play(40*minute, visitors(100, 25, 1)).play(5*minute, page, images).never(t, "images are shown")
	if s := newScene(1).play(40*minute, visitors(100, 25, 1)).play(5*minute, page); s.armed < 200 {
		t.Errorf("armed for %d s without them", s.armed)
	}
}
