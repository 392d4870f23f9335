package quarantine

import (
	"fmt"
	"net/netip"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

// Why is the reason why a record waits.
type Why uint8

// The reasons. Wide, and TooMuch with a share over the limit, end with an operator's
// confirmation only.
const (
	tooMuch Why = iota // it would refuse too many requests, or the budget is used up
	Wide               // it is wide, or all that came from elsewhere would be too wide with it
	Pace               // too many came within a minute; it waits for room
	Unseen             // this node has seen too few requests to weigh it
)

var whys = [...]string{"too_much", "wide", "pace", "unseen"}

// String returns the word used in JSON.
func (w Why) String() string {
	if int(w) < len(whys) {
		return whys[w]
	}
	return fmt.Sprintf("why(%d)", uint8(w))
}

// singleV6 is the widest IPv6 network that a rule's default key blocks.
const singleV4, singleV6 = 32, 64

func within(p netip.Prefix, v4, v6 int) bool {
	if p.Addr().Is4() {
		return p.Bits() >= v4
	}
	return p.Bits() >= v6
}

func single(p netip.Prefix) bool { return within(p, singleV4, singleV6) }
func isWide(p netip.Prefix) bool { return !within(p, edgeguard.WidestV4, edgeguard.WidestV6) }

// isBlock reports whether a record is a block, and no allowance or tombstone.
func isBlock(b *edgeguard.Block) bool { return !b.Lifted && !b.Allow }

// sameKind reports whether two records are both blocks, allowances or tombstones.
func sameKind(a, b *edgeguard.Block) bool { return a.Lifted == b.Lifted && a.Allow == b.Allow }

// operators reports whether the record can only be an operator's. Signed, it waits for
// its width only.
func operators(b *edgeguard.Block, t blocklist.Trust) bool { return t.Forced || !isBlock(b) }

// whyHeld returns the reason of a held record that was restored: the state file does
// not have it.
func whyHeld(one *Held) Why {
	switch {
	case one.Lifted && isWide(one.Prefix), !one.Lifted && !one.Trust.Signed && !aggregator.Narrow(one.Prefix),
		one.Trust.Signed && operators(&one.Block, one.Trust):
		return Wide
	case !isBlock(&one.Block):
		one.kind = others
		return Pace
	}
	return tooMuch
}
