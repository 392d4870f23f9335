package imported_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
)

var begin = time.Unix(1_800_000_000, 0).UTC()

func entry(prefix string, d time.Duration) imported.Entry {
	return imported.Entry{Prefix: netip.MustParsePrefix(prefix), Until: begin.Add(d), Reason: "listed"}
}

// newSet returns a set beside a list that protects and allows something.
func newSet(most int) (*imported.Set, *blocklist.List) {
	own := blocklist.New(blocklist.Config{
		Allow:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Protected: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32"), netip.MustParsePrefix("2001:db8:1::/64")},
	})
	return imported.New(imported.Config{Own: own, Node: "n1", Most: most}), own
}

// ask is what a detector does: the node's own list first.
func ask(s *imported.Set, own *blocklist.List, now time.Time, addr string) string {
	standing, hit := own.FindHit(now, netip.MustParseAddr(addr))
	if standing == blocklist.None {
		standing, hit = s.FindHit(now, netip.MustParseAddr(addr))
	}
	if standing == blocklist.Blocked {
		return hit.Block().Rule + ": " + hit.Block().Reason
	}
	return standing.String()
}

// A prefix of two sources stays until both have lifted it, with the later end.
func TestTwoSources(t *testing.T) {
	s, own := newSet(0)
	step := func(what, want string) {
		t.Helper()
		if got := ask(s, own, begin, "203.0.113.9"); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	step("empty", "none")
	s.Replace("a", []imported.Entry{entry("203.0.113.9/32", time.Hour)}, begin)
	step("of a", "owner a: listed")
	s.Replace("b", []imported.Entry{entry("203.0.113.9/32", 2*time.Hour)}, begin)
	step("b is longer", "owner b: listed")
	s.Apply("a", []imported.Entry{entry("203.0.113.9/32", 3*time.Hour)}, []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32")}, begin)
	step("a is longer", "owner a: listed")
	s.Replace("a", nil, begin)
	step("a lifted it", "owner b: listed")
	if b := s.BlockOf(begin, netip.MustParsePrefix("203.0.113.9/32")); !b.Until.Equal(begin.Add(2*time.Hour)) || b.Origin != "n1" || b.Proxied {
		t.Errorf("%+v", b)
	}
	s.DropSource("b", begin)
	step("b is gone", "none")
	if !s.Empty() || len(s.Stats()) != 1 {
		t.Errorf("empty %v, %+v", s.Empty(), s.Stats())
	}
}

// What no list may block is refused, counted by its reason, and the rest is merged. Two
// that fight, and the whole internet, change nothing of it.
func TestRefused(t *testing.T) {
	s, own := newSet(0)
	hostile := []imported.Entry{
		entry("0.0.0.0/0", time.Hour), entry("::/0", time.Hour), entry("10.0.0.0/8", time.Hour), entry("2001::/16", time.Hour), // too wide
		{Prefix: netip.MustParsePrefix("20.0.0.0/7"), Until: begin.Add(time.Hour), Wide: true},
		entry("0.0.0.0/32", time.Hour), entry("203.0.113.9/24", time.Hour), entry("::ffff:203.0.113.9/128", time.Hour), {Until: begin.Add(time.Hour)}, // invalid
		entry("203.0.113.1/32", 0),          // ended
		entry("192.0.2.9/32", time.Hour),    // allowed
		entry("198.51.100.7/32", time.Hour), // protected
		entry("2001:db8:1::8/128", time.Hour),
		entry("198.51.100.0/24", time.Hour), // around what is protected
		{Prefix: netip.MustParsePrefix("20.0.0.0/8"), Until: begin.Add(time.Hour), Wide: true},
	}
	o := s.Replace("a", hostile, begin)
	want := imported.Outcome{InForce: 2, Added: 5, Refused: imported.Refused{Protected: 2, Allowed: 1, TooWide: 5, Invalid: 4, Ended: 1}}
	if o != want {
		t.Errorf("%+v, want %+v", o, want)
	}
	for addr, want := range map[string]string{
		"192.0.2.9": "allowed", "198.51.100.7": "protected", "198.51.100.8": "owner a: listed", "20.1.2.3": "owner a: ", "10.0.0.1": "none",
		"2001:db8:1::8": "protected", "203.0.113.9": "none",
	} {
		if got := ask(s, own, begin, addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
	if stats := s.Stats(); len(stats) != 1 || stats[0].InForce != 2 || stats[0].Refused != want.Refused {
		t.Errorf("%+v", stats)
	}
	// An allowance wins over what is held already, and the entry is in force after it.
	allow := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.8/32"), Rule: edgeguard.ManualRule, Allow: true, Since: begin, Until: begin.Add(time.Minute)}
	if _, _, err := own.Add(allow, false, begin); err != nil {
		t.Fatal(err)
	}
	if got := ask(s, own, begin, "198.51.100.8"); got != "allowed" {
		t.Error(got)
	}
	if got := ask(s, own, begin.Add(time.Minute), "198.51.100.8"); got != "owner a: listed" {
		t.Error(got)
	}
}

// The entries of all sources have one bound. What is held stays, and a source that frees
// room may use it in the same call.
func TestRoom(t *testing.T) {
	s, _ := newSet(4)
	list := func(from, n int) (all []imported.Entry) {
		for i := range n {
			all = append(all, entry(fmt.Sprintf("203.0.113.%d/32", from+i), time.Hour))
		}
		return all
	}
	if o := s.Replace("a", list(0, 3), begin); o.InForce != 3 || o.NoRoom != 0 {
		t.Errorf("%+v", o)
	}
	if o := s.Replace("b", list(10, 3), begin); o.InForce != 1 || o.NoRoom != 2 {
		t.Errorf("%+v", o)
	}
	if o := s.Replace("a", list(100, 3), begin); o.InForce != 3 || o.NoRoom != 0 || o.Lifted != 3 || o.Added != 3 {
		t.Errorf("%+v", o)
	}
	if s.Room() != 0 {
		t.Error(s.Room())
	}
	s.SetMost(2, begin)
	held := 0
	for _, one := range s.Stats() {
		held += one.InForce
	}
	if held != 2 || s.Blocks().Len() != 2 || s.Room() != 0 {
		t.Errorf("%+v", s.Stats())
	}
	s.Sweep(begin.Add(2 * time.Hour))
	if !s.Empty() || s.Room() != 2 {
		t.Errorf("after the end: %+v", s.Stats())
	}
}

// Few changes are named, many are not, and no change is no call.
func TestChanged(t *testing.T) {
	var calls [][]netip.Prefix
	s := imported.New(imported.Config{Own: blocklist.New(blocklist.Config{}), Changed: func(p []netip.Prefix) { calls = append(calls, p) }})
	one := []imported.Entry{entry("203.0.113.9/32", time.Hour)}
	s.Replace("a", one, begin)
	s.Replace("a", one, begin.Add(time.Second))
	if len(calls) != 1 || len(calls[0]) != 1 {
		t.Fatal(calls)
	}
	s.Replace("a", many(2000), begin)
	if len(calls) != 2 || calls[1] != nil {
		t.Fatal(len(calls))
	}
}

// many returns a long list.
func many(n int) []imported.Entry {
	all := make([]imported.Entry, n)
	for i := range all {
		all[i] = imported.Entry{Prefix: netip.PrefixFrom(many1(i), 32), Until: begin.Add(time.Hour), Reason: "listed"}
	}
	return all
}

func many1(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)})
}

// A nil set is empty.
func TestNil(t *testing.T) {
	var s *imported.Set
	if standing, hit := s.FindHit(begin, netip.MustParseAddr("203.0.113.9")); standing != blocklist.None || hit != nil || !s.Empty() || s.Blocks() != nil || s.Stats() != nil {
		t.Error(standing, hit)
	}
}

// twin is the set as one would write it first.
type twin struct {
	most    int
	sources map[string]map[netip.Prefix]time.Time
}

func (w *twin) rows() (n int) {
	for _, one := range w.sources {
		n += len(one)
	}
	return n
}

func (w *twin) add(name string, e imported.Entry, now time.Time) {
	if w.sources[name] == nil {
		w.sources[name] = map[netip.Prefix]time.Time{}
	}
	_, known := w.sources[name][e.Prefix]
	if now.Before(e.Until) && (known || w.rows() < w.most) {
		w.sources[name][e.Prefix] = e.Until
	}
}

func (w *twin) until(p netip.Prefix) (until time.Time) {
	for _, one := range w.sources {
		if one[p].After(until) {
			until = one[p]
		}
	}
	return until
}

// Random calls have the result that the naive twin has.
func TestAgainstTwin(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 48))
		s, own := newSet(40)
		w := &twin{most: 40, sources: map[string]map[netip.Prefix]time.Time{}}
		now := begin
		names := []string{"a", "b", "c"}
		pick := func() netip.Prefix {
			if r.IntN(4) == 0 {
				return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, 0, byte(r.IntN(12))}), 64)
			}
			return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(r.IntN(30))}), 30+r.IntN(3)).Masked()
		}
		random := func(most int) (all []imported.Entry) {
			seen := map[netip.Prefix]bool{}
			for range r.IntN(most) {
				if p := pick(); !seen[p] {
					seen[p] = true
					all = append(all, imported.Entry{Prefix: p, Until: now.Add(time.Duration(r.IntN(100)) * time.Second)})
				}
			}
			return all
		}
		for range 200 {
			name := names[r.IntN(len(names))]
			switch r.IntN(8) {
			case 0, 1, 2:
				list := random(30)
				s.Replace(name, list, now)
				wanted := map[netip.Prefix]bool{}
				for _, e := range list {
					wanted[e.Prefix] = e.Until.After(now)
				}
				maps.DeleteFunc(w.sources[name], func(p netip.Prefix, _ time.Time) bool { return !wanted[p] })
				for _, e := range list {
					w.add(name, e, now)
				}
			case 3, 4:
				list, gone := random(6), []netip.Prefix{pick(), pick()}
				s.Apply(name, list, gone, now)
				for _, p := range gone {
					if !slices.ContainsFunc(list, func(e imported.Entry) bool { return e.Prefix == p }) {
						delete(w.sources[name], p)
					}
				}
				for _, e := range list {
					w.add(name, e, now)
				}
			case 5:
				s.DropSource(name, now)
				delete(w.sources, name)
			case 6:
				allowed := edgeguard.Block{Prefix: pick(), Rule: edgeguard.ManualRule, Allow: true, Since: now, Until: now.Add(time.Duration(1+r.IntN(60)) * time.Second)}
				_, _, _ = own.Add(allowed, false, now)
				own.SetProtected([]netip.Prefix{pick()})
			case 7:
				now = now.Add(time.Duration(r.IntN(60)) * time.Second)
			}
			// The twin forgets what has ended together with the set, which does so every 30 s.
			now = now.Add(31 * time.Second)
			for s.Sweep(now) {
			}
			own.Sweep(now)
			for _, one := range w.sources {
				maps.DeleteFunc(one, func(_ netip.Prefix, until time.Time) bool { return !until.After(now) })
			}
			compare(t, seed, s, own, w, now)
		}
	}
}

