package admin

import (
	"time"

	"edgeguard/internal/words"
)

// The kinds of event. EventGap is one of the stream only: events before it are
// lost to this reader, who must list the blocks again.
const (
	EventBlock   = "block"   // a block was made or changed
	EventUnblock = "unblock" // one was removed
	EventEnd     = "end"     // one has ended in time
	// The same of allowances.
	EventAllow     = "allow"
	EventDisallow  = "disallow"
	EventChange    = "change"    // an operator's
	EventListed    = "listed"    // more of the prefixes of the change before
	EventAlarm     = "alarm"     // something an operator should look at
	EventRecovered = "recovered" // what an alarm was about has ended
	EventState     = "state"     // the node changed: reloaded, degraded, stopping …
	EventHeld      = "held"      // other records than before await confirmation
	// EventWouldBlock is a key over a limit of which nothing came, because the site failed, and
	// EventCrossing one of which no block came.
	EventWouldBlock = "would_block"
	EventCrossing   = "crossing"
	EventLeftOut    = "left_out" // so many events are not kept
	EventGap        = "gap"
)

// StateStarting is the name of the state with which each run of the node begins.
const StateStarting = "starting"

// EventKinds returns the kinds of events.
func EventKinds() []string {
	return []string{EventBlock, EventUnblock, EventEnd, EventAllow, EventDisallow, EventChange, EventListed, EventAlarm, EventRecovered, EventState, EventHeld, EventWouldBlock, EventCrossing, EventLeftOut}
}

// Event is one thing that happened on the node.
type Event struct {
	// ID is a number, from which Last-Event-ID and cursors go on, over restarts. A block of an
	// import has that of the event before: the change that lists it comes behind.
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
	// About is what an alarm, by its kind in Name, is about; Lasts says that it has an end, and Again
	// that it was told since it began and says something else now.
	About string `json:"about,omitempty"`
	Lasts bool   `json:"lasts,omitempty"`
	Again bool   `json:"again,omitempty"`
	Text  string `json:"text,omitempty"`
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
	// Again says that a key without an address went over before, and is still.
	Again bool `json:"again,omitempty"`
}
