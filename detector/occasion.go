package detector

import (
	"strings"
	"time"

	"edgeguard"
)

// occasion is an event, and when and for whom a detector decides it.
type occasion struct {
	d     *Detector
	event *edgeguard.Event
	now   time.Time
	moment
	shown    shown
	audience audience
	events   uint32 // how many events are decided: for a counter, many with the same verdict
}

// audience is whom a verdict is for.
type audience uint8

const (
	forLog     audience = iota // nobody: the event was read, and answered before
	forClient                  // who waits for it, and may be sent Retry-After
	forCounter                 // another program, which has counted; nothing but the address is known
	forNode                    // this node itself, which asks what it said: nothing is refused now
)

// nodeOfEvent is the node that saw the event.
func (o *occasion) nodeOfEvent() string {
	if o.event.Node != "" {
		return strings.Clone(o.event.Node)
	}
	return o.d.config.Node
}
