package outage

import (
	"math"
	"net/netip"
	"testing"

	"edgeguard/internal/fulltest"
)

// A site of 20,000 visitors is judged by a sample, and as without.
func TestSample(t *testing.T) {
	fulltest.Only(t)
	for seed := range uint64(2) {
		s := newScene(seed).play(35*minute, visitors(20_000, 60, 0.98))
		if s.g.scopes[0].sample == ^uint64(0) {
			t.Fatal("nothing is sampled")
		}
		state := s.g.State()[0]
		want := 20_000 * (1 - math.Pow(1-0.98/60, 60)) // addresses with a success in a minute
		if math.Abs(state.Visitors/want-1) > 0.15 || math.Abs(float64(state.Succeeding)/want-1) > 0.15 {
			t.Errorf("visitors %.0f, succeeding %d, of %.0f", state.Visitors, state.Succeeding, want)
		}
		s.play(10*minute, visitors(20_000, 60, 0.5)).never(t, "one of two servers is down")
		s.play(10*minute, visitors(20_000, 60, 0.98)).never(t, "a healthy site")
		from := s.at
		s.play(3*minute, visitors(20_000, 60, 0.01))
		to := s.at
		s.play(5*minute, visitors(20_000, 60, 0.98))
		if len(s.turns) != 2 || s.turns[0] > from+75 || s.turns[1] > to+30 {
			t.Errorf("failed from %d to %d, armed at %v", from, to, s.turns)
		}
	}
}

// random returns the i-th address of a flood: no two in one network.
func random(i int) netip.Addr {
	a := v6(0).As16()
	word := uint64(i) * 0x9e3779b97f4a7c15
	for j := range 6 {
		a[j] = byte(word >> (56 - 8*j))
	}
	return netip.AddrFrom16(a)
}

// A flood of addresses that succeed costs no memory. It hides a site's visitors for as long as
// they are remembered; then all are seen again.
func TestFlood(t *testing.T) {
	s := newScene(1).play(40*minute, visitors(100, 25, 1))
	const flood = 2_000_000
	for i := range flood {
		s.g.CountAnswer(0, s.at+uint32(i*600/flood), random(i), true)
	}
	s.at += 600
	if n := len(s.g.scopes[0].groups); n > mostSlots {
		t.Errorf("%d slots", n)
	}
	if k := s.g.scopes[0].scale(); k < 512 {
		t.Errorf("one in %d is sampled", k)
	}
	s.play(5*minute, visitors(100, 25, 1)).play(5*minute, visitors(100, 25, 0))
	t.Logf("an outage right after a flood: armed at %v", s.turns)
	s.play(40*minute, visitors(100, 25, 1))
	if k := s.g.scopes[0].scale(); k != 1 {
		t.Errorf("one in %d is sampled after it", k)
	}
	s.play(40*minute, visitors(100, 25, 1))
	s.turns, s.armed = nil, 0
	if s.play(3*minute, visitors(100, 25, 0)); len(s.turns) != 1 {
		t.Errorf("an outage later: armed at %v", s.turns)
	}
}

// Scopes beyond the most are not held and cost nothing.
func TestScopes(t *testing.T) {
	g := New(1)
	for host := range 256 {
		for i := range 100_000 / 256 {
			if g.CountAnswer(uint8(host), noon+uint32(i), v4(i, host), i%2 == 0) {
				t.Fatal("held")
			}
		}
	}
	if n := len(g.State()); n != MostScopes {
		t.Errorf("%d scopes in use", n)
	}
}

// After the first answers nothing is allocated, whoever asks.
func TestAllocations(t *testing.T) {
	s := newScene(1).play(40*minute, visitors(500, 25, 0.97))
	i := 0
	allocated := testing.AllocsPerRun(1000, func() {
		i++
		s.g.CountAnswer(0, s.at+uint32(i/50), v4(i%500, 1), i%20 > 0)
		s.g.CountAnswer(0, s.at+uint32(i/50), v6(i%500), false)
	})
	if allocated > 0 {
		t.Errorf("%v allocations an answer", allocated)
	}
}

// Whoever succeeded is known, sampled or not, and hardly anybody else.
func TestSucceeded(t *testing.T) {
	g := New(5)
	const many = 90_000 // in three quarters of an hour
	for i := range many {
		g.CountAnswer(uint8(i%3), noon+uint32(i*45*minute/many), random(i), true)
	}
	wrong, now := 0, uint32(noon+45*minute-1)
	for i := range many {
		if i > many/3 && !g.Succeeded(random(i), now) {
			t.Fatalf("address %d succeeded", i)
		}
		if g.Succeeded(random(i+many), now) {
			wrong++
		}
	}
	if wrong > many*2/100 {
		t.Errorf("%d of %d who did not succeed are said to", wrong, many)
	}
	if g.Succeeded(random(many-1), now+hour) {
		t.Error("an hour later it is still said")
	}
}
