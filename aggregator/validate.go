package aggregator

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
)

// The bounds of a record that a node accepts from the fleet. A node whose clock
// is ahead by more than the grace has been reported by then, and must not write
// blocks that start in the future of all others.
const (
	futureGrace  = time.Minute
	longestBlock = 366 * 24 * time.Hour
	// A record wider than these concerns only the node where it was made, forced or
	// not: one record must neither open the fleet to every client nor close it.
	widestV4 = 8
	widestV6 = 16
)

// Travels reports whether a record of this prefix may go to other nodes: one wider
// than /8 (IPv4) or /16 (IPv6) applies only on the node where it was made.
func Travels(prefix netip.Prefix) bool {
	if prefix.Addr().Is4() {
		return prefix.Bits() >= widestV4
	}
	return prefix.Bits() >= widestV6
}

// Narrow reports whether a record of this prefix waits on no node for its width although
// nobody signed it: one of /24 (IPv4) or /48 (IPv6) and narrower. Allowances are weighed by
// nothing else. The one customer who is blocked is all of what is over a limit: weighed by its
// share, an allowance of his address would wait for ever.
func Narrow(prefix netip.Prefix) bool {
	if prefix.Addr().Is4() {
		return prefix.Bits() >= 24
	}
	return prefix.Bits() >= 48
}

// CheckRecord decodes a record that came from the fleet and rejects one that is
// impossible or dangerous whoever wrote it: one that does not parse, is wider
// than /16 (IPv4) or /32 (IPv6) without having been forced, begins in the
// future, ends before it begins, is a block of more than 366 days, or is too wide to
// travel. now is the epoch's. The block list refuses what is protected here. Its
// errors wrap [ErrWrong] or [ErrNewer].
func CheckRecord(prefix, record string, now time.Time) (Record, error) {
	r, err := DecodeRecord(prefix, record)
	if err != nil {
		return r, err
	}
	b := &r.Block
	widest := edgeguard.WidestV6
	if b.Prefix.Addr().Is4() {
		widest = edgeguard.WidestV4
	}
	switch {
	case b.Prefix.Bits() < widest && !r.Forced:
		err = fmt.Errorf("record of %s: wider than /%d and not forced", b.Prefix, widest)
	case b.Since.After(now.Add(futureGrace)):
		err = fmt.Errorf("record of %s: begins at %s, in the future", b.Prefix, b.Since.Format(time.RFC3339))
	case !b.Until.After(b.Since):
		err = fmt.Errorf("record of %s: ends before it begins", b.Prefix)
	case !Travels(b.Prefix):
		err = fmt.Errorf("record of %s: too wide to hold on another node", b.Prefix)
	case !b.Allow && b.Until.Sub(b.Since) > longestBlock:
		err = fmt.Errorf("record of %s: lasts longer than %s", b.Prefix, longestBlock)
	}
	if err != nil {
		return Record{}, wrong(err)
	}
	return r, nil
}
