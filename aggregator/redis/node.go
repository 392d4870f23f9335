package redis

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

// Node is what the link needs of the node that it joins to the fleet: functions
// that may be called from any of the link's goroutines, none of which may wait
// for the link. Those marked optional may be nil.
type Node struct {
	// Counts is what the node knows of the fleet. It is asked for anew each
	// time, since a reload replaces it.
	Counts func() *aggregator.Node
	// Width is the slot of a meter in seconds, by its fingerprint; 0 if this
	// node has no such meter.
	Width func(meter uint64) uint32
	// Now is the node's local time; Epoch and Local convert between that and
	// the time that the fleet is told.
	Now          func() time.Time
	Epoch, Local func(time.Time) time.Time

	// Over says that the fleet's count of a key passed the least limit of its
	// meter: peak is the count, reason the split over the nodes in words. It is
	// said again with each push while it is so.
	Over func(key aggregator.Key, peak uint32, reason string)
	// Stands reports that Over would say nothing new of this key, so that its
	// split need not be asked for. Optional.
	Stands func(key aggregator.Key, peak uint32) bool

	// Merge takes a block or allowance of the fleet into the node's list, by force
	// if it was forced. Times are local. An error is an alarm about the record,
	// unless it is blocklist.ErrExpired or aggregator.ErrHeld. The same record
	// comes again with each full read of the fleet's list.
	Merge func(b edgeguard.Block, forced bool) (changed bool, err error)
	// Records gives the fleet's part of the node's list: blocks, allowances and
	// tombstones, without those of rules with scope node.
	Records func() iter.Seq2[edgeguard.Block, bool]
	// Cleared says that the fleet unblocked a prefix: the node forgets its
	// counts. at is local. Optional.
	Cleared func(prefix netip.Prefix, at time.Time)

	// Own gives the addresses that the other nodes must never block, and Fleet
	// hears every two seconds of all nodes, this one included. Optional.
	Own   func() []netip.Addr
	Fleet func([]Beat)
	// Skew hears how far Redis' clock is ahead of this host's wall clock, after
	// each beat: what [clockguard.Clock.Correct] takes. trusted is false while
	// most nodes disagree with Redis, whose clock is then the wrong one and not
	// to be followed. Optional.
	Skew func(offset time.Duration, trusted bool)
	// Alarm and Calm raise and end an alarm; about tells those of one kind
	// apart. Optional.
	Alarm func(kind, about, text string)
	Calm  func(kind, about string)
}

// fill makes every optional function safe to call.
func (n *Node) fill() {
	if n.Stands == nil {
		n.Stands = func(aggregator.Key, uint32) bool { return false }
	}
	if n.Cleared == nil {
		n.Cleared = func(netip.Prefix, time.Time) {}
	}
	if n.Own == nil {
		n.Own = func() []netip.Addr { return nil }
	}
	if n.Fleet == nil {
		n.Fleet = func([]Beat) {}
	}
	if n.Skew == nil {
		n.Skew = func(time.Duration, bool) {}
	}
	if n.Alarm == nil {
		n.Alarm = func(string, string, string) {}
	}
	if n.Calm == nil {
		n.Calm = func(string, string) {}
	}
}
