package admin

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// A page of the blocks of a node: those that match a filter, in one of a few
// orders.

const (
	// maxLooked is how many blocks one page looks at for those that match, and
	// maxMatched up to how many it counts them.
	maxLooked  = 100_000
	maxMatched = 10_000
)

// The words of Filter.MadeBy, which metrics and JSON use too.
const (
	FromHere  = "local"  // by a rule on this node
	Manual    = "manual" // by an operator on this node
	FromFleet = "fleet"  // on another node
)

// makerOf returns where a block was made, as seen from a node: one of the words.
func makerOf(b *edgeguard.Block, node string) string {
	switch {
	case b.Origin != "" && b.Origin != node:
		return FromFleet
	case b.Rule == edgeguard.ManualRule:
		return Manual
	}
	return FromHere
}

// BlockFilter says which blocks a list shows, and in which order. The zero one shows
// all by their prefixes.
type BlockFilter struct {
	Rule, Origin   string
	Family, MadeBy string // "ipv4" or "ipv6"; a word of MadeBy on Node
	Node           string
	Proxied        *bool
	Batch          edgeguard.BatchID
	Since          time.Time    // only blocks made after it
	Within         netip.Prefix // only blocks inside it
	Contains       netip.Addr   // only blocks that contain it
	Order          string       // a word of Orders; empty for ByPrefix
	Backwards      bool         // against the order's usual direction
	After          ListPosition // only blocks behind it
}

// past reports whether no block from this one on can match.
func (f *BlockFilter) past(b *edgeguard.Block) bool {
	switch {
	case f.Sorted():
		return false
	case f.Order == Newest:
		return !f.Since.IsZero() && !b.Since.After(f.Since)
	}
	return f.Within.IsValid() && !f.Within.Contains(b.Prefix.Addr()) && b.Prefix.Compare(f.Within) > 0
}

func (f *BlockFilter) wants(b *edgeguard.Block) bool {
	return b.Prefix.IsValid() && b.Prefix != f.After.Prefix &&
		(f.Rule == "" || b.Rule == f.Rule) &&
		(f.Origin == "" || b.Origin == f.Origin) &&
		(f.Family == "" || b.Prefix.Addr().Is4() == (f.Family == "ipv4")) &&
		(f.MadeBy == "" || makerOf(b, f.Node) == f.MadeBy) &&
		(f.Proxied == nil || b.Proxied == *f.Proxied) &&
		(f.Batch == 0 || b.Batch == f.Batch) &&
		(f.Since.IsZero() || b.Since.After(f.Since)) &&
		(!f.Within.IsValid() || f.Within.Bits() <= b.Prefix.Bits() && f.Within.Contains(b.Prefix.Addr()))
}

// Known returns how many blocks match, where the list knows it without a walk: count
// returns how many have something in common.
func (f *BlockFilter) Known(count func(having func(blocklist.Common) bool) (int, bool)) (n int, ok bool) {
	if f.Proxied != nil || f.Batch != 0 || !f.Since.IsZero() || f.Within.IsValid() || f.Contains.IsValid() {
		return 0, false
	}
	return count(func(k blocklist.Common) bool {
		return (f.Rule == "" || k.Rule == f.Rule) && (f.Origin == "" || k.Origin == f.Origin) && (f.Family == "" || k.V6 == (f.Family == "ipv6")) &&
			(f.MadeBy == "" || makerOf(&edgeguard.Block{Rule: k.Rule, Origin: k.Origin}, f.Node) == f.MadeBy)
	})
}

// PickedBlocks is a page of a list.
type PickedBlocks struct {
	Blocks          []edgeguard.Block
	Last            edgeguard.Block // the next page begins behind it
	LastAt          int             // its number among the blocks that were looked at
	More            bool            // another block matches
	Cut             bool            // the walk ended before the last block
	Matched, Looked int
}

// Pick takes a page out of blocks, and with count goes on behind it to count those
// that match. A zero block matches nothing.
func (f *BlockFilter) Pick(blocks iter.Seq[edgeguard.Block], limit int, count bool) (p PickedBlocks) {
	for b := range blocks {
		if f.past(&b) {
			return p
		}
		if p.Looked++; p.Looked > maxLooked && (!f.byPrefix() || p.More) || p.Matched > maxMatched || p.More && !count {
			p.Looked, p.Cut = p.Looked-1, true
			return p
		}
		wanted := f.wants(&b)
		if wanted {
			p.Matched++
		}
		p.More = p.More || wanted && len(p.Blocks) == limit
		if !p.More {
			p.Last, p.LastAt = b, p.Looked-1
		}
		if wanted && !p.More {
			p.Blocks = append(p.Blocks, b)
		}
	}
	return p
}
