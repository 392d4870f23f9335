package accesslog

import (
	"edgeguard/logline"
	"edgeguard/logline/scan"
)

// Stats says how far a reader is and what it has passed over.
type Stats struct {
	Lines   uint64 // read so far, blank ones and a header included
	Events  uint64 // passed on
	Skipped uint64 // lines that gave no event, blank ones and a header not counted
	// Partial is how many of the events lack fields, because their lines are cut
	// short: rules that need those did not count them.
	Partial uint64
	First   []logline.Skipped // of the skipped and the partial
	// Passed is how many lines said nothing of a client, and Others the first of them.
	Passed uint64
	Others []logline.Skipped
	// Quiet is how many of these were passed over for a reason, and Unread whose lines are not understood.
	Quiet  uint64
	Unread []scan.Unread
	// Suppressed is how many lines the log says never came to it, by a limit of a daemon.
	Suppressed uint64
	// Bare says that times which name no zone were read in that of the options.
	Bare bool
	// Read is how many bytes of the file were read, compressed as they are;
	// Total its size, 0 where there is none (standard input).
	Read, Total int64
}
