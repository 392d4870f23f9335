package admin

import (
	"fmt"
	"iter"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/eventlog"
)

// attacked is a node with a block, which tells its attacks whenever it asks for those of others.
type attacked struct {
	watching
	view  *View
	block edgeguard.Block
}

func (a *attacked) FleetNodes(...watch.Span) []FleetNode {
	a.view.TellAttacks()
	return a.nodes
}

func (a *attacked) Blocks(time.Time, netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) { yield(a.block) }
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
