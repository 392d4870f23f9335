package checks

import (
	"cmp"
	"fmt"
	"time"

	"edgeguard/internal/lobby"
	"edgeguard/node/alarm"
)

// fullLasts is how long after its last closed connection a listener still is
// full: a flood comes in waves.
const fullLasts = 30 * time.Second

// Full raises the alarm about a listener that is full: one client holds
// connections, or there are more proxies than places.
type Full struct {
	Alarms  *alarm.Tracker
	Kind    string // of the alarm
	Key     string // of the listener's entry in the config
	Address string
	Places  int // connections, at most
	// Fence is what an operator can do to keep strangers out; empty: listen at a unix
	// socket.
	Fence string

	seen  lobby.Stats
	since lobby.Stats // when it became full
	last  time.Time   // when a connection was closed for another
}

// look compares the listener's counters with the last ones. It reports whether
// the listener is full, and how many connections it closed or refused since.
func (f *Full) look(now time.Time, s lobby.Stats) (closed, refused uint64, full bool) {
	if s.Closed < f.seen.Closed || s.Refused < f.seen.Refused { // the listener was opened again
		f.seen, f.since = lobby.Stats{}, lobby.Stats{}
	}
	if s.Closed > f.seen.Closed || s.Refused > f.seen.Refused {
		if f.last.IsZero() {
			f.since = f.seen
		}
		f.last = now
	} else if now.Sub(f.last) > fullLasts {
		f.last = time.Time{}
	}
	f.seen = s
	return s.Closed - f.since.Closed, s.Refused - f.since.Refused, !f.last.IsZero()
}

// Check compares the listener's counters with those of the last check. It raises
// the alarm, or ends it.
func (f *Full) Check(now time.Time, s lobby.Stats) {
	closed, refused, full := f.look(now, s)
	switch {
	case full:
		f.Alarms.Begins(now, f.Kind, f.Address, fmt.Sprintf(
			"%s: all %d connections are in use: %d were closed for new ones, idle ones first, and %d new ones were refused; find who holds them (ss -tnp, ss -xp), %s, or raise `connections` of this entry in %s",
			f.Address, f.Places, closed, refused, cmp.Or(f.Fence, "listen at a unix socket that strangers cannot open"), f.Key))
	default:
		f.Alarms.Recovers(f.Kind, f.Address)
	}
}
