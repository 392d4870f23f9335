package blocklist

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
)

const somewhere = "172.16.1.1/32"

// byRule is a block of a rule, for so long.
func byRule(rule string, d time.Duration) edgeguard.Block {
	b := block(somewhere, d)
	b.Rule, b.Version, b.Count = rule, 0, 70
	return b
}

func stays(*edgeguard.Block) bool   { return false }
func goesToo(*edgeguard.Block) bool { return true }

// What an import replaced is in force again when the import is taken back, as long as it would
// have lasted; and no node forgets a count.
func TestLiftSamePutsBackWhatWasReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		before []edgeguard.Block
		at     time.Duration
		goes   func(*edgeguard.Block) bool
		want   string // the rule in force after the lift
	}{
		"a rule's":             {[]edgeguard.Block{byRule("site", time.Hour)}, time.Minute, stays, "site"},
		"a rule's, over":       {[]edgeguard.Block{byRule("site", time.Second)}, time.Minute, stays, ""},
		"a rule's, lifted too": {[]edgeguard.Block{byRule("site", time.Hour)}, time.Minute, goesToo, ""},
		"nothing":              {nil, time.Minute, stays, ""},
		"another import":       {[]edgeguard.Block{byRule("site", time.Hour), byRule(edgeguard.ManualRule, time.Hour)}, time.Minute, stays, "site"},
		"an owner's":           {[]edgeguard.Block{byRule("site", time.Hour), byRule("owner f", 90*time.Minute)}, time.Minute, stays, "owner f"},
	} {
		l, p := New(Config{}), netip.MustParsePrefix(somewhere)
		for _, b := range c.before {
			mustAdd(t, l, b, epoch)
		}
		imported := mustAdd(t, l, byRule(edgeguard.ManualRule, 2*time.Hour), epoch)
		now := epoch.Add(c.at)
		x, ok := l.LiftSame(imported, c.goes, now, "wrong file", "n1")
		got := ""
		if b := l.BlockOf(now, p); b != nil {
			got = b.Rule
			if want := c.before[len(c.before)-1]; c.want == "site" && (b.Count != 70 || !b.Until.Equal(epoch.Add(time.Hour)) || b.Version <= imported.Version) {
				t.Errorf("%s: %+v is in force, and was %+v", name, b, want)
			}
		}
		if !ok || got != c.want || x.Left.Forgets() || x.Left.Version <= imported.Version {
			t.Errorf("%s: lifted %v, by %q: %+v", name, ok, got, x.Left)
		}
		if back, ok, err := l.PutBack(x, now, "n1"); !ok || err != nil || back.Rule != edgeguard.ManualRule || l.BlockOf(now, p) == nil || *l.BlockOf(now, p) != back {
			t.Errorf("%s: back %+v, %v, %v", name, back, ok, err)
		}
	}
}

// Only the very block that was seen is lifted, and it is put back only where nothing has happened since.
func TestLiftSameAndPutBackLeaveWhatChanged(t *testing.T) {
	l, p := New(Config{}), netip.MustParsePrefix(somewhere)
	seen := mustAdd(t, l, byRule("site", time.Hour), epoch)
	longer := mustAdd(t, l, byRule("site", 2*time.Hour), epoch)
	if _, ok := l.LiftSame(seen, stays, epoch, "", "n1"); ok {
		t.Error("a block was lifted that nobody had seen")
	}
	x, ok := l.LiftSame(longer, stays, epoch, "", "n1")
	if !ok || !x.Left.Forgets() || x.Left.Rule != "site" {
		t.Errorf("of a rule's block the counts stay: %v, %+v", ok, x.Left)
	}
	again := mustAdd(t, l, byRule("login", time.Minute), epoch)
	if _, ok, err := l.PutBack(x, epoch, "n1"); ok || err != nil || *l.BlockOf(epoch, p) != again {
		t.Errorf("put back over another block: %v, %v", ok, err)
	}
	x, _ = l.LiftSame(again, stays, epoch, "", "n1")
	mustAdd(t, l, allowance("172.16.0.0/16", time.Hour), epoch)
	if _, _, err := l.PutBack(x, epoch, "n1"); err == nil {
		t.Error("put back inside an allowance")
	}
}

