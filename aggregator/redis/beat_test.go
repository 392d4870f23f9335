package redis

import (
	"net/netip"
	"slices"
	"testing"
	"time"
)

// TestTwins: two runs of one name are twins while both are heard, and have been
// for longer than a restart takes.
func TestTwins(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	beat := func(node, boot string, started, at time.Duration) Beat {
		return Beat{Node: node, Boot: boot, Started: now.Add(-started), At: now.Add(-at)}
	}
	long := beat("a", "1", time.Hour, time.Second)
	for _, test := range []struct {
		name  string
		beats []Beat
		alive int
		twins []string
	}{
		{"alone", []Beat{long}, 1, nil},
		{"two names", []Beat{long, beat("b", "2", time.Hour, 0)}, 2, nil},
		{"two of one name", []Beat{long, beat("a", "2", time.Minute, 0)}, 2, []string{"a"}},
		{"one that is heard no more", []Beat{long, beat("a", "2", time.Minute, fresh)}, 1, nil},
		{"one from the future", []Beat{long, beat("a", "2", time.Minute, -fresh)}, 1, nil},
		{"one that has just started", []Beat{long, beat("a", "2", 2*time.Second, 0)}, 2, nil},
		{"one that ended as the other started", []Beat{beat("a", "1", time.Hour, 7*time.Second), beat("a", "2", 8*time.Second, 0)}, 2, nil},
	} {
		s := standing{now: now, beats: test.beats}
		if n := len(s.alive()); n != test.alive {
			t.Errorf("%s: %d alive, not %d", test.name, n, test.alive)
		}
		if twins := s.twins(); !slices.Equal(twins, test.twins) {
			t.Errorf("%s: twins %q, not %q", test.name, twins, test.twins)
		}
	}
}

// TestBeatFits: whatever a node has to say, its beat is taken, and says who it is.
func TestBeatFits(t *testing.T) {
	b := Beat{Node: "edge-a", Boot: "0123456789abcdef", Version: "test"}
	for i := range 200 {
		b.Own = append(b.Own, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	text := b.encode()
	back, ok := parseBeat(b.Field(), text)
	if !ok || len(text) > maxBeat || len(back.Own) == 0 || back.Version != "test" {
		t.Errorf("%d bytes, %d addresses, %v", len(text), len(back.Own), ok)
	}
	if _, ok := parseBeat("edge-b/0123456789abcdef", text); ok {
		t.Error("taken from another node's field")
	}
}
