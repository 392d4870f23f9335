package judge

import (
	"sort"
	"time"

	"edgeguard/loadtest/limiter"
)

// Waits says how true the times were that refused requests were told to wait.
type Waits struct {
	// Asked are the refusals that were looked at, Silent those that named no time.
	Asked  int
	Silent int
	// Early are those whose time was too short: the same limiter would refuse again.
	// Late are those whose time was too long. The greatest of each is in seconds.
	Early  int
	EarlyS float64
	Late   int
	LateS  float64
}

// Resolution is how far a time may be off: what is compared tells microseconds.
const Resolution = time.Microsecond

// Refused asks a limiter whether the time that it just named to a client is
// when it would allow the cost.
func (w *Waits) Refused(l limiter.Local, window, now time.Duration, client uint32, cost uint16, d limiter.Decision) {
	w.Asked++
	if d.RetryAfter < 0 {
		w.Silent++
		return
	}
	w.Named(d.RetryAfter, Wait(l, window, now, client, cost))
}

// Named holds a time that was named against the true one.
func (w *Waits) Named(said, wait time.Duration) {
	switch off := said - wait; {
	case off < -Resolution:
		w.Early++
		w.EarlyS = max(w.EarlyS, (-off).Seconds())
	case off > Resolution:
		w.Late++
		w.LateS = max(w.LateS, off.Seconds())
	}
}

// Wait finds when a limiter would allow a request of now if nothing else came,
// to the microsecond. All that are compared allow again what they once do, and
// within two windows; a greater time is never.
func Wait(l limiter.Local, window, now time.Duration, client uint32, cost uint16) time.Duration {
	return time.Duration(sort.Search(int(2*window/time.Microsecond)+1, func(us int) bool {
		return l.Peek(now+time.Duration(us)*time.Microsecond, client, cost)
	})) * time.Microsecond
}
