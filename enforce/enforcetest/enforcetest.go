// Package enforcetest holds the suite that every enforcer passes. It asks the
// thing itself (a kernel, a proxy) whether an address is denied, and so knows
// nothing of how an enforcer stores its entries.
package enforcetest

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard/enforce"
)

// Bench is one enforcer under test.
type Bench struct {
	// New makes an enforcer over what is installed already. It is called again
	// to see that a second one takes over from the first.
	New func(t *testing.T) enforce.Enforcer
	// Denied reports whether the installed list denies addr, asked from outside
	// of the enforcer.
	Denied func(t *testing.T, addr netip.Addr) bool
	// Rounds is how many random lists are tried; 20 if 0.
	Rounds int
	// Until makes the end of entries that must not end during the suite;
	// an hour from now if nil.
	Until func() time.Time
	// Narrow says that the enforcer cannot install prefixes wider than /8 and /40.
	Narrow bool
}

// Run holds the enforcer to the contract of enforce.Enforcer, and of
// enforce.Incremental where it is one.
func Run(t *testing.T, b Bench) {
	if b.Rounds == 0 {
		b.Rounds = 20
	}
	if b.Until == nil {
		b.Until = func() time.Time { return time.Now().Add(time.Hour) }
	}
	s := &suite{bench: b}
	t.Run("empty", s.empty)
	t.Run("replace", s.replace)
	t.Run("nested", s.nested)
	t.Run("neighbours", s.neighbours)
	t.Run("again", s.again)
	t.Run("takes over", s.takesOver)
	t.Run("cancelled", s.cancelled)
	t.Run("random", s.random)
	e := b.New(t)
	_, incremental := e.(enforce.Incremental)
	s.close(t, e)
	if incremental {
		t.Run("apply", s.apply)
		t.Run("apply again", s.applyAgain)
		t.Run("ends by itself", s.ends)
		t.Run("random changes", s.randomChanges)
	}
}

type suite struct{ bench Bench }

func (s *suite) new(t *testing.T) enforce.Enforcer {
	t.Helper()
	e := s.bench.New(t)
	t.Cleanup(func() { s.close(t, e) })
	return e
}

