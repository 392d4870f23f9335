package clockguard

import (
	"math"
	"time"
)

// Slot is the number of the slot of width seconds (at least 1) that t lies in:
// floor(unix seconds / width). Times before 1970 lie in slot 0, and those too
// late for 32 bits (2106, at 1 s) in the last.
func Slot(t time.Time, width uint32) uint32 {
	seconds := t.Unix()
	if seconds < 0 {
		return 0
	}
	return uint32(min(uint64(seconds)/uint64(width), math.MaxUint32))
}
