package enforcetest

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard/enforce"
)

func (s *suite) change(t *testing.T, e enforce.Enforcer, add, remove []string) {
	t.Helper()
	var gone []netip.Prefix
	for _, p := range remove {
		gone = append(gone, netip.MustParsePrefix(p))
	}
	if err := e.(enforce.Incremental).Apply(t.Context(), time.Now(), s.entries(add...), gone); err != nil {
		t.Fatalf("add %v, remove %v: %v", add, remove, err)
	}
}

func (s *suite) apply(t *testing.T) {
	e := s.new(t)
	s.install(t, e, "203.0.113.7/32")
	s.change(t, e, []string{"198.51.100.0/24", "2001:db8::/64"}, nil)
	s.want(t, true, "203.0.113.7", "198.51.100.1", "2001:db8::1")
	s.change(t, e, []string{"203.0.113.8/32"}, []string{"203.0.113.7/32", "2001:db8::/64"})
	s.want(t, true, "203.0.113.8", "198.51.100.1")
	s.want(t, false, "203.0.113.7", "2001:db8::1")
	s.change(t, e, []string{"198.51.0.0/16", "198.51.100.7/32"}, []string{"198.51.100.0/24"})
	s.want(t, true, "198.51.0.1", "198.51.100.1", "198.51.100.7")
	s.change(t, e, nil, []string{"198.51.0.0/16"})
	s.want(t, true, "198.51.100.7")
	s.want(t, false, "198.51.100.1")
}

// applyAgain repeats what is so already: no error, nothing changed.
func (s *suite) applyAgain(t *testing.T) {
	e := s.new(t)
	s.install(t, e)
	s.change(t, e, nil, nil)
	for range 2 {
		s.change(t, e, []string{"203.0.113.7/32", "198.51.100.0/24"}, []string{"203.0.113.9/32", "2001:db8::/64"})
	}
	s.want(t, true, "203.0.113.7", "198.51.100.1")
	s.want(t, false, "203.0.113.9")
	s.change(t, e, nil, []string{"203.0.113.7/32", "198.51.100.0/24"})
	s.want(t, false, "203.0.113.7", "198.51.100.1")
}

// ends polls: the entry must be there immediately, be gone soon after its end, and
// a longer one of the same prefix must outlive it.
func (s *suite) ends(t *testing.T) {
	e := s.new(t)
	s.install(t, e)
	now := time.Now()
	short := []enforce.Entry{
		{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Until: now.Add(2 * time.Second)},
		{Prefix: netip.MustParsePrefix("203.0.113.8/32"), Until: now.Add(2 * time.Second)},
	}
	if err := e.(enforce.Incremental).Apply(t.Context(), now, short, nil); err != nil {
		t.Fatal(err)
	}
	s.change(t, e, []string{"203.0.113.8/32"}, nil) // now for longer
	s.want(t, true, "203.0.113.7", "203.0.113.8")
	addr := short[0].Prefix.Addr()
	for deadline := now.Add(10 * time.Second); s.bench.Denied(t, addr); {
		if time.Now().After(deadline) {
			t.Fatalf("%s is denied still, 8 s after its end", addr)
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.want(t, true, "203.0.113.8")
}

func (s *suite) randomChanges(t *testing.T) {
	d := newDice(t)
	e := s.new(t)
	m := d.model(30)
	until := s.bench.Until()
	if err := e.Replace(t.Context(), time.Now(), m.entries(until)); err != nil {
		t.Fatal(err)
	}
	for range s.bench.Rounds {
		var add []enforce.Entry
		var remove []netip.Prefix
		for _, p := range m.prefixes() {
			if d.IntN(3) == 0 {
				remove = append(remove, p)
				delete(m, p)
			}
		}
		for _, p := range d.model(10).prefixes() {
			if !m[p] && !slices.Contains(remove, p) {
				add = append(add, enforce.Entry{Prefix: p, Until: until})
				m[p] = true
			}
		}
		if err := e.(enforce.Incremental).Apply(t.Context(), time.Now(), add, remove); err != nil {
			t.Fatal(err)
		}
		s.compare(t, d, m)
	}
}
