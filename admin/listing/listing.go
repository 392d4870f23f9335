// Package listing picks a page out of the blocks of a node: those that match a
// filter, in the order of their prefixes or the newest first.
package listing

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

const (
	// maxLooked is how many blocks one page looks at for those that match, and
	// maxMatched up to how many it counts them.
	maxLooked  = 100_000
	maxMatched = 10_000
)

// cursorTime is the layout of the time in a cursor of the newest: UTC alone, so that
// each time has one form.
const cursorTime = "2006-01-02T15:04:05.999999999Z"

// The words of Filter.MadeBy, which metrics and JSON use too.
const (
	Local  = "local"  // by a rule on this node
	Manual = "manual" // by an operator on this node
	Fleet  = "fleet"  // on another node
)

// MadeBy returns where a block was made, as seen from a node: one of the words.
func MadeBy(b *edgeguard.Block, node string) string {
	switch {
	case b.Origin != "" && b.Origin != node:
		return Fleet
	case b.Rule == edgeguard.ManualRule:
		return Manual
	}
	return Local
}

// Filter says which blocks a list shows, and in which order. The zero one shows
// all by their prefixes.
type Filter struct {
	Rule, Origin   string
	Family, MadeBy string // "ipv4" or "ipv6"; a word of MadeBy on Node
	Node           string
	Proxied        *bool
	Since          time.Time       // only blocks made after it
	Within         netip.Prefix    // only blocks inside it
	Contains       netip.Addr      // only blocks that contain it
	Newest         bool            // the newest first, and not by prefix
	After          blocklist.Place // only blocks behind it; by prefix its Since is not used
}

// ReadCursor sets After to what Cursor returned, if the cursor is one of the newest;
// it returns the rest, which is a prefix.
func (f *Filter) ReadCursor(text string) (prefix string, err error) {
	if !f.Newest {
		return text, nil
	}
	since, prefix, _ := strings.Cut(text, ",")
	f.After.Since, err = time.Parse(cursorTime, since)
	if err != nil {
		return "", fmt.Errorf("the cursor of another order: %w", err)
	}
	return prefix, nil
}

// Cursor returns where the page behind a block begins.
func (f *Filter) Cursor(last *edgeguard.Block) string {
	if f.Newest {
		return last.Since.UTC().Format(cursorTime) + "," + last.Prefix.String()
	}
	return last.Prefix.String()
}

// First reports whether the page is the first one.
func (f *Filter) First() bool { return !f.After.Prefix.IsValid() }

// Sort puts blocks in the order of the list, and removes those that are not behind
// After.
func (f *Filter) Sort(blocks []edgeguard.Block) []edgeguard.Block {
	order := func(a, b blocklist.Place) int {
		switch {
		case f.Newest && !a.Since.Equal(b.Since):
			return b.Since.Compare(a.Since)
		case f.Newest:
			return b.Prefix.Compare(a.Prefix)
		}
		return a.Prefix.Compare(b.Prefix)
	}
	slices.SortFunc(blocks, func(a, b edgeguard.Block) int { return order(blocklist.PlaceOf(&a), blocklist.PlaceOf(&b)) })
	return slices.DeleteFunc(blocks, func(b edgeguard.Block) bool { return !f.First() && order(blocklist.PlaceOf(&b), f.After) <= 0 })
}

// From is where a list by prefix begins: what is inside a prefix lies together and
// begins with the prefix itself.
func (f *Filter) From() netip.Prefix {
	if f.After.Prefix.Compare(f.Within) > 0 {
		return f.After.Prefix
	}
	return f.Within
}

// past reports whether no block from this one on can match.
func (f *Filter) past(b *edgeguard.Block) bool {
	if f.Newest {
		return !f.Since.IsZero() && !b.Since.After(f.Since)
	}
	return f.Within.IsValid() && !f.Within.Contains(b.Prefix.Addr()) && b.Prefix.Compare(f.Within) > 0
}

func (f *Filter) wants(b *edgeguard.Block) bool {
	return b.Prefix != f.After.Prefix &&
		(f.Rule == "" || b.Rule == f.Rule) &&
		(f.Origin == "" || b.Origin == f.Origin) &&
		(f.Family == "" || b.Prefix.Addr().Is4() == (f.Family == "ipv4")) &&
		(f.MadeBy == "" || MadeBy(b, f.Node) == f.MadeBy) &&
		(f.Proxied == nil || b.Proxied == *f.Proxied) &&
		(f.Since.IsZero() || b.Since.After(f.Since)) &&
		(!f.Within.IsValid() || f.Within.Bits() <= b.Prefix.Bits() && f.Within.Contains(b.Prefix.Addr()))
}

// Known returns how many blocks match, where the list knows it without a walk.
func (f *Filter) Known(stats *blocklist.Stats) (n int, ok bool) {
	if f.Origin != "" || f.MadeBy != "" || f.Proxied != nil || !f.Since.IsZero() || f.Within.IsValid() || f.Contains.IsValid() {
		return 0, false
	}
	switch {
	case f.Rule != "":
		return stats.Rules[f.Rule], f.Family == ""
	case f.Family == "ipv4":
		return stats.V4, true
	case f.Family == "ipv6":
		return stats.V6, true
	}
	return stats.V4 + stats.V6, true
}

// Page is a page of a list.
type Page struct {
	Blocks          []edgeguard.Block
	Last            edgeguard.Block // the next page begins behind it
	More            bool            // another block matches
	Cut             bool            // the walk ended before the last block
	Matched, Looked int
}

// Pick takes a page out of blocks, and with count goes on behind it to count those
// that match.
func (f *Filter) Pick(blocks iter.Seq[edgeguard.Block], limit int, count bool) (p Page) {
	for b := range blocks {
		if f.past(&b) {
			return p
		}
		if p.Looked++; p.Looked > maxLooked && (f.Newest || p.More) || p.Matched > maxMatched || p.More && !count {
			p.Looked, p.Cut = p.Looked-1, true
			return p
		}
		wanted := f.wants(&b)
		if wanted {
			p.Matched++
		}
		p.More = p.More || wanted && len(p.Blocks) == limit
		if !p.More {
			p.Last = b
		}
		if wanted && !p.More {
			p.Blocks = append(p.Blocks, b)
		}
	}
	return p
}
