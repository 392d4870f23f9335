package admin

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin/listing"
)

// BlockPage returns one page of the active blocks that match a filter.
func (v *View) BlockPage(f listing.Filter, limit int) BlockPage {
	f.Node = v.events.node
	now, stats := v.reader.Now(), v.reader.Blocklist()
	page := BlockPage{Total: stats.V4 + stats.V6, AsOf: now.UTC()}
	known, isKnown := f.Known(&stats)
	counts := f.First() && !isKnown
	picked := f.Pick(v.blocks(now, &f), limit, counts)
	page.Blocks = v.reader.Active(picked.Blocks)
	switch {
	case f.First() && isKnown:
		page.Matched = &known
	case counts && !picked.Cut:
		page.Matched = &picked.Matched
	case counts:
		page.MatchedAtLeast = picked.Matched
	}
	if picked.More || picked.Cut {
		page.Next = f.Cursor(&picked.Last)
	}
	if picked.Cut && !picked.More {
		page.Looked = picked.Looked
	}
	return page
}

// blocks returns the blocks from the filter's beginning on, in order. Those that
// hold an address are few and found without a walk through all.
func (v *View) blocks(now time.Time, f *listing.Filter) iter.Seq[edgeguard.Block] {
	switch {
	case f.Contains.IsValid():
		return slices.Values(f.Sort(v.reader.Find(now, netip.PrefixFrom(f.Contains, f.Contains.BitLen()))))
	case f.Newest:
		return v.reader.Newest(now, f.Rule, f.After)
	}
	return v.reader.Blocks(now, f.From())
}
