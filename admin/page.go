package admin

import (
	"context"
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin/call"
	"edgeguard/admin/watch"
	"edgeguard/blocklist"
)

// BlockPage returns one page of the active blocks that match a filter; an empty one
// if ctx ended first.
func (v *View) BlockPage(ctx context.Context, f BlockFilter, limit int) BlockPage {
	f.Node = v.events.node
	if page, ok := v.importedPage(&f, limit); ok {
		return page
	}
	stats := v.reader.Blocklist()
	known, isKnown := f.Known(v.reader.CountOf)
	counts := f.First() && !isKnown
	picked, last, asOf := v.pick(ctx, &f, limit, counts)
	page := BlockPage{Total: stats.V4 + stats.V6, AsOf: asOf.UTC(), Blocks: v.reader.Active(picked.Blocks)}
	switch {
	case f.First() && isKnown:
		page.Matched = &known
	case counts && !picked.Cut:
		page.Matched = &picked.Matched
	case counts:
		page.MatchedAtLeast = picked.Matched
	}
	if picked.More || picked.Cut {
		page.Next = f.Cursor(last)
	}
	if picked.Cut && !picked.More {
		page.Looked = picked.Looked
	}
	return page
}

// BlockPages returns all blocks that match a filter, page by page as they are read.
func (v *View) BlockPages(ctx context.Context, f BlockFilter) iter.Seq[[]ActiveBlock] {
	f.Node = v.events.node
	return func(yield func([]ActiveBlock) bool) {
		for f, more := f, true; more; {
			picked, last, _ := v.pick(ctx, &f, call.MaxLimit, false)
			if !yield(v.reader.Active(picked.Blocks)) {
				return
			}
			more, f.After = picked.More || picked.Cut, last
		}
	}
}

// importedPage returns the page of imported blocks if the filter's rule is a feed. They are
// in the order of their prefixes, whatever order the filter asks for. Without such a rule
// they are not on a page, since there are far too many, but for those around one address.
func (v *View) importedPage(f *BlockFilter, limit int) (page BlockPage, ok bool) {
	if f.Rule == "" || f.Contains.IsValid() {
		return page, false
	}
	now := v.reader.Now()
	blocks, ok := v.reader.ImportedBy(now, f.Rule, f.From())
	if !ok {
		return page, false
	}
	by := *f
	by.Order, by.Backwards = ByPrefix, false
	picked := by.Pick(blocks, limit, f.First())
	stats := v.reader.Blocklist()
	page = BlockPage{Total: stats.V4 + stats.V6, AsOf: now.UTC(), Blocks: v.reader.Active(picked.Blocks)}
	if f.First() && picked.Cut {
		page.MatchedAtLeast = picked.Matched
	} else if f.First() {
		page.Matched = &picked.Matched
	}
	if picked.More || picked.Cut {
		page.Next = f.Cursor(f.PlaceOf(&picked.Last))
	}
	return page, true
}

// pick takes a page out of the blocks in their order, and returns the place of the
// last one that it looked at and the time of which the order is. Those that hold
// an address are few and found without a walk through all.
func (v *View) pick(ctx context.Context, f *BlockFilter, limit int, count bool) (p PickedBlocks, last ListPosition, asOf time.Time) {
	now := v.reader.Now()
	var blocks iter.Seq[edgeguard.Block]
	switch {
	case f.Contains.IsValid():
		whole := netip.PrefixFrom(f.Contains, f.Contains.BitLen())
		blocks = slices.Values(f.Sort(append(v.reader.Find(now, whole), v.reader.ImportedAround(now, whole)...)))
	case f.Sorted():
		return v.pickSorted(ctx, f, limit, count)
	case f.Order == Newest:
		blocks = v.reader.Newest(now, blocklist.Only{Rule: f.Rule, Origin: f.Origin}, f.After.Place)
	default:
		blocks = v.reader.Blocks(now, f.From())
	}
	p = f.Pick(blocks, limit, count)
	return p, f.PlaceOf(&p.Last), now
}

// pickSorted is pick by an order that the list does not keep. A block is shown as it
// is now, at the place that it had when the copy was made.
func (v *View) pickSorted(ctx context.Context, f *BlockFilter, limit int, count bool) (p PickedBlocks, last ListPosition, asOf time.Time) {
	c, ok := v.sorted.Of(ctx, f.Order, f.After.Copy, func(now time.Time) (refs []watch.Ref) {
		stats := v.reader.Blocklist()
		refs = make([]watch.Ref, 0, stats.V4+stats.V6)
		for b := range v.reader.Blocks(now, netip.Prefix{}) {
			refs = append(refs, watch.NewRef(v.keyOf(f, &b), b.Prefix))
		}
		return refs
	})
	if !ok {
		return p, last, v.reader.Now()
	}
	walk := c.List.All(f.Descending())
	if !f.First() {
		walk = c.List.Behind(watch.NewRef(f.After.Key, f.After.Prefix), f.Descending())
	}
	now := v.reader.Now()
	p = f.Pick(func(yield func(edgeguard.Block) bool) {
		for i := range walk.Len() {
			if b, _ := v.reader.Exact(now, walk.At(i).Prefix()); !yield(b) {
				return
			}
		}
	}, limit, count)
	if walk.Len() > 0 {
		ref := walk.At(p.LastAt)
		last = ListPosition{Key: ref.Key(), Copy: c.Name}
		last.Prefix = ref.Prefix()
	}
	return p, last, c.AsOf
}
