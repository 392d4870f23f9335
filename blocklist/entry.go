package blocklist

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
)

// entry is one record of the list: a standing block, or one that is over or
// lifted and only remembered. Readers see block and forced, which never
// change; the rest is the writer's.
type entry struct {
	block  edgeguard.Block
	forced bool
	buried bool  // in graves and not among the blocks
	due    int64 // unix milliseconds at which Sweep has to act
	place  int   // in expiries
}

// binds reports whether the block holds at now.
func (e *entry) binds(now time.Time, forcedOnly bool) bool {
	return now.Before(e.block.Until) && (e.forced || !forcedOnly)
}

// compare orders the records of one prefix. It is total over all fields, so
// that the greatest of a set does not depend on the order in which nodes saw
// it; only the first three matter to people. At one version and end a
// tombstone wins: letting someone in wrongly is mended sooner than keeping
// someone out.
func compare(a, b *entry) int {
	x, y := &a.block, &b.block
	return cmp.Or(
		cmp.Compare(x.Version, y.Version),
		x.Until.Compare(y.Until),
		compareBool(x.Lifted, y.Lifted),
		x.Since.Compare(y.Since),
		strings.Compare(x.Rule, y.Rule),
		strings.Compare(x.Origin, y.Origin),
		strings.Compare(x.Reason, y.Reason),
		cmp.Compare(x.Count, y.Count),
		cmp.Compare(x.Limit, y.Limit),
		compareBool(a.forced, b.forced),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// dueAt rounds up, so that nothing is swept before its time is over.
func dueAt(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// normalize puts right what the caller may have left in the times: a
// monotonic reading, which would make equal records differ, and a zone.
func normalize(b edgeguard.Block) edgeguard.Block {
	b.Since = b.Since.Round(0).UTC()
	b.Until = b.Until.Round(0).UTC()
	return b
}

// clean masks and unmaps a prefix; ok is false for a zero one.
func clean(p netip.Prefix) (_ netip.Prefix, ok bool) {
	if !p.IsValid() {
		return p, false
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), true
}
