package spop

import "strconv"

// Status is why a connection ends, as a DISCONNECT says it. It is also the error of
// what cannot be read.
type Status uint32

// The statuses that this package returns, and that of an end in order.
const (
	Normal       Status = 0
	TooBig       Status = 3
	Invalid      Status = 4
	NoVersion    Status = 5
	NoFrameSize  Status = 6
	BadVersion   Status = 8
	BadFrameSize Status = 9
	Fragmented   Status = 10
)

var statusTexts = map[Status]string{
	Normal:       "normal",
	1:            "I/O error",
	2:            "a timeout occurred",
	TooBig:       "frame is too big",
	Invalid:      "invalid frame received",
	NoVersion:    "version value not found",
	NoFrameSize:  "max-frame-size value not found",
	7:            "capabilities value not found",
	BadVersion:   "unsupported version",
	BadFrameSize: "max-frame-size too big or too small",
	Fragmented:   "fragmentation not supported",
	11:           "invalid interlaced frames",
	12:           "frame-id not found",
	13:           "resource allocation error",
	99:           "an unknown error occurred",
}

// Error returns HAProxy's own words for the status.
func (s Status) Error() string {
	if text, ok := statusTexts[s]; ok {
		return text
	}
	return "status " + strconv.FormatUint(uint64(s), 10)
}
