package node

import (
	"fmt"
	"time"

	"edgeguard/internal/lobby"
	"edgeguard/node/alarm"
)

// crowdLasts is how long after its last closed connection a listener still is
// full: a flood comes in waves.
const crowdLasts = 30 * time.Second

// crowd follows whether a listener is full. It is housekeeping's.
type crowd struct {
	seen  lobby.Stats
	since lobby.Stats // when it became full
	last  time.Time   // when a connection was closed for another
}

// look compares the listener's counters with the last ones. It reports whether
// the listener is full, and how many connections it closed or refused since.
func (c *crowd) look(now time.Time, s lobby.Stats) (closed, refused uint64, full bool) {
	if s.Closed < c.seen.Closed || s.Refused < c.seen.Refused { // the listener was opened again
		c.seen, c.since = lobby.Stats{}, lobby.Stats{}
	}
	if s.Closed > c.seen.Closed || s.Refused > c.seen.Refused {
		if c.last.IsZero() {
			c.since = c.seen
		}
		c.last = now
	} else if now.Sub(c.last) > crowdLasts {
		c.last = time.Time{}
	}
	c.seen = s
	return s.Closed - c.since.Closed, s.Refused - c.since.Refused, !c.last.IsZero()
}

// full raises the alarm about a listener that is full, or ends it: one client
// holds connections, or there are more proxies than places.
func checkFull(now time.Time, alarms *alarm.Tracker, kind, key, address string, places int, c *crowd, s lobby.Stats) {
	closed, refused, full := c.look(now, s)
	switch {
	case full:
		alarms.Begins(now, kind, address, fmt.Sprintf(
			"%s: all %d connections are in use: %d were closed for new ones, idle ones first, and %d new ones were refused; find who holds them (ss -tnp, ss -xp), listen at a unix socket that strangers cannot open, or raise `connections` of this entry in %s",
			address, places, closed, refused, key))
	default:
		alarms.Recovers(kind, address)
	}
}
