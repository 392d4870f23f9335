package blocklist

import (
	"time"

	"edgeguard"
)

const (
	// rememberLift is how long an unblock is remembered at least: a node that
	// was cut off may come with a block of before it that lasts longer than the
	// lifted one.
	rememberLift = 24 * time.Hour
	// rememberAllowance bounds how long an allowance that was taken back is
	// remembered: one that was for ever would be for ever. A node that was away
	// for longer brings its old allowances along.
	rememberAllowance = 366 * 24 * time.Hour
)

// Tombstone returns the record that takes back a block or an allowance at now. A
// block's is many versions above it, so that it outranks extensions and longer
// blocks that other nodes make before they receive it. It lasts as long as the
// block, and at least a day. An allowance's is one version above, and lasts at most
// 366 days.
func Tombstone(b edgeguard.Block, now time.Time, reason, origin string) edgeguard.Block {
	b.Lifted, b.Reason, b.Origin = true, reason, origin
	if edgeguard.Owner(b.Rule) != "" {
		b.Rule = edgeguard.ManualRule // or no counts would be forgotten
	}
	b.Since = now.Round(0).UTC()
	if b.Allow {
		b.Version = ahead(b.Version, 1)
		if latest := b.Since.Add(rememberAllowance); b.Until.After(latest) {
			b.Until = latest
		}
		return b
	}
	b.Version = ahead(b.Version, aheadLift)
	if least := b.Since.Add(rememberLift); b.Until.Before(least) {
		b.Until = least
	}
	return b
}
