package admin

import (
	"net/netip"
	"slices"
	"time"
)

// The kinds of event. EventGap is one of the stream only: events before it are
// lost to this reader, who must list the blocks again.
const (
	EventBlock   = "block"   // a block was made or changed
	EventUnblock = "unblock" // one was removed; its end in time is not an event
	// The same of allowances.
	EventAllow    = "allow"
	EventDisallow = "disallow"
	EventAlarm    = "alarm" // something an operator should look at
	EventState    = "state" // the node changed: reloaded, degraded, stopping …
	EventHeld     = "held"  // other records than before await confirmation
	// EventWouldBlock is a key over a limit of which nothing came, because the site failed.
	EventWouldBlock = "would_block"
	EventGap        = "gap"
)

var eventKinds = []string{EventBlock, EventUnblock, EventAllow, EventDisallow, EventAlarm, EventState, EventHeld, EventWouldBlock}

// Event is one thing that happened on the node.
type Event struct {
	// ID is what Last-Event-ID goes on from; it holds for one run of the node.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	// Block belongs to blocks and unblocks; Reason and Origin of an unblock are
	// those of its removal.
	Block *Block `json:"block,omitempty"`
	// Allowance belongs to allowances in the same way.
	Allowance *Allowance `json:"allowance,omitempty"`
	// Name and Text belong to the others: a fixed word for machines, which is the rule of
	// would_block, and a sentence for people.
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// touches reports whether the event is of a block or an allowance that holds
// addr.
func (e *Event) touches(addr netip.Addr) bool {
	return e.Block != nil && e.Block.Prefix.Contains(addr) || e.Allowance != nil && e.Allowance.Prefix.Contains(addr)
}

// EventKinds returns the kinds of events that a node keeps.
func EventKinds() []string { return slices.Clone(eventKinds) }