func compare(t *testing.T, seed uint64, s *imported.Set, own *blocklist.List, w *twin, now time.Time) {
	t.Helper()
	blocks := map[netip.Prefix]bool{}
	for _, one := range w.sources {
		for p := range one {
			blocks[p] = true
			if b := s.BlockOf(now, p); b == nil || !b.Until.Equal(w.until(p)) {
				t.Fatalf("seed %d: %s is %+v, want until %s", seed, p, b, w.until(p))
			}
		}
	}
	if n := 0; s.Blocks() != nil {
		if n = s.Blocks().Len(); n != len(blocks) {
			t.Fatalf("seed %d: %d blocks, want %d", seed, n, len(blocks))
		}
	} else if len(blocks) > 0 {
		t.Fatalf("seed %d: no blocks, want %d", seed, len(blocks))
	}
	if room := s.Room(); room != w.most-w.rows() {
		t.Fatalf("seed %d: room %d, want %d", seed, room, w.most-w.rows())
	}
	for i := range 30 {
		addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		standing, _ := own.FindHit(now, addr)
		inside := false
		for p := range blocks {
			inside = inside || p.Contains(addr)
		}
		if standing != blocklist.None {
			continue
		}
		if standing, _ = s.FindHit(now, addr); (standing == blocklist.Blocked) != inside {
			t.Fatalf("seed %d: %s is %s, want blocked %v", seed, addr, standing, inside)
		}
	}
	for _, one := range s.Stats() {
		if rows := one.InForce + one.Protected + one.Allowed; rows != len(w.sources[one.Source]) {
			t.Fatalf("seed %d: %+v, want %d", seed, one, len(w.sources[one.Source]))
		}
	}
}