func (s *suite) close(t *testing.T, e enforce.Enforcer) {
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// install replaces, with the prefixes in the order that the contract sets.
func (s *suite) install(t *testing.T, e enforce.Enforcer, prefixes ...string) {
	t.Helper()
	if err := e.Replace(t.Context(), time.Now(), s.entries(prefixes...)); err != nil {
		t.Fatalf("replace by %v: %v", prefixes, err)
	}
}

func (s *suite) entries(prefixes ...string) []enforce.Entry {
	until := s.bench.Until()
	var entries []enforce.Entry
	for _, p := range prefixes {
		entries = append(entries, enforce.Entry{Prefix: netip.MustParsePrefix(p), Until: until})
	}
	return entries
}

func (s *suite) want(t *testing.T, denied bool, addrs ...string) {
	t.Helper()
	for _, a := range addrs {
		if got := s.bench.Denied(t, netip.MustParseAddr(a)); got != denied {
			t.Errorf("%s: denied is %t, want %t", a, got, denied)
		}
	}
}

func (s *suite) empty(t *testing.T) {
	s.install(t, s.new(t))
	s.want(t, false, "203.0.113.7", "2001:db8::1")
}

func (s *suite) replace(t *testing.T) {
	e := s.new(t)
	s.install(t, e, "198.51.100.0/24", "203.0.113.7/32", "2001:db8::/64", "2001:db8:1::7/128")
	s.want(t, true, "198.51.100.0", "198.51.100.255", "203.0.113.7", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff", "2001:db8:1::7")
	s.want(t, false, "198.51.99.255", "198.51.101.0", "203.0.113.6", "203.0.113.8", "2001:db8:0:1::", "2001:db8:1::8")
	s.install(t, e, "203.0.113.8/32", "2001:db8:1::/64")
	s.want(t, true, "203.0.113.8", "2001:db8:1::7")
	s.want(t, false, "198.51.100.1", "203.0.113.7", "2001:db8::1")
	s.install(t, e)
	s.want(t, false, "203.0.113.8", "2001:db8:1::7")
}

func (s *suite) nested(t *testing.T) {
	e := s.new(t)
	s.install(t, e, "198.51.0.0/16", "198.51.100.0/24", "198.51.100.7/32", "2001:db8::/48", "2001:db8::/64", "2001:db8::7/128")
	s.want(t, true, "198.51.0.1", "198.51.100.1", "198.51.100.7", "2001:db8:0:1::", "2001:db8::8", "2001:db8::7")
	s.install(t, e, "198.51.100.0/24", "198.51.100.7/32", "2001:db8::/64", "2001:db8::7/128")
	s.want(t, true, "198.51.100.1", "198.51.100.7", "2001:db8::8", "2001:db8::7")
	s.want(t, false, "198.51.0.1", "2001:db8:0:1::")
	s.install(t, e, "198.51.100.7/32", "2001:db8::7/128")
	s.want(t, true, "198.51.100.7", "2001:db8::7")
	s.want(t, false, "198.51.100.1", "2001:db8::8")
}

func (s *suite) neighbours(t *testing.T) {
	four, six, last := "128.0.0.0/1", "8000::/1", "255.255.255.254"
	if s.bench.Narrow {
		four, six, last = "128.0.0.0/8", "8000::/40", "128.255.255.255"
	}
	s.install(t, s.new(t), four, "2001:db8::/65", "2001:db8::8000:0:0:0/65", six)
	s.want(t, true, "128.0.0.0", last, "2001:db8::1", "2001:db8::8000:0:0:1", "8000::1")
	s.want(t, false, "127.255.255.255", "2001:db8:0:1::", "7fff::1")
}

func (s *suite) again(t *testing.T) {
	e := s.new(t)
	for range 3 {
		s.install(t, e, "203.0.113.7/32", "2001:db8::/64")
	}
	s.want(t, true, "203.0.113.7", "2001:db8::1")
}

// takesOver closes one enforcer and starts another, as a restart does.
func (s *suite) takesOver(t *testing.T) {
	first := s.bench.New(t)
	s.install(t, first, "203.0.113.7/32", "203.0.113.8/32")
	s.close(t, first)
	s.want(t, true, "203.0.113.7", "203.0.113.8")
	s.install(t, s.new(t), "203.0.113.8/32", "203.0.113.9/32")
	s.want(t, true, "203.0.113.8", "203.0.113.9")
	s.want(t, false, "203.0.113.7")
}

// cancelled: whatever a cut-off update leaves, the next one puts it right.
func (s *suite) cancelled(t *testing.T) {
	e := s.new(t)
	s.install(t, e, "203.0.113.7/32")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = e.Replace(ctx, time.Now(), s.entries("203.0.113.8/32"))
	s.install(t, e, "203.0.113.8/32")
	s.want(t, true, "203.0.113.8")
	s.want(t, false, "203.0.113.7")
}

func (s *suite) random(t *testing.T) {
	d := newDice(t)
	e := s.new(t)
	for range s.bench.Rounds {
		m := d.model(60)
		if err := e.Replace(t.Context(), time.Now(), m.entries(s.bench.Until())); err != nil {
			t.Fatal(err)
		}
		s.compare(t, d, m)
	}
}

// compare asks for addresses in and around the model's prefixes.
func (s *suite) compare(t *testing.T, d *dice, m model) {
	t.Helper()
	for range 25 {
		addr := d.near(m)
		if got, want := s.bench.Denied(t, addr), m.denies(addr); got != want {
			t.Fatalf("%s: denied is %t, want %t; installed: %v", addr, got, want, m)
		}
	}
}

type dice struct{ *rand.Rand }

func newDice(t *testing.T) *dice {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &dice{rand.New(rand.NewPCG(seed, 1))}
}
