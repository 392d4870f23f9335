package redis

import (
	"time"

	"edgeguard/aggregator"
)

// A pushing is the Counting of its pusher. There is one clock for all.

func (n *pushing) Counts() *aggregator.Totals  { return n.totals }
func (n *pushing) Now() time.Time              { return n.fleet.now }
func (n *pushing) Epoch(t time.Time) time.Time { return t }
func (n *pushing) Local(t time.Time) time.Time { return t }

func (n *pushing) Width(meter uint64) uint32 {
	if meter != meterID {
		return 0
	}
	return n.fleet.width()
}

// Over blocks a client on all nodes, if that is how the fleet limits.
func (n *pushing) Over(key aggregator.Key, _ uint32, _ []aggregator.NodeCount) {
	if n.fleet.options.Block {
		n.fleet.block(key.Prefix)
	}
}

// Weighs reports false: no node holds another's block.
func (n *pushing) Weighs(aggregator.Key) bool { return false }

// Settled reports that a client is blocked, or that none will be.
func (n *pushing) Settled(key aggregator.Key, _ uint32) bool {
	return !n.fleet.options.Block || n.fleet.blocked[key.Prefix].After(n.fleet.now)
}
