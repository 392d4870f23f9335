package replay

import (
	"time"

	"edgeguard"
)

// Offender is a key that crossed a rule's limit.
type Offender struct {
	Key  edgeguard.Key
	Rule string
	// Action is the strongest that came of its crossings; an alarm if the key
	// is protected, and Protected why it is.
	Action    edgeguard.Action
	Protected string
	// FrontDoor says whose address it is ([edgeguard.Crossing]) if its action is an alarm because
	// that stands before the site.
	FrontDoor string
	// First and Last are the times of the first and the last crossing, and
	// Crossings is how many there were.
	First, Last time.Time
	Crossings   int
	// Count is the count at the first crossing, Limit what it passed, and Peak
	// the greatest count of the whole replay.
	Count, Limit, Peak uint32
	// Wide is 56 or 48 if the key is an IPv6 network around keys of the rule,
	// and Limit is the rule's limit for such a network; else 0.
	Wide uint8
	// Fleet says that the first crossing was seen only by adding up the counts
	// of several nodes.
	Fleet bool
	// Lifted is how many of its blocks were taken back because the site failed.
	Lifted int
	// Refused is how many events of the key's prefix the rule refused.
	Refused uint64
}
