package admin

import (
	"slices"
	"time"

	"edgeguard/internal/words"
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
	// These are kept and not sent: a block's end in time, an operator's change, a key over a
	// limit of which no block came, and how many events were left out of what is kept.
	EventEnd      = "end"
	EventChange   = "change"
	EventCrossing = "crossing"
	EventLeftOut  = "left_out"
)

var eventKinds = []string{EventBlock, EventUnblock, EventAllow, EventDisallow, EventAlarm, EventState, EventHeld, EventWouldBlock}

// Event is one thing that happened on the node.
type Event struct {
	// ID is what Last-Event-ID goes on from; it holds for one run of the node.
	// Of one that is read from the disk it is a number, which is a cursor.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	// Block belongs to blocks and unblocks; Reason and Origin of an unblock are
	// those of its removal.
	Block *Block `json:"block,omitempty"`
	// Allowance belongs to allowances in the same way.
	Allowance *Allowance `json:"allowance,omitempty"`
	// Ended belongs to ends, and to unblocks of what was in force here.
	Ended *Ended `json:"ended,omitempty"`
	// Change belongs to changes, and Crossing to crossings.
	Change   *Audit   `json:"change,omitempty"`
	Crossing *Crossed `json:"crossing,omitempty"`
	// Name and Text belong to the others: a fixed word for machines, which is the rule of
	// would_block, and a sentence for people.
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// Ended is why a block ended, and what this node refused because of it since it started.
// The parts are as of [ActiveBlock].
type Ended struct {
	Why        string `json:"why"` // "time", "lifted", "evicted" or "allowed"
	Refused    uint32 `json:"refused"`
	Asked      uint32 `json:"asked,omitempty"`
	TurnedAway uint32 `json:"turned_away,omitempty"`
	Served     uint32 `json:"served,omitempty"`
}

// Crossed is a key that went over a rule's limit.
type Crossed struct {
	Key    string `json:"key"`
	Rule   string `json:"rule"`
	Action string `json:"action"` // "deny" or "shadow"
	Count  uint32 `json:"count"`
	Limit  uint32 `json:"limit"`
	// Unit is what Count and Limit are of.
	Unit  words.Measure `json:"unit,omitzero"`
	Fleet bool          `json:"fleet,omitempty"` // the count is of several nodes
	// Stands is the rule of the block that was in force already.
	Stands string `json:"stands,omitempty"`
}

// EventKinds returns the kinds of events that are sent as they happen, and KeptKinds those
// that are kept.
func EventKinds() []string { return slices.Clone(eventKinds) }

// KeptKinds is the other of EventKinds.
func KeptKinds() []string {
	return append(EventKinds(), EventEnd, EventChange, EventCrossing, EventLeftOut)
}
