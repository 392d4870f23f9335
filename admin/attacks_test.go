package admin

import (
	"fmt"
	"iter"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/attack"
	"edgeguard/eventlog"
)

// attacked is a node with a block, which tells its attacks whenever it asks for those of others.
type attacked struct {
	watching
	view  *View
	block edgeguard.Block
	more  []edgeguard.Block // in order
	later time.Duration
}

func (a *attacked) Now() time.Time { return noon.Add(a.later) }

func (a *attacked) FleetNodes(...watch.Span) []FleetNode {
	a.view.TellAttacks()
	return a.nodes
}

func (a *attacked) Blocks(_ time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for _, b := range append([]edgeguard.Block{a.block}, a.more...) {
			if b.Prefix.Compare(from) >= 0 && !yield(b) {
				return
			}
		}
	}
}

func (a *attacked) Active([]edgeguard.Block) []ActiveBlock { return nil }

// newAttacked returns such a node of a fleet.
func newAttacked(log *eventlog.Log) *attacked {
	a := &attacked{block: edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Rule: "login", Since: noon.Add(-time.Minute), Until: noon.Add(time.Hour)}}
	a.view = NewView(a, NewEvents("edge-1", log, nil))
	return a
}

// What other nodes tell is heard as well where the chart, or a node that looks, asked for figures just before. Who has
// left the fleet is not missed.
func TestAttacksOfOthersAreHeard(t *testing.T) {
	node := newAttacked(eventlog.New(eventlog.Config{}))
	line := fmt.Sprintf("search_198.51.100.0_%s 7 %d 2 1\n", noon.Format("20060102T150405Z"), noon.Unix())
	node.nodes = []FleetNode{{Name: "edge-2", Alive: true, Figures: &FleetFigures{Attacks: line}}, {Name: "edge-3", Alive: true}}
	node.view.Hours(t.Context(), time.Time{}, time.Time{})
	if all := node.view.Attacks(t.Context(), time.Time{}, time.Time{}); len(all) != 1 || all[0].Refused != 7 || len(all[0].Silent) != 1 {
		t.Fatalf("%+v", all)
	}
	node.nodes, node.view.events.attacks.heard = nil, time.Time{}
	if all := node.view.Attacks(t.Context(), time.Time{}, time.Time{}); len(all) != 1 || all[0].Refused != 0 || len(all[0].Silent) != 0 {
		t.Errorf("%+v", all)
	}
}

// An attack that was told before a restart is not told again because its next crossing comes before the log is read.
func TestAttackIsToldOnceOverARestart(t *testing.T) {
	log := eventlog.New(eventlog.Config{})
	before := newAttacked(log)
	crossing := Event{Time: noon.Add(-time.Minute), Kind: EventBlock, Block: &Block{Prefix: before.block.Prefix, Rule: "login", Since: before.block.Since, Until: before.block.Until}}
	before.view.events.keep(eventlog.Blocks, crossing, "login", before.block.Prefix)
	if told := before.view.NewAttacks(); len(told) != 1 {
		t.Fatalf("%+v", told)
	}
	after := newAttacked(log)
	recall := after.view.events.Recall(noon)
	crossing.Time = noon
	after.view.events.keep(eventlog.Blocks, crossing, "login", before.block.Prefix)
	told := after.view.NewAttacks()
	recall(t.Context())
	if told = append(told, after.view.NewAttacks()...); len(told) != 0 {
		t.Errorf("told again: %+v", told)
	}
	crossing.Block.Prefix = netip.MustParsePrefix("198.51.100.7/32")
	after.block.Prefix = crossing.Block.Prefix
	after.view.events.keep(eventlog.Blocks, crossing, "login", crossing.Block.Prefix)
	if told := after.view.NewAttacks(); len(told) != 1 {
		t.Errorf("another one: %+v", told)
	}
}

// crosses has a block of a node come into force on this one.
func (a *attacked) crosses(prefix, origin string) {
	b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "login", Origin: origin, Since: a.Now(), Until: a.Now().Add(time.Hour)}
	shown := NewBlock(b)
	a.more = append(a.more, b)
	a.view.events.keep(eventlog.Blocks, Event{Time: a.Now(), Kind: EventBlock, Block: &shown}, "login", b.Prefix)
}

// An attack that begins while a long log is read at the start is told when it is read, however long that took; one that
// was told before is not.
func TestAttackBesideALongLog(t *testing.T) {
	log := eventlog.New(eventlog.Config{})
	before := newAttacked(log)
	before.crosses("203.0.113.9/32", "edge-1")
	node := newAttacked(log)
	recall := node.view.events.Recall(node.Now())
	node.later = time.Second
	node.more = append(node.more, before.more...)
	node.crosses("203.0.114.7/32", "edge-1")
	for node.later < time.Hour {
		node.later += time.Second
		if told := node.view.NewAttacks(); len(told) != 0 {
			t.Fatalf("told before the log is read: %+v", told)
		}
	}
	recall(t.Context())
	node.later += time.Second
	if told := node.view.NewAttacks(); len(told) != 1 || told[0].Block.Prefix.String() != "203.0.114.7/32" {
		t.Errorf("%+v", told)
	}
	if told := node.view.NewAttacks(); len(told) != 0 {
		t.Errorf("told twice: %+v", told)
	}
}

// Where another node's blocks began a group, this node tells of its own block that joins it, not of theirs.
func TestJoinedGroupIsToldByItsOwnBlock(t *testing.T) {
	node := newAttacked(eventlog.New(eventlog.Config{}))
	for i := range 12 {
		node.crosses(fmt.Sprintf("204.0.%d.1/32", i), "edge-2")
	}
	if told := node.view.NewAttacks(); len(told) != 1 || told[0].Block.Origin != "edge-2" {
		t.Fatalf("%+v", told)
	}
	node.later = time.Minute
	node.crosses("204.0.20.1/32", "edge-1")
	if told := node.view.NewAttacks(); len(told) != 1 || told[0].Block.Prefix.String() != "204.0.20.1/32" {
		t.Errorf("%+v", told)
	}
	node.crosses("204.0.21.1/32", "edge-1")
	if told := node.view.NewAttacks(); len(told) != 0 {
		t.Errorf("told twice: %+v", told)
	}
}

// An ID that no attack has costs the entries of its network and rule, and not all that was then, even where these have some.
func TestUnknownIDsAreCheap(t *testing.T) {
	node := newAttacked(eventlog.New(eventlog.Config{}))
	node.crosses("204.0.1.1/32", "edge-1")
	for i := range 3000 {
		node.crosses(fmt.Sprintf("205.%d.%d.1/32", i/250, i%250), "edge-1")
	}
	node.view.events.attacks.book = attack.Book{} // as after days
	bytes := func(id string) (found bool, allocated uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, found = node.view.AttackDetail(t.Context(), id, netip.Prefix{}, 10)
		runtime.ReadMemStats(&after)
		return found, after.TotalAlloc - before.TotalAlloc
	}
	id := "login_204.0.1.0_" + noon.Format("20060102T150405Z")
	found, known := bytes(id)
	other, unknown := bytes("login_204.0.1.0_" + noon.Add(-time.Minute).Format("20060102T150405Z"))
	if !found || other || unknown > known/4 {
		t.Errorf("the attack %v: %d bytes; another time %v: %d bytes", found, known, other, unknown)
	}
}
