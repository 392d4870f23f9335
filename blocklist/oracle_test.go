package blocklist

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/blocklist/width"
	"edgeguard/internal/fulltest"
)

// slowList is the list as one would write it first: a slice that is scanned.
// It forgets at once what List forgets when it sweeps, which must make no
// difference.
type slowList struct {
	allow, protected []netip.Prefix
	peers, claimed   []netip.Prefix
	records          []slowRecord
	retention        time.Duration
	signs            bool
}

type slowRecord struct {
	edgeguard.Block
	trust Trust
}

func (s *slowList) forget(now time.Time) {
	s.records = slices.DeleteFunc(s.records, func(r slowRecord) bool {
		return !r.Until.Add(s.retention).After(now)
	})
}

func inside(list []netip.Prefix, p netip.Prefix) bool {
	return slices.ContainsFunc(list, func(q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Contains(p.Addr()) })
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// merge merges a record that was made here; agree, one of the fleet.
func (s *slowList) merge(b edgeguard.Block, force bool, now time.Time) error {
	return s.take(b, Trust{Forced: force, Here: force, Signed: s.signs}, false, now)
}

func (s *slowList) agree(b edgeguard.Block, t Trust, now time.Time) error {
	t.Here = false
	return s.take(b, t, true, now)
}

func (s *slowList) take(b edgeguard.Block, t Trust, fleets bool, now time.Time) error {
	s.forget(now)
	widest := 32
	if b.Prefix.Addr().Is4() {
		widest = 16
	}
	if !b.Lifted {
		switch {
		case b.Prefix.Bits() < widest && !t.Forced:
			return ErrTooWide
		case b.Allow:
		case inside(s.allow, b.Prefix):
			return ErrAllowed
		case (inside(s.protected, b.Prefix) || inside(s.peers, b.Prefix)) && !t.Here && !s.forcedHere(b, t, fleets, now):
			return ErrProtected
		}
	}
	var err error
	gone := !b.Until.Add(s.retention).After(now)
	if gone || (!b.Lifted && !b.Until.After(now)) {
		err = ErrExpired
	}
	if gone {
		return err
	}
	fresh := slowRecord{b, t}
	fresh.trust.Here = t.Here || s.forcedHere(b, t, fleets, now)
	fresh.trust.Elsewhere = fleets && !b.Lifted && !s.saidHere(b, now)
	for i, r := range s.records {
		if r.Prefix == b.Prefix {
			later := r.Until.Sub(b.Until)
			crossing := fleets && err == nil && r.Until.After(now) && r.Version == b.Version && r.Rule == b.Rule &&
				!r.Lifted && !b.Lifted && !r.Allow && !b.Allow && r.trust.Forced == t.Forced && later.Abs() <= oneCrossing
			switch {
			case crossing && r.trust.Signed && !t.Signed:
			case crossing && later > 0, slowWins(fresh, r):
				s.records[i] = fresh
			case !slowWins(r, fresh): // the same record
				s.records[i].trust = Trust{r.trust.Forced, r.trust.Signed || t.Signed, r.trust.Here || t.Here, r.trust.Elsewhere}
			}
			return err
		}
	}
	s.records = append(s.records, fresh)
	return err
}

// forcedHere reports whether a forced record of the fleet says again what was forced
// here, until then at most.
func (s *slowList) forcedHere(b edgeguard.Block, t Trust, fleets bool, now time.Time) bool {
	return fleets && t.Forced && !b.Lifted && !b.Allow && slices.ContainsFunc(s.records, func(r slowRecord) bool {
		return r.Prefix == b.Prefix && r.trust.Here && !r.Lifted && !r.Allow && r.Until.After(now) && !b.Until.After(r.Until)
	})
}

// saidHere reports whether this node has the same in force on its own word, for as long.
func (s *slowList) saidHere(b edgeguard.Block, now time.Time) bool {
	return slices.ContainsFunc(s.records, func(r slowRecord) bool {
		return r.Prefix == b.Prefix && !r.trust.Elsewhere && !r.Lifted && r.Allow == b.Allow && r.Until.After(now) && b.Until.Sub(r.Until) <= oneCrossing
	})
}

func (s *slowList) prove(p netip.Prefix, now time.Time) (proven bool) {
	for i, r := range s.records {
		if r.Prefix == p && r.trust.Elsewhere && !r.Lifted && !r.Allow && r.Until.After(now) {
			s.records[i].trust.Elsewhere, proven = false, true
		}
	}
	return proven
}

// elsewhere is what is live on the word of other nodes.
func (s *slowList) elsewhere(now time.Time) map[Source]Holdings {
	all := map[Source]Holdings{}
	unions := map[Source]*width.Union{}
	for _, r := range s.records {
		if !r.trust.Elsewhere || r.Lifted || !r.Until.After(now) {
			continue
		}
		from := Source{Kind: Unsigned, Allow: r.Allow}
		if r.trust.Signed {
			from.Kind = Signed
		}
		if unions[from] == nil {
			unions[from] = new(width.Union)
		}
		unions[from].Add(r.Prefix)
		all[from] = Holdings{all[from].Records + 1, unions[from].Width()}
	}
	return all
}

// slowWins knows only the fields in which the random blocks differ.
func slowWins(a, b slowRecord) bool {
	rank := func(r bool) int {
		if r {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(a.Version, b.Version),
		rank(a.Allow)-rank(b.Allow),
		cmp.Compare(a.Until.Unix(), b.Until.Unix()),
		rank(a.Lifted)-rank(b.Lifted),
		cmp.Compare(a.Rule, b.Rule),
		rank(a.trust.Forced)-rank(b.trust.Forced),
	) > 0
}

func (s *slowList) find(now time.Time, a netip.Addr) (Standing, edgeguard.Block) {
	standing := None
	switch {
	case contains(s.allow, a), slices.ContainsFunc(s.records, func(r slowRecord) bool {
		return r.Allow && !r.Lifted && r.Until.After(now) && r.Prefix.Contains(a)
	}):
		return Allowed, edgeguard.Block{}
	case contains(s.protected, a):
		standing = Protected
	case contains(s.peers, a):
		standing = Peer
	}
	passed := standing == None && contains(s.claimed, a) // by what is wider than a key
	var best edgeguard.Block
	for _, r := range s.records {
		live := !r.Allow && !r.Lifted && r.Until.After(now) && (r.trust.Here || standing == None && (!passed || IsKey(r.Prefix)))
		if live && r.Prefix.Contains(a) && (!best.Prefix.IsValid() || r.Prefix.Bits() > best.Prefix.Bits()) {
			best = r.Block
		}
	}
	if best.Prefix.IsValid() {
		return Blocked, best
	}
	return standing, edgeguard.Block{}
}

// all returns what is live, in order: the blocks, or the allowances.
func (s *slowList) all(now time.Time, allow bool) []edgeguard.Block {
	var live []edgeguard.Block
	for _, r := range s.records {
		if r.Allow == allow && !r.Lifted && r.Until.After(now) {
			live = append(live, r.Block)
		}
	}
	slices.SortFunc(live, func(a, b edgeguard.Block) int { return a.Prefix.Compare(b.Prefix) })
	return live
}

// dice makes addresses and prefixes that nest and meet often.
type dice struct{ *rand.Rand }

func newDice(t *testing.T) dice {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return dice{rand.New(rand.NewPCG(seed, 1))}
}

func (d dice) addr() netip.Addr {
	few := func() byte { return []byte{0, 1, 128, 255}[d.IntN(4)] }
	if d.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte{10, few() % 2, few(), few()})
	}
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8}
	a[4], a[7], a[15] = few()%2, few(), few()
	return netip.AddrFrom16(a)
}

