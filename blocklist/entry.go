package blocklist

import (
	"cmp"
	"math"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
)

// entry is one record of the list: an active block or allowance, or one that has
// ended or was lifted and is only remembered. Once readers see it, only place,
// which they do not read, and what seat points to change.
//
// What a look-up needs comes first, and an entry is three cache lines of 64
// bytes long, so that a hit waits for one line of it and not for two.
type entry struct {
	network    network // of the block's prefix; set for active blocks only
	due        int64   // when Sweep has to act, in nanos; for what is active its end
	place      int32   // in expiries; the writer's
	length     uint8   // of network
	trust      trust
	remembered bool // a tombstone, or ended: not among the blocks or allowances
	block      edgeguard.Block
	seat       *seat // of an active block
}

// binds reports whether an active block or allowance is in force at now; hereOnly
// asks for one that was forced on this node.
func (e *entry) binds(now time.Time, hereOnly bool) bool {
	return nanos(now) < e.due && (!hereOnly || e.trust.has(here))
}

// compare orders the records of one prefix. It is total over all fields, so
// that the greatest of a set does not depend on the order in which nodes saw
// it; only the first four matter to people. At one version an allowance wins,
// and at one version and end a tombstone: letting someone in wrongly is fixed
// sooner than keeping someone out.
func compare(a, b *entry) int {
	x, y := &a.block, &b.block
	return cmp.Or(
		cmp.Compare(x.Version, y.Version),
		compareBool(x.Allow, y.Allow),
		x.Until.Compare(y.Until),
		compareBool(x.Lifted, y.Lifted),
		x.Since.Compare(y.Since),
		strings.Compare(x.Rule, y.Rule),
		strings.Compare(x.Origin, y.Origin),
		strings.Compare(x.Reason, y.Reason),
		cmp.Compare(x.Marked(), y.Marked()),
		cmp.Compare(x.Limit, y.Limit),
		compareBool(a.trust.has(forced), b.trust.has(forced)),
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

// maxSeconds is the last whole second of which nanos knows the nanoseconds, in
// the year 2262.
const maxSeconds = math.MaxInt64/int64(time.Second) - 1

// nanos returns a time as nanoseconds since 1970. Times before 1678 are as early
// as can be, and times after 2262 as late.
func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case s > maxSeconds:
		return math.MaxInt64
	case s < -maxSeconds:
		return math.MinInt64
	}
	return t.UnixNano()
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
