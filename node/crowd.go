package node

import (
	"fmt"
	"time"

	"edgeguard/internal/lobby"
)

// crowdLasts is how long after its last sign a listener still counts as full: a
// flood comes in waves.
const crowdLasts = 30 * time.Second

// crowd follows whether a listener is full. It is keepHouse's.
type crowd struct {
	seen  lobby.Stats
	since lobby.Stats // when it became full
	last  time.Time   // when a connection was closed for another
}

// look takes in the listener's counters and reports whether it is full, and how
// many connections it closed or turned away since it is.
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

// lookForCrowds raises the alarm about listeners that are full: somebody holds
// connections, or there are more proxies than places.
func (n *Node) lookForCrowds(now time.Time) {
	for _, a := range n.auths.all() {
		if server := a.server.Load(); server != nil {
			n.crowded(now, alarmAuthFull, "listen.auth", a.config.Address.String(), a.config.Connections, &a.full, server.Connections())
		}
	}
	for _, d := range n.desks.all() {
		if server := d.server.Load(); server != nil {
			n.crowded(now, alarmAdminFull, "listen.admin", d.address, d.places, &d.full, server.Connections())
		}
	}
}

func (n *Node) crowded(now time.Time, kind, key, address string, places int, c *crowd, s lobby.Stats) {
	closed, refused, full := c.look(now, s)
	switch {
	case full:
		n.alarms.begins(now, kind, address, fmt.Sprintf(
			"%s: all %d connections are taken: for new ones %d were closed, those first that asked nothing, and %d new ones were turned away; see who holds them (ss -tnp, ss -xp), listen at a unix socket that strangers cannot open, or raise `connections` of this entry in %s",
			address, places, closed, refused, key))
	case n.alarms.ends(kind, address):
		n.log.Info("works again", "alarm", kind, "about", address)
	}
}
