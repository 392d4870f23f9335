package quarantine

import (
	"errors"
	"testing"

	"edgeguard"
	"edgeguard/aggregator"
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
	if in != 20 || len(g.All()) != 0 {
		t.Errorf("%d of 20 in force, %d wait", in, len(g.All()))
	}
	if len(asked) != 0 || len(g.budget.charges) != 0 {
		t.Errorf("asked for %v; charged %v", asked, g.budget.charges)
	}
}

// The node's own counts of a held block are asked for, unless it matches no
// client seen here: then there are none.
func TestHeldIsAsked(t *testing.T) {
	g := newDoor(t)
	var asked []string
	g.ask = func(b edgeguard.Block) { asked = append(asked, b.Prefix.String()) }
	g.asked(18, 10, 200)
	for k := range 10 {
		_ = g.merge(g.block(client(18, k).String()+"/32", 1), false)
	}
	waiting := len(g.All())
	if waiting == 0 || len(asked) != waiting {
		t.Fatalf("%d wait, asked for %v", waiting, asked)
	}
	if err := g.merge(g.block("203.0.113.9/32", 1), false); !errors.Is(err, aggregator.ErrHeld) {
		t.Fatalf("a block for which there is no room: %v", err)
	}
	if len(asked) != waiting {
		t.Errorf("asked for %v", asked)
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
	before := g.budget.sum
	if _, ok := g.list.Lift(first.Prefix, g.now, "wrong", "edge-1"); !ok {
		t.Fatal("not lifted")
	}
	if after := g.budget.sum; after >= before {
		t.Errorf("after the lift %v are charged, before %v", after, before)
	}
}
