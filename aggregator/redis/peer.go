package redis

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

// Counter is the counting half of a node. It is all that a [Pusher] needs,
// besides a [Clock].
type Counter interface {
	// Counts is what the node knows of the fleet. It is asked for again each
	// time, since a reload replaces it.
	Counts() *aggregator.Totals
	// Width is the slot of a meter in seconds, by its fingerprint; 0 if this
	// node has no such meter.
	Width(meter uint64) uint32
	// Over says that the fleet's count of a key passed the least limit of its
	// meter: peak is the count, reason the split over the nodes in words. It is
	// called again with each push while it is so.
	Over(key aggregator.Key, peak uint32, reason string)
	// Settled reports that Over would say nothing new of this key, so that its
	// split need not be asked for.
	Settled(key aggregator.Key, peak uint32) bool
}

// List is the node's list of blocks, as far as the fleet is concerned.
type List interface {
	// Merge takes a block or allowance of the fleet into the node's list, by force
	// if it was forced. Times are local. An error is an alarm about the record,
	// unless it is blocklist.ErrExpired or aggregator.ErrHeld. The same record
	// comes again with each full read of the fleet's list.
	Merge(b edgeguard.Block, forced bool) (changed bool, err error)
	// Crowded reports that the node's list is full, and this rule's block would
	// only have one of another network go that has no more: a full read of the
	// fleet's list passes it over, so that it does not put back what made room
	// here.
	Crowded(b edgeguard.Block, forced bool) bool
	// Records returns the fleet's part of the node's list: blocks, allowances and
	// tombstones, without those of rules with scope node.
	Records() iter.Seq2[edgeguard.Block, bool]
	// Cleared says that the fleet unblocked a prefix: the node forgets its
	// counts. at is local.
	Cleared(prefix netip.Prefix, at time.Time)
	// Unsplit reports that a block's reason lacks the split over the nodes: the key
	// that it was counted under, and what this node counted at its crossing.
	Unsplit(b edgeguard.Block) (key aggregator.Key, here uint32, ok bool)
	// Reword gives the node's own record of such a block the reason that the fleet
	// is told, and returns the record to be told.
	Reword(b edgeguard.Block, reason string) edgeguard.Block
}

// Membership is what nodes tell each other of themselves.
type Membership interface {
	// Own returns the addresses that the other nodes must never block.
	Own() []netip.Addr
	// Fleet is called every two seconds with the beats of all nodes, this one
	// included.
	Fleet(beats []aggregator.Heartbeat)
	// Skew is called after each beat with how far Redis' clock is ahead of this
	// host's wall clock: what [clockguard.Clock.Correct] takes. trusted is false
	// while most nodes disagree with Redis, whose clock is then the wrong one and
	// not to be followed.
	Skew(offset time.Duration, trusted bool)
}

// Clock is the node's local time, and converts between that and the time that
// the fleet is told.
type Clock interface {
	Now() time.Time
	Epoch(local time.Time) time.Time
	Local(epoch time.Time) time.Time
}

// Alarms raises and ends alarms; about tells those of one kind apart.
type Alarms interface {
	Alarm(kind, about, text string)
	Calm(kind, about string)
}

// Counting is what a [Pusher] is given.
type Counting interface {
	Counter
	Clock
}

// Peer is a node as its link to the fleet sees it. Its methods may be called
// from any of the link's goroutines, and must not wait for the link.
type Peer interface {
	Counter
	List
	Membership
	Clock
	Alarms
}
