package aggregator

import (
	"net/netip"
	"testing"
	"time"
)

// A key is new again after a while, and what is remembered is bounded.
func TestNew(t *testing.T) {
	var a RecentWatches
	now := time.Unix(1_800_000_000, 0)
	key := func(i uint64) Key {
		return Key{Meter: i, Prefix: netip.MustParsePrefix("203.0.113.9/32")}
	}
	ask := func(when string, after time.Duration, want int, keys ...Key) {
		t.Helper()
		if got := a.New(keys, now.Add(after)); len(got) != want {
			t.Errorf("%s: %d are new, want %d", when, len(got), want)
		}
	}
	ask("first", 0, 2, key(1), key(2))
	ask("with another", again-1, 1, key(1), key(3), key(2))
	ask("after a while", again, 2, key(1), key(2), key(3))
	for i := range uint64(3 * most) {
		a.New([]Key{key(i)}, now)
	}
	if len(a.last) > most {
		t.Errorf("%d are remembered", len(a.last))
	}
}
