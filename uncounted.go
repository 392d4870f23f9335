package edgeguard

import (
	"fmt"
	"net/netip"
	"time"
)

// Uncounted is a request that a server answered, or that a proxy asked about,
// and that is not counted, or only by some of the rules.
//
// It holds nothing that a client wrote: Addr was parsed, and Reason is of a
// closed set.
type Uncounted struct {
	// Time is when it happened, by the node's clock; zero if it is not known,
	// which means now.
	Time time.Time
	// Addr is the client, unmapped and without a zone; the zero Addr unless it
	// is as sure as that of an [Event].
	Addr   netip.Addr
	Reason Reason
}

// Uncounter is called at the instant now on requests that are not counted. The
// slice is not empty and is valid during the call. Each request is reported once; a
// request that is counted in part is reported besides its event, which is decided
// as any other. Sensors call it on the goroutines that call their decider.
type Uncounter func(now time.Time, requests []Uncounted)

// Reason says why a request is not counted.
type Reason uint8

// The reasons. FieldCut alone is of requests that are counted in part: by the
// rules that do not need the field.
const (
	LineTooLong    Reason = iota // a log line longer than what is read of one
	LineUnended                  // a log line whose end never came
	LineMisfit                   // a log line that is not of the log's format
	FieldCut                     // the server or its log cut the path or another field short
	HeadersTooLong               // a question of a proxy over the limit of its length
	NotHTTP                      // a question of a proxy that cannot be read
	NoClient                     // the client's address is missing or cannot be read
	DecisionFailed               // the decision panicked
	LinesLost                    // log lines that were sent or written and did not arrive
	GapTooLong                   // counted by a proxy while nothing was read from it for longer than a window
	// Reasons is how many there are.
	Reasons = iota
)

var reasonNames = [Reasons]string{
	"line_too_long", "line_unended", "line_misfit", "field_cut", "headers_too_long", "not_http", "no_client",
	"decision_failed", "lines_lost", "gap_too_long",
}

// String returns the word used in metrics and in JSON.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}