// A list that was restored knows what was replaced.
func TestReplacedIsRestored(t *testing.T) {
	l := New(Config{})
	mustAdd(t, l, byRule("site", time.Hour), epoch)
	imported := mustAdd(t, l, byRule(edgeguard.ManualRule, 2*time.Hour), epoch)
	next := New(Config{})
	for b, trust := range l.ReplacedRecords() {
		next.RestoreReplaced(b, trust)
	}
	gone := byRule("site", time.Hour)
	gone.Prefix = netip.MustParsePrefix("172.16.9.9/32")
	next.RestoreReplaced(gone, Trust{}) // no other stands there
	next.Restore(l.Records(), epoch)
	if len(next.replaced) != 1 {
		t.Errorf("%d remembered", len(next.replaced))
	}
	if x, ok := next.LiftSame(imported, stays, epoch, "", "n1"); !ok || x.Left.Rule != "site" {
		t.Errorf("%v, %+v", ok, x.Left)
	}
}

// Whatever happens, one is remembered only where another rule's block stands.
func TestReplacedLeavesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l, now, most := New(Config{Most: 40}), epoch, 0
	rules := []string{"site", "login", edgeguard.ManualRule, "owner f"}
	for range 20_000 {
		b := byRule(rules[rng.IntN(len(rules))], time.Duration(1+rng.IntN(600))*time.Second)
		b.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16, 0, byte(rng.IntN(60))}), 32)
		b.Since, b.Until = now, now.Add(b.Until.Sub(epoch))
		if b.Rule == edgeguard.ManualRule {
			b.Count, b.Batch, b.Allow = 0, edgeguard.BatchID(rng.IntN(8)), rng.IntN(4) == 0
		}
		goes := func(x *edgeguard.Block) bool { return x.Batch == b.Batch }
		switch rng.IntN(6) {
		case 0:
			if e := l.recordOf(b.Prefix); e != nil {
				would, ok := l.WouldLift(e.block, goes, now)
				x, did := l.LiftSame(e.block, goes, now, "", "n1")
				if ok != did || would.Left.Lifted != x.Left.Lifted || did && !x.Left.Lifted && (would.Left.Rule != x.Left.Rule || goes(&x.Left)) {
					t.Fatalf("%+v, %v, and it would be %+v, %v", x, did, would, ok)
				}
			}
			l.ForgetReplaced(goes)
		case 1:
			l.Lift(b.Prefix, now, "", "n1")
		case 2:
			now = now.Add(time.Second)
			l.Sweep(now)
		default:
			_, _, _ = l.Add(b, false, now)
		}
		most = max(most, len(l.replaced))
		for p, under := range l.replaced {
			e := l.recordOf(p)
			if e == nil || e.remembered || len(under) > mostReplaced || slices.ContainsFunc(under, e.isByMakerOf) {
				t.Fatalf("%s: %d are remembered beside %+v", p, len(under), e)
			}
		}
	}
	if most < 5 {
		t.Errorf("at most %d were remembered", most)
	}
}

// An import that has ended since it was taken back does not come back, and what it had replaced stays in force.
func TestPutBackOfWhatHasEnded(t *testing.T) {
	l, p := New(Config{}), netip.MustParsePrefix(somewhere)
	mustAdd(t, l, byRule("site", time.Hour), epoch)
	x, ok := l.LiftSame(mustAdd(t, l, byRule(edgeguard.ManualRule, 5*time.Minute), epoch), stays, epoch.Add(time.Minute), "wrong file", "n1")
	if !ok || x.Left.Rule != "site" {
		t.Fatalf("%v, %+v", ok, x.Left)
	}
	now := epoch.Add(6 * time.Minute)
	if _, still, err := l.PutBack(x, now, "n1"); !still || !errors.Is(err, ErrExpired) {
		t.Errorf("%v, %v", still, err)
	}
	if b := l.BlockOf(now, p); b == nil || *b != x.Left {
		t.Errorf("%+v is in force", b)
	}
}

// batched is a block, or an allowance, that is one of many.
func batched(n edgeguard.BatchID, d time.Duration, allow bool) edgeguard.Block {
	b := byRule(edgeguard.ManualRule, d)
	b.Count, b.Batch, b.Allow = 0, n, allow
	return b
}

