package quarantine

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

// A flood of addresses that this node's own counts confirm leaves room in the
// budget for the next ones.
func TestFoundMakesRoom(t *testing.T) {
	g := newDoor(t)
	var asked []edgeguard.Block
	g.ask = func(b edgeguard.Block) { asked = append(asked, b) }
	g.asked(18, 20, 100)
	in := 0
	for k := range 20 {
		b := g.block(client(18, k).String()+"/32", 1)
		switch err := g.merge(b, false); {
		case err == nil:
			g.Found(g.now, b.Prefix)
			in++
		case !errors.Is(err, aggregator.ErrHeld):
			t.Fatal(err)
		}
	}
	if in != 20 || len(g.HeldRecords()) != 0 {
		t.Errorf("%d of 20 in force, %d wait", in, len(g.HeldRecords()))
	}
	if len(asked) != 0 || len(g.budget.charges) != 0 {
		t.Errorf("asked for %v; charged %v", asked, g.budget.charges)
	}
}

// What waits and is proven is in force as the record that the fleet has, on this node's own
// word. What waits for its width is not one key's.
func TestReleaseIsTheSameRecord(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1, 1000)
	b := g.block(client(18, 0).String()+"/32", 7)
	if err := g.merge(b, false); !errors.Is(err, aggregator.ErrHeld) {
		t.Fatal(err)
	}
	g.Release(g.now, b.Prefix)
	g.Found(g.now, b.Prefix)
	if got := g.list.BlockOf(g.now, b.Prefix); got == nil || got.Version != b.Version || got.Origin != b.Origin || !got.Until.Equal(b.Until) || g.list.Trust(b.Prefix).Elsewhere {
		t.Errorf("%+v, %+v: want %+v", got, g.list.Trust(b.Prefix), b)
	}
	if s := g.Stats(); s.Held != 0 || s.ConfirmedByCounts != 1 {
		t.Errorf("%+v", s)
	}
	wide := g.block("198.18.0.0/16", 7)
	if _, err := g.Admit(g.now, g.d, wide, blocklist.Trust{}); !errors.Is(err, aggregator.ErrHeld) {
		t.Fatal(err)
	}
	g.Release(g.now, wide.Prefix)
	g.waits(wide.Prefix.String(), true)
}

// The node's own counts of each held block are asked for, also of a client that the
// sample does not know, and again when the record comes again. Of a record that is no
// block there are none.
func TestHeldIsAsked(t *testing.T) {
	g := newDoor(t)
	var asked []string
	g.ask = func(b edgeguard.Block) { asked = append(asked, b.Prefix.String()) }
	g.asked(18, 10, 200)
	for k := range 10 {
		_ = g.merge(g.block(client(18, k).String()+"/32", 1), false)
	}
	waiting := len(g.HeldRecords())
	if waiting == 0 || len(asked) != waiting {
		t.Fatalf("%d wait, asked for %v", waiting, asked)
	}
	unknown := g.block("203.0.113.9/32", 1)
	for range 2 {
		if err := g.merge(unknown, false); !errors.Is(err, aggregator.ErrHeld) {
			t.Fatalf("a block for which there is no room: %v", err)
		}
	}
	if want := []string{"203.0.113.9/32", "203.0.113.9/32"}; !slices.Equal(asked[waiting:], want) {
		t.Errorf("asked for %v, not %v", asked[waiting:], want)
	}
	allowance := g.block("203.0.0.0/16", 1)
	allowance.Allow = true
	if err := g.merge(allowance, true); !errors.Is(err, aggregator.ErrHeld) || len(asked) != waiting+2 {
		t.Errorf("a wide allowance: %v, asked for %v", err, asked[waiting+2:])
	}
	if b, held := g.HeldBlock(unknown.Prefix); !held || b != unknown {
		t.Errorf("held: %v %v", b, held)
	}
	if _, held := g.HeldBlock(netip.MustParsePrefix("198.18.0.99/32")); held {
		t.Error("held: a block that never came")
	}
}

// A block that is lifted, or that replaces one of the same addresses, takes no
// share of the budget.
func TestNoShareTwice(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 10, 200)
	first := g.block(client(18, 0).String()+"/32", 1)
	if err := g.merge(first, false); err != nil {
		t.Fatal(err)
	}
	for k := 1; k < 10; k++ { // the budget is full
		_ = g.merge(g.block(client(18, k).String()+"/32", 1), false)
	}
	longer := g.block(first.Prefix.String(), 2)
	if err := g.merge(longer, false); err != nil {
		t.Errorf("a greater record of a block in force: %v", err)
	}
	before := g.budget.sum.usedBeside(false)
	if _, ok := g.list.Lift(first.Prefix, g.now, "wrong", "edge-1"); !ok {
		t.Fatal("not lifted")
	}
	if after := g.budget.sum.usedBeside(false); after >= before {
		t.Errorf("after the lift %v are charged, before %v", after, before)
	}
}