func (d dice) prefix() netip.Prefix {
	a := d.addr()
	bits := []int{12, 16, 17, 23, 24, 25, 31, 32}
	if a.Is6() {
		bits = []int{24, 32, 33, 40, 63, 64, 65, 127, 128}
	}
	p, err := a.Prefix(bits[d.IntN(len(bits))])
	if err != nil {
		panic(err)
	}
	return p
}

func (d dice) prefixes(n int) []netip.Prefix {
	list := make([]netip.Prefix, d.IntN(n+1))
	for i := range list {
		list[i] = d.prefix()
	}
	return list
}

// hosts returns up to n single addresses.
func (d dice) hosts(n int) []netip.Prefix {
	list := make([]netip.Prefix, d.IntN(n+1))
	for i := range list {
		a := d.addr()
		list[i] = netip.PrefixFrom(a, a.BitLen())
	}
	return list
}

func (d dice) block(now time.Time) edgeguard.Block {
	return edgeguard.Block{
		Prefix:  d.prefix(),
		Rule:    []string{"site", "login", "api"}[d.IntN(3)],
		Until:   now.Add(time.Duration(d.IntN(90)-20) * time.Second),
		Version: uint64(d.IntN(6)),
		Lifted:  d.IntN(4) == 0,
		Allow:   d.IntN(4) == 0,
	}
}

