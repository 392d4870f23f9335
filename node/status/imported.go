package status

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
)

// Imported is what a Status reads of the imported blocks.
type Imported interface {
	Blocks() *blocklist.List // nil while there is none
	Has(source string) bool
}

// Imports implements admin/admin.ImportReader.
func (s *Status) Imports() admin.Imports { return s.from.Imports() }

// ImportedAround implements admin/admin.ImportReader.
func (s *Status) ImportedAround(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	list := s.from.Imported.Blocks()
	if list == nil {
		return nil
	}
	found := list.Around(s.from.Clock.Local(now), prefix)
	for i := range found {
		found[i] = s.Outward(found[i])
	}
	return found
}

// blocked returns a function that reports whether a block contains all of a prefix.
func (s *Status) blocked(now time.Time) func(netip.Prefix) bool {
	others := s.from.Imported.Blocks()
	return func(p netip.Prefix) bool {
		return len(s.from.List.Around(now, p)) > 0 || others != nil && len(others.Around(now, p)) > 0
	}
}

// ImportedBy implements admin/admin.ImportReader.
func (s *Status) ImportedBy(now time.Time, rule string, from netip.Prefix) (iter.Seq[edgeguard.Block], bool) {
	list := s.from.Imported.Blocks()
	if list == nil || !s.from.Imported.Has(edgeguard.Owner(rule)) {
		return nil, false
	}
	return s.outward(list.AllFrom(s.from.Clock.Local(now), from)), true
}

// listOf returns the list that a block is on, and whether that is the imported ones':
// only where the node's own list does not have it.
func (s *Status) listOf(b *edgeguard.Block) (list List, isImported bool) {
	others := s.from.Imported.Blocks()
	if edgeguard.Owner(b.Rule) == "" || others == nil {
		return s.from.List, false
	}
	now := s.from.Clock.Now()
	own, other := s.from.List.BlockOf(now, b.Prefix), others.BlockOf(now, b.Prefix)
	if other != nil && other.Rule == b.Rule && (own == nil || own.Rule != b.Rule) {
		return others, true
	}
	return s.from.List, false
}
