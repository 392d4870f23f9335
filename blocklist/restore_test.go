package blocklist

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// record is a block with its trust.
type record struct {
	block edgeguard.Block
	trust Trust
}

func recordsOf(l *List) (out []record) {
	for b, t := range l.Records() {
		out = append(out, record{b, t})
	}
	slices.SortFunc(out, func(a, b record) int { return strings.Compare(a.block.Prefix.String(), b.block.Prefix.String()) })
	return out
}

// TestRestore: a list that is restored from another's records remembers the
// same, tombstones and forced blocks included, and finds the same.
func TestRestore(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	config := Config{Allow: prefixes("192.0.2.0/24"), Protected: prefixes("10.0.0.0/24")}
	l := New(config)
	for i := range 500 {
		b := block(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(3)), byte(r.IntN(256))}), 32).String(), time.Duration(1+r.IntN(600))*time.Second)
		b.Version, b.Allow = uint64(1+r.IntN(3)), r.IntN(4) == 0
		merge := l.Merge
		if i%3 == 0 {
			merge = l.Force
		}
		_, _ = merge(b, epoch) // some are refused: protected
		if i%7 == 0 {
			l.Lift(b.Prefix, epoch, "manual", "here")
		}
	}
	want := recordsOf(l)
	restored := New(config)
	if refused := restored.Restore(l.Records(), epoch); refused != 0 {
		t.Errorf("%d records refused", refused)
	}
	if got := recordsOf(restored); !slices.Equal(got, want) || len(want) < 100 {
		t.Fatalf("%d records, want %d: %v", len(got), len(want), got)
	}
	checkCounts(t, restored)
	for range 1000 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(3)), byte(r.IntN(256))})
		a, _ := l.Find(epoch, addr)
		b, _ := restored.Find(epoch, addr)
		if a != b {
			t.Fatalf("%s was %s and is %s", addr, a, b)
		}
	}
	for restored.Sweep(epoch.Add(48*time.Hour)) == SweepStep {
	}
	if left := recordsOf(restored); len(left) != 0 {
		t.Errorf("two days later %d records are left", len(left))
	}
}

// TestRestoreRefuses: what the list of today must not block stays out, and
// older news does not overrule newer.
func TestRestoreRefuses(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24")})
	newer := block("198.51.100.1/32", time.Hour)
	newer.Version = 5
	mustMerge(t, l, newer)
	older := newer
	older.Version, older.Lifted = 3, true
	records := []edgeguard.Block{block("192.0.2.1/32", time.Hour), block("172.16.0.0/12", time.Hour), older}
	refused := l.Restore(func(yield func(edgeguard.Block, Trust) bool) {
		for _, b := range records {
			if !yield(b, Trust{}) {
				return
			}
		}
	}, epoch)
	if refused != 2 || l.Len() != 1 {
		t.Errorf("%d refused and %d stand, want 2 and 1", refused, l.Len())
	}
}
