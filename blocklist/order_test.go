package blocklist

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

// An unblock outranks what was made before it was heard: the extension of the
// block, and a longer one in its place.
func TestUnblockOutranksWhatStood(t *testing.T) {
	b := block("172.16.1.1/32", 10*time.Minute)
	for name, change := range map[string]func(*edgeguard.Block){
		"extension":       func(b *edgeguard.Block) { b.Until = b.Until.Add(time.Minute) },
		"longer block":    func(b *edgeguard.Block) { b.Rule, b.Until = "trap", epoch.Add(24*time.Hour) },
		"many extensions": func(b *edgeguard.Block) { b.Version, b.Until = 10_000, epoch.Add(time.Hour) },
		"by hand": func(b *edgeguard.Block) {
			b.Rule, b.Version, b.Until = edgeguard.ManualRule, 1+aheadBlock, epoch.Add(time.Hour)
		},
	} {
		here, there := New(Config{}), New(Config{})
		mustMerge(t, here, b)
		mustMerge(t, there, b)
		tombstone, ok := here.Lift(b.Prefix, epoch.Add(time.Second), "a mistake", "n1")
		if !ok {
			t.Fatal("not lifted")
		}
		unheard := b
		unheard.Version++
		change(&unheard)
		mustMerge(t, there, unheard)
		mustMerge(t, there, tombstone)
		if _, err := here.Merge(unheard, epoch.Add(2*time.Second)); err != nil {
			t.Error(err)
		}
		for node, l := range map[string]*List{"where it was lifted": here, "where it was made": there} {
			if s := l.standing(2*time.Second, "172.16.1.1"); s != None {
				t.Errorf("%s: %s %s", name, s, node)
			}
		}
		again := mustAdd(t, here, b, epoch.Add(3*time.Second))
		mustMerge(t, there, again)
		if here.standing(3*time.Second, "172.16.1.1") != Blocked || there.standing(3*time.Second, "172.16.1.1") != Blocked {
			t.Errorf("%s: a block after the unblock does not stand", name)
		}
	}
}

// An unblock is remembered for a day at least: a node that was cut off may come
// with a block that lasts for longer than the one that was lifted.
func TestUnblockIsRememberedForADay(t *testing.T) {
	l := New(Config{})
	b := block("172.16.1.1/32", 10*time.Minute)
	mustMerge(t, l, b)
	if _, ok := l.Lift(b.Prefix, epoch, "", ""); !ok {
		t.Fatal("not lifted")
	}
	now := epoch.Add(23 * time.Hour)
	l.Sweep(now)
	b.Rule, b.Version, b.Until = "trap", 2, epoch.Add(24*time.Hour)
	if changed, err := l.Merge(b, now); changed || err != nil {
		t.Errorf("a block of before the unblock: %v, %v", changed, err)
	}
}

// node is a list with what its operator and its rules had heard when they spoke.
type node struct {
	list *List
	// heard counts the unblocks in a row that this node knows of.
	heard int
}

// TestUnblockInAnyOrder plays operators and rules on some nodes that hear of each
// other late, in any order and repeatedly. In the end all lists are alike, and a
// block stands only if whoever made it had heard of as many unblocks in a row as
// anybody.
func TestUnblockInAnyOrder(t *testing.T) {
	fulltest.Only(t)
	d := newDice(t)
	for range 300 {
		playOrders(t, d.Rand)
	}
}

type word struct {
	edgeguard.Block
	heard int
}

func playOrders(t *testing.T, r *rand.Rand) {
	t.Helper()
	prefix := netip.MustParsePrefix("172.16.1.1/32")
	nodes := make([]node, 3)
	for i := range nodes {
		nodes[i].list = New(Config{})
	}
	var said []word
	most, now := 0, epoch
	for range 30 {
		now = now.Add(time.Duration(r.IntN(3)) * time.Second)
		n := &nodes[r.IntN(len(nodes))]
		_, standing := n.list.Find(now, prefix.Addr())
		switch r.IntN(6) {
		case 0: // an operator lifts
			if tomb, ok := n.list.Lift(prefix, now, "", ""); ok {
				n.heard++
				said = append(said, word{tomb, n.heard})
			}
		case 1: // a rule blocks, or blocks for longer
			b := edgeguard.Block{Prefix: prefix, Rule: "trap", Since: now, Until: now.Add(time.Duration(1+r.IntN(24)) * time.Hour)}
			if made, changed, err := n.list.Add(b, false, now); err == nil && changed {
				said = append(said, word{made, n.heard})
			}
		case 2: // while_over
			if standing != nil {
				b := *standing
				b.Version, b.Until = b.Version+1, b.Until.Add(time.Minute)
				if _, err := n.list.Merge(b, now); err != nil {
					t.Fatal(err)
				}
				said = append(said, word{b, n.heard})
			}
		default:
			if len(said) > 0 {
				n.hear(t, said[r.IntN(len(said))], now)
			}
		}
		most = max(most, n.heard)
	}
	for i := range nodes {
		for _, k := range r.Perm(len(said)) {
			nodes[i].hear(t, said[k], now)
		}
	}
	last := nodes[0].list.recordOf(prefix)
	if last == nil {
		return
	}
	for i := range nodes[1:] {
		if other := nodes[1+i].list.recordOf(prefix); other == nil || other.block != last.block {
			t.Fatalf("the nodes end with %+v and %+v", last, other)
		}
	}
	for _, w := range said {
		if w.Block == last.block && w.heard < most {
			t.Fatalf("%+v stands, made after %d unblocks of %d", w.Block, w.heard, most)
		}
	}
}

func (n *node) hear(t *testing.T, w word, now time.Time) {
	t.Helper()
	changed, err := n.list.Merge(w.Block, now)
	if err != nil {
		t.Fatal(err)
	}
	if changed {
		n.heard = max(n.heard, w.heard)
	}
}