// sentinel is which of the package's errors err wraps.
func sentinel(err error) error {
	for _, s := range []error{ErrInvalid, ErrUnspecified, ErrTooWide, ErrAllowed, ErrProtected, ErrExpired} {
		if errors.Is(err, s) {
			return s
		}
	}
	return err
}

func TestListAgainstScan(t *testing.T) {
	fulltest.Only(t)
	d := newDice(t)
	for range 20 {
		now := epoch
		fast := New(Config{Retention: 30 * time.Second})
		slow := &slowList{retention: 30 * time.Second}
		for range 400 {
			switch d.IntN(10) {
			case 0:
				now = now.Add(time.Duration(d.IntN(20)) * time.Second)
			case 1:
				fast.Sweep(now)
				slow.signs = d.IntN(2) == 0
				fast.SetSigns(slow.signs)
				if p := d.prefix(); fast.Prove(p, now) != slow.prove(p, now) {
					t.Errorf("%s is proven by one of them only", p)
				}
				if diff := gocmp.Diff(slow.elsewhere(now), fast.Elsewhere()); diff != "" {
					t.Errorf("what is in force from elsewhere, scan and list:\n%s", diff)
				}
			case 2:
				if d.IntN(8) == 0 {
					slow.allow = d.prefixes(2)
					fast.SetAllow(slow.allow)
					slow.protected = d.prefixes(3)
					fast.SetProtected(slow.protected)
					slow.peers, slow.claimed = d.hosts(2), d.hosts(3)
					fast.SetPeers(slow.peers, slow.claimed)
				}
			case 3:
				d.own(t, fast, slow, now)
			case 4:
				b := d.block(now)
				_, err := fast.Force(b, now)
				sameError(t, err, slow.merge(b, true, now))
			case 5, 6:
				b, trust := d.block(now), Trust{Forced: d.IntN(2) == 0, Signed: d.IntN(2) == 0, Here: d.IntN(2) == 0}
				_, err := fast.Agree(b, trust, now)
				sameError(t, err, slow.agree(b, trust, now))
			default:
				b := d.block(now)
				_, err := fast.Merge(b, now)
				sameError(t, err, slow.merge(b, false, now))
			}
			compareLists(t, d, fast, slow, now)
			if t.Failed() {
				return
			}
		}
	}
}

// own makes or takes back a block or an allowance as an operator does, and has
// the scan take in what came of it.
func (d dice) own(t *testing.T, fast *List, slow *slowList, now time.Time) {
	t.Helper()
	b := d.block(now)
	b.Lifted = false
	var made edgeguard.Block
	var ok bool
	var err error
	switch d.IntN(3) {
	case 0:
		made, ok = fast.Lift(b.Prefix, now, "", "")
	case 1:
		made, ok = fast.Disallow(b.Prefix, now, "", "")
	default:
		known := fast.Version(b.Prefix)
		made, ok, err = fast.Add(b, false, now)
		held := slices.ContainsFunc(slow.all(now, true), func(a edgeguard.Block) bool { return inside([]netip.Prefix{a.Prefix}, b.Prefix) })
		if held && !b.Allow && sentinel(err) != ErrAllowed && sentinel(err) != ErrTooWide {
			t.Errorf("a block inside an allowance: %v", err)
		}
		if ok && made.Version <= known {
			t.Errorf("version %d over %d", made.Version, known)
		}
	}
	if !ok && sentinel(err) != ErrExpired { // what is over is remembered
		return
	}
	trust := fast.Trust(b.Prefix)
	if trust.Signed != slow.signs || trust.Here {
		t.Errorf("made here: %+v", trust)
	}
	sameError(t, err, slow.take(made, trust, false, now))
}

