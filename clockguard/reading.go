package clockguard

import "time"

// Reading is both clocks at one moment.
type Reading struct {
	Wall time.Time
	// Mono is the monotonic clock, from any zero. On Linux it stops
	// while the machine is suspended, and the kernel slews it with the wall
	// clock, so that only steps part the two.
	Mono time.Duration
}

// wall drops the monotonic reading that time.Now leaves in a Time, which would
// make Sub blind to steps.
func (r Reading) wall() time.Time { return r.Wall.Round(0).UTC() }

// zero is the zero of this process's monotonic clock. It does not change.
var zero = time.Now()

// Read reads the real clocks. It is the one place that does.
func Read() Reading {
	now := time.Now()
	return Reading{Wall: now, Mono: now.Sub(zero)}
}