// Imports over each other and over a rule's block are taken back in any order, and each leaves what
// is not its own.
func TestBatchesAreTakenBackInAnyOrder(t *testing.T) {
	const h = time.Hour
	for name, c := range map[string]struct {
		of   []edgeguard.Block
		back []edgeguard.BatchID
		want []string // what stands after each, as its rule and its batch
	}{
		"the last first":        {[]edgeguard.Block{byRule("site", h), batched(1, 2*h, false), batched(2, 3*h, false)}, []edgeguard.BatchID{2, 1}, []string{"manual 1", "site "}},
		"the first first":       {[]edgeguard.Block{byRule("site", h), batched(1, 2*h, false), batched(2, 3*h, false)}, []edgeguard.BatchID{1, 2}, []string{"manual 2", "site "}},
		"one by hand below":     {[]edgeguard.Block{byRule(edgeguard.ManualRule, h), batched(1, 2*h, false)}, []edgeguard.BatchID{1}, []string{"manual "}},
		"one by hand above":     {[]edgeguard.Block{batched(1, h, false), byRule(edgeguard.ManualRule, 2*h)}, []edgeguard.BatchID{1}, []string{"manual "}},
		"a rule's above":        {[]edgeguard.Block{batched(1, h, false), byRule("site", 2*h)}, []edgeguard.BatchID{1}, []string{"site "}},
		"allowed, over a block": {[]edgeguard.Block{byRule("site", h), batched(1, h, true)}, []edgeguard.BatchID{1}, []string{"site "}},
		"allowed twice":         {[]edgeguard.Block{byRule("site", h), batched(1, h, true), batched(2, 2*h, true)}, []edgeguard.BatchID{2, 1}, []string{"manual 1", "site "}},
		"allowed twice, first":  {[]edgeguard.Block{byRule("site", h), batched(1, h, true), batched(2, 2*h, true)}, []edgeguard.BatchID{1, 2}, []string{"manual 2", "site "}},
	} {
		for restarted := range 2 {
			l, p := New(Config{}), netip.MustParsePrefix(somewhere)
			for _, b := range c.of {
				mustAdd(t, l, b, epoch)
			}
			for i, n := range c.back {
				if restarted == 1 {
					next := New(Config{})
					for b, trust := range l.ReplacedRecords() {
						next.RestoreReplaced(b, trust)
					}
					next.Restore(l.Records(), epoch)
					l = next
				}
				goes := func(b *edgeguard.Block) bool { return b.Batch == n }
				for b := range l.Records() {
					if goes(&b) {
						l.LiftSame(b, goes, epoch, "", "n1")
					}
				}
				l.ForgetReplaced(goes)
				got := "nothing"
				if e := l.recordOf(p); e != nil && !e.remembered {
					got = e.block.Rule + " " + e.block.Batch.String()
				}
				if got != c.want[i] {
					t.Errorf("%s, restarted %d: after %d %q stands, want %q", name, restarted, n, got, c.want[i])
				}
			}
			goes := func(*edgeguard.Block) bool { return false }
			if b := l.BlockOf(epoch, p); b != nil {
				if x, ok := l.LiftSame(*b, goes, epoch, "", "n1"); ok && !x.Left.Lifted && x.Left.Batch != 0 {
					t.Errorf("%s: what was taken back stands again: %+v", name, x.Left)
				}
			}
		}
	}
}

// What one node took back does not come back on another, when that takes back what stands there
// again.
func TestWhatWasTakenBackElsewhereStaysSo(t *testing.T) {
	here, there, p := New(Config{}), New(Config{}), netip.MustParsePrefix(somewhere)
	skew := time.Duration(0)
	tell := func() {
		for b := range here.Records() {
			skew += time.Millisecond
			b.Until = b.Until.Add(skew) // by its clock
			if _, err := there.Merge(b, epoch); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range []edgeguard.Block{byRule("site", time.Hour), batched(1, 2*time.Hour, false), batched(2, 3*time.Hour, false)} {
		mustAdd(t, here, b, epoch)
		tell()
	}
	for range 2 {
		here.LiftSame(*here.BlockOf(epoch, p), stays, epoch, "", "n1")
		tell()
	}
	x, ok := there.LiftSame(*there.BlockOf(epoch, p), stays, epoch, "", "n2")
	if !ok || !x.Left.Lifted {
		t.Errorf("%v: %+v is in force again", ok, x.Left)
	}
}
