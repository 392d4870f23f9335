package accesslog

import (
	"time"

	"edgeguard/logline"
	"edgeguard/logline/scan"
)

// LiveStats says what was read of a live log since it was started. All counts
// only grow.
type LiveStats struct {
	Lines   uint64 // read, blank ones included
	Events  uint64 // passed on
	Skipped uint64 // lines that were not of the format
	// Partial is how many of the events lack fields, because their lines are cut
	// short: rules that need those did not count them.
	Partial uint64
	// Suppressed is how many lines the log says never came to it, by a limit of a daemon.
	Suppressed uint64
	// Late and Early are the events that were older than Live.Late when they
	// were decided, and those more than a second in the future, which were
	// decided as if they happened now.
	Late, Early uint64
	// Quiet is how many lines were passed over for a reason, and Unread whose lines are not understood.
	Quiet  uint64
	Unread []scan.Unread
	// Off is by how much the last lines' times without a zone were off.
	Off scan.Off
	// Age is how old the last batch's newest event was when it was decided: the
	// delay of server and sensor together.
	Age time.Duration
	// Last is when the last event was decided.
	Last time.Time
	// Troubles counts how often something went wrong; Err is what is wrong now.
	Troubles uint64
	Err      error
	// Shown holds the last few lines that were skipped, and Others the first that were passed over.
	Shown, Others []logline.Skipped
}

// Example returns a line that was not counted, empty if there was none.
func (s *LiveStats) Example() string {
	switch {
	case len(s.Shown) > 0:
		return s.Shown[len(s.Shown)-1].Text
	case len(s.Others) > 0:
		return s.Others[0].Text
	}
	return ""
}
