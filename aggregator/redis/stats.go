package redis

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/aggregator/fleet"
)

// Stats is the link's state and what it did since it was made.
type Stats struct {
	// Up is false while Fault, which began at Since, lasts; before the first join
	// that is "starting".
	Up    bool
	Fault fleet.Fault
	Since time.Time
	// LastError is the newest error's text, even if it no longer applies; "" if
	// none.
	LastError string

	// PushLag is the age of the newest round of pushes that was answered in
	// full; 0 before the first.
	PushLag time.Duration
	// Rounds, Calls and Keys count rounds of pushes, their calls, and the keys
	// that were answered.
	Rounds, Calls, Keys uint64
	// Delayed counts watched keys that came faster than they could be pushed at
	// once, and went with the next round.
	Delayed uint64

	// Published counts records that the fleet accepted from this node, Received
	// those that changed this node's list, Rejected those that were rejected.
	Published, Received, Rejected uint64
	// Unsigned is how many records of the fleet's list are not signed by its key,
	// 0 on a node without one. Replaced counts the rejected records in Redis that
	// this node replaced or removed.
	Unsigned int
	Replaced uint64
	// Kept counts how often a block stayed on this node, since the fleet's list
	// had no room; Records is how many that has.
	Kept    uint64
	Records int
	// Waiting is how many changes are still to be published: blocks of rules go at
	// a bounded pace.
	Waiting int
	// Syncs counts the full reads of the fleet's list.
	Syncs uint64
	// FanOut is how long the newest block of another node took to arrive, from
	// its beginning to its receipt, by the two nodes' clocks; FanOutMost is the
	// longest since the last call of Stats.
	FanOut, FanOutMost time.Duration

	// Nodes is how many nodes are alive, this one included; Reconnects counts
	// how often the fleet was joined.
	Nodes      int
	Reconnects uint64
	// Ahead is how far this node's time is ahead of Redis', give or take
	// Within.
	Ahead, Within time.Duration
	// Errors counts errors by what was tried: push, watch, split, forget,
	// publish, beat, ask, figures, sync, stream, connect,
	// install.
	Errors map[string]uint64
}

// counters is what Stats reads. It is safe for concurrent use.
type counters struct {
	rounds, calls, keys, delayed, published, received, rejected, replaced, kept, syncs, reconnects atomic.Uint64
	fanOut, fanOutMost, ahead, within                                                              atomic.Int64
	nodes                                                                                          atomic.Int64
	answer                                                                                         lastAnswer
	pushed                                                                                         atomic.Int64 // unix ns of the newest round that was answered in full

	mu     sync.Mutex // guards errors and last
	errors map[string]uint64
	last   string
}

func (c *counters) failed(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errors == nil {
		c.errors = map[string]uint64{}
	}
	c.errors[what]++
}

func (c *counters) noteError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = shorten(err.Error())
}

func (c *counters) travelled(d time.Duration) {
	c.fanOut.Store(int64(d))
	for {
		most := c.fanOutMost.Load()
		if int64(d) <= most || c.fanOutMost.CompareAndSwap(most, int64(d)) {
			return
		}
	}
}

// pushLag returns the age of the newest round that was answered in full.
func (c *counters) pushLag() time.Duration {
	at := c.pushed.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at))
}

// Stats returns the link's state. It resets FanOutMost.
func (l *Link) Stats() Stats {
	c := l.stats
	s := Stats{
		PushLag: c.pushLag(),
		Rounds:  c.rounds.Load(), Calls: c.calls.Load(), Keys: c.keys.Load(), Delayed: c.delayed.Load(),
		Published: c.published.Load(), Received: c.received.Load(), Rejected: c.rejected.Load(),
		Unsigned: l.list.unsigned(), Replaced: c.replaced.Load(),
		Kept: c.kept.Load(), Records: l.list.mirror.Len(), Waiting: l.publisher.outbox.Len(), Syncs: c.syncs.Load(),
		FanOut: time.Duration(c.fanOut.Load()), FanOutMost: time.Duration(c.fanOutMost.Swap(0)),
		Nodes: int(c.nodes.Load()), Reconnects: c.reconnects.Load(),
		Ahead: time.Duration(c.ahead.Load()), Within: time.Duration(c.within.Load()),
	}
	s.Fault, s.Since = l.health.State()
	s.Up = s.Fault.Kind == ""
	c.mu.Lock()
	defer c.mu.Unlock()
	s.LastError, s.Errors = c.last, maps.Clone(c.errors)
	return s
}
