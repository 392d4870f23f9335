package redis

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

// Counter is the counting half of a node. With a [Clock] it is all that a
// [Pusher] needs.
type Counter interface {
	// Counts returns what the node knows of the fleet. It is called each time
	// it is needed, since a reload replaces it.
	Counts() *aggregator.Totals
	// Width returns the slot of a meter in seconds, by its fingerprint; 0 if
	// this node has no such meter.
	Width(meter uint64) uint32
	// Over is called when what the fleet's nodes counted of a key is over the
	// lowest limit of its meter: split is which node counted how much. It is
	// called again with each push while that lasts.
	Over(key aggregator.Key, count uint32, split []aggregator.NodeCount)
	// Settled reports whether Over would change nothing for this key, so that
	// its split need not be read. peak is what Redis says, which proves nothing.
	Settled(key aggregator.Key, peak uint32) bool
	// Weighs reports whether the node holds another node's block of the key, or has it
	// in force on that node's word only: so that what it proves is for itself.
	Weighs(key aggregator.Key) bool
}

// List is the node's list of blocks, as far as it concerns the fleet.
type List interface {
	// Merge merges a block or allowance of the fleet into the node's list. Times
	// are local. An error raises an alarm about
	// the record, unless it is blocklist.ErrExpired or aggregator.ErrHeld. The
	// same record comes again with each full read of the fleet's list.
	Merge(b edgeguard.Block, t blocklist.Trust) (changed bool, err error)
	// Held returns the key under which the block of exactly this prefix that
	// the node holds was counted; false if it holds none, or counts otherwise.
	Held(prefix netip.Prefix) (key aggregator.Key, held bool)
	// Crowded reports whether the node's list is full and this rule's block
	// would only evict one of another network that has no more of them. A full
	// read of the fleet's list skips it, so that it does not bring back what
	// was evicted here.
	Crowded(b edgeguard.Block, t blocklist.Trust) bool
	// Records returns the fleet's part of the node's list: blocks, allowances
	// and tombstones, without those that are too wide to travel.
	Records() iter.Seq2[edgeguard.Block, blocklist.Trust]
	// Block returns the block of exactly this prefix that is in force here, if it
	// is of the fleet's part.
	Block(prefix netip.Prefix) (_ edgeguard.Block, _ blocklist.Trust, ok bool)
	// Slack returns by how much later a block may end here than in the fleet's list
	// before that is published: an extension by what is counted here. 0 for blocks that
	// are not extended.
	Slack(b edgeguard.Block) time.Duration
	// Refused returns how many events the node has refused because of the block of
	// exactly this prefix; false if the node's list has none.
	Refused(prefix netip.Prefix) (events uint32, ok bool)
	// Cleared is called with a tombstone that is new here, when the fleet unblocked a
	// prefix: the node forgets its counts. Times are local.
	Cleared(tombstone edgeguard.Block)
	// Unsplit reports whether a block's reason lacks the split over the nodes.
	// It returns the key that it was counted under, and what this node counted
	// at its crossing.
	Unsplit(b edgeguard.Block) (key aggregator.Key, here uint32, ok bool)
	// Reword sets the reason of the node's own record of such a block to the
	// split over the nodes, and returns the record to publish.
	Reword(b edgeguard.Block, split []aggregator.NodeCount) edgeguard.Block
}

// Membership is what nodes report to each other about themselves.
type Membership interface {
	// Own returns this node's addresses, for which others take no wider block.
	Own() []netip.Addr
	// RulesDigest returns a digest of the rules in force.
	RulesDigest() string
	// Waits returns how many records this node holds, and at most n of their
	// prefixes.
	Waits(n int) (held int, first []netip.Prefix)
	// Fleet is called every two seconds with all live nodes, this one included:
	// of each the newest heartbeat that was read, which is minutes old in a
	// large fleet.
	Fleet(nodes []aggregator.Heartbeat)
	// Rebooted is called when another process sends heartbeats under this
	// node's boot, whose counts would hide this one's. It reports whether the
	// node's counts go by the other boot from their next slots on.
	Rebooted(boot string) bool
	// Skew is called after each heartbeat with how far Redis' clock is ahead of
	// this host's wall clock: the argument of [clockguard.Clock.Correct].
	// trusted is false while most nodes disagree with Redis, whose clock is
	// then wrong and not followed.
	Skew(offset time.Duration, trusted bool)
}

// Clock is the node's local time. It converts between that and the epoch's
// time, which the fleet shares.
type Clock interface {
	Now() time.Time
	Epoch(local time.Time) time.Time
	Local(epoch time.Time) time.Time
}

// Alarms raises and ends alarms; about distinguishes those of one kind.
type Alarms interface {
	Alarm(kind, about, text string)
	Calm(kind, about string)
}

// Counting is what a [Pusher] needs of a node.
type Counting interface {
	Counter
	Clock
}

// Peer is a node as its link to the fleet sees it. Its methods are called from
// any of the link's goroutines, and must not wait for the link.
type Peer interface {
	Counter
	List
	Membership
	Clock
	Alarms
}