func sameError(t *testing.T, fast, slow error) {
	t.Helper()
	if sentinel(fast) != slow {
		t.Errorf("list says %v, scan says %v", fast, slow)
	}
}

func compareLists(t *testing.T, d dice, fast *List, slow *slowList, now time.Time) {
	t.Helper()
	for range 10 {
		a := d.addr()
		standing, block := fast.Find(now, a)
		wantStanding, wantBlock := slow.find(now, a)
		if block == nil {
			block = &edgeguard.Block{}
		}
		if standing != wantStanding || *block != wantBlock {
			t.Errorf("Find(%s) = %s %v, scan says %s %v", a, standing, *block, wantStanding, wantBlock)
		}
	}
	if diff := gocmp.Diff(slow.all(now, false), slices.Collect(fast.All(now)), gocmp.Comparer(samePrefix)); diff != "" {
		t.Errorf("All (-scan +list):\n%s", diff)
	}
	if diff := gocmp.Diff(slow.all(now, true), slices.Collect(fast.Allowances(now)), gocmp.Comparer(samePrefix)); diff != "" {
		t.Errorf("Allowances (-scan +list):\n%s", diff)
	}
	for _, r := range slow.records {
		if trust := fast.Trust(r.Prefix); trust != r.trust && r.Until.Add(slow.retention).After(now) {
			t.Errorf("%s: %+v, scan says %+v", r.Prefix, trust, r.trust)
		}
	}
	checkCounts(t, fast)
}

func samePrefix(a, b netip.Prefix) bool { return a == b }

// checkCounts holds the list's books against each other.
func checkCounts(t *testing.T, l *List) {
	t.Helper()
	s := l.Stats()
	byRule := 0
	for rule, n := range s.Rules {
		byRule += n
		if n <= 0 {
			t.Errorf("rule %s has %d blocks", rule, n)
		}
	}
	if l.Len() != s.V4+s.V6 || l.Len() != byRule || l.expiries.n+l.ended.n+l.lifted.n != l.Len()+s.Allowances+s.Remembered {
		t.Errorf("Len %d, V4+V6 %d, by rule %d, expiries %d, allowances %d, remembered %d",
			l.Len(), s.V4+s.V6, byRule, l.expiries.n+l.ended.n+l.lifted.n, s.Allowances, s.Remembered)
	}
}

// TestMergeConverges returns the same records to several nodes, in different
// orders, some twice, at different times within the retention, and with
// sweeps in between: all must end with the same list.
func TestMergeConverges(t *testing.T) {
	fulltest.Only(t)
	d := newDice(t)
	for range 200 {
		records := make([]edgeguard.Block, 1+d.IntN(12))
		for i := range records {
			records[i] = d.block(epoch.Add(30 * time.Second))
			records[i].Prefix = netip.MustParsePrefix([]string{"10.0.0.0/24", "10.0.0.1/32"}[d.IntN(2)])
			records[i].Count = uint32(d.IntN(2))
			records[i].Origin = []string{"a", "b"}[d.IntN(2)]
		}
		end := epoch.Add(time.Minute)
		var first []edgeguard.Block
		for node := range 4 {
			l := New(Config{Retention: 10 * time.Minute})
			now := epoch
			delivered := slices.Concat(records, records[:d.IntN(len(records)+1)])
			d.Shuffle(len(delivered), func(i, j int) { delivered[i], delivered[j] = delivered[j], delivered[i] })
			for _, b := range delivered {
				now = now.Add(time.Duration(d.IntN(2500)) * time.Millisecond)
				if _, err := l.Merge(b, now); err != nil && !errors.Is(err, ErrExpired) {
					t.Fatal(err)
				}
				if d.IntN(3) == 0 {
					l.Sweep(now)
				}
			}
			all := slices.Concat(slices.Collect(l.All(end)), slices.Collect(l.Allowances(end)))
			if node == 0 {
				first = all
			} else if !slices.Equal(first, all) {
				t.Fatalf("records %v\nfirst node %v\nnode %d %v", records, first, node, all)
			}
		}
	}
}
