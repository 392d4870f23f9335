package quarantine

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard/blocklist"
)

// waiting returns a held record of a prefix, held so many seconds after the others.
func waiting(g *door, prefix string, why Why, share float64, second int) Held {
	b := g.block(prefix, 3)
	if b.Allow = prefix == "10.16.0.0/12"; why == Pace {
		b = blocklist.Tombstone(b, g.now, "enough", "edge-2")
	}
	return Held{Block: b, Share: share, At: g.now.Add(time.Duration(second) * time.Second), Why: why,
		Trust: blocklist.Trust{Forced: why == Wide}}
}

// What a node says of its held records is bounded, and begins with the newest of
// those that need an operator, whatever else came since.
func TestWaits(t *testing.T) {
	g := newDoor(t)
	if held, first := g.Waits(3); held != 0 || first != nil {
		t.Errorf("of nothing: %d, %v", held, first)
	}
	all := []Held{
		waiting(g, "10.0.0.0/12", Wide, 0, 1),
		waiting(g, "198.18.0.0/16", tooMuch, 0.4, 2),
		waiting(g, "10.16.0.0/12", Wide, 0, 2),
		waiting(g, "198.19.0.0/24", tooMuch, 0, 8),
	}
	for i := range 50 {
		all = append(all, waiting(g, fmt.Sprintf("203.0.113.%d/32", i), Pace, 0, 9))
	}
	g.Restore(g.now, all, nil)
	want := []string{"10.16.0.0/12", "198.18.0.0/16", "10.0.0.0/12", "203.0.113.0/32", "203.0.113.1/32"}
	for n := range len(want) + 1 {
		held, first := g.Waits(n)
		if got := texts(first); held != len(all) || !slices.Equal(got, want[:n]) {
			t.Errorf("%d of %d: %v, want %v", n, held, got, want[:n])
		}
	}
	if held, first := g.Waits(100); held != len(all) || len(first) != held || first[held-1].String() != "198.19.0.0/24" {
		t.Errorf("all: %d, %v", held, first)
	}
}

func texts(prefixes []netip.Prefix) (out []string) {
	for _, p := range prefixes {
		out = append(out, p.String())
	}
	return out
}

// A flood of records that wait for room does not push out what needs an operator.
func TestWaitsInAFlood(t *testing.T) {
	g := newDoor(t)
	if _, err := g.Admit(g.now, g.d, g.block("10.0.0.0/12", 1), blocklist.Trust{Forced: true}); err == nil {
		t.Fatal("a wide unsigned block is in force")
	}
	for i := range 1000 {
		g.now = g.now.Add(time.Millisecond)
		b := blocklist.Tombstone(g.block(fmt.Sprintf("203.0.%d.%d/32", i/256, i%256), 1), g.now, "enough", "edge-2")
		_, _ = g.Admit(g.now, g.d, b, blocklist.Trust{Forced: true}) // the first hundred find room
	}
	held, first := g.Waits(1)
	if held < 500 || first[0].String() != "10.0.0.0/12" {
		t.Errorf("%d are held, the first is %v", held, first)
	}
}
