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

// ends polls: the entry must be there until its end, be gone after it, and a
// longer one of the same prefix must outlive it.
func (s *suite) ends(t *testing.T) {
	e := s.new(t)
	s.install(t, e)
	short, long := netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("203.0.113.8/32")
	Ends(t, short.Addr(), s.bench.Denied, func(until time.Time) {
		t.Helper()
		both := []enforce.Entry{{Prefix: short, Until: until}, {Prefix: long, Until: until}}
		if err := e.(enforce.Incremental).Apply(t.Context(), time.Now(), both, nil); err != nil {
			t.Fatal(err)
		}
		s.change(t, e, []string{long.String()}, nil) // now for longer
	})
	s.want(t, true, "203.0.113.8")
}

// Ends fails unless addr, which install has denied until a time, is denied until
// then and no longer. On a busy machine an answer may come only after that time;
// then install is called again, with more of it.
func Ends(t *testing.T, addr netip.Addr, denied func(*testing.T, netip.Addr) bool, install func(until time.Time)) {
	t.Helper()
	for lasts := 2 * time.Second; ; lasts *= 2 {
		until := time.Now().Add(lasts)
		install(until)
		if denied(t, addr) {
			break
		}
		if time.Now().Before(until) {
			t.Fatalf("%s is not denied, of %v", addr, lasts)
		}
	}
	for deadline := time.Now().Add(time.Minute); denied(t, addr); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is denied still, long after its end", addr)
		}
	}
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
