package fleet

import (
	"fmt"
	"time"
)

// evictionLasts is how long after the last eviction the alarm ends.
const evictionLasts = 10 * time.Minute

// Evictions judges whether Redis loses keys. The zero value is ready.
type Evictions struct {
	known   bool
	evicted int64 // by Redis, at the last look
	lost    int64 // since the alarm began
	last    time.Time
}

// AlarmText returns the text of the alarm; "" for none. evicted is how many keys
// Redis has evicted since it started, policy its maxmemory-policy where that
// lets it evict keys, else "".
func (e *Evictions) AlarmText(now time.Time, evicted int64, policy string) string {
	if e.known && evicted > e.evicted {
		e.lost, e.last = e.lost+evicted-e.evicted, now
	}
	e.known, e.evicted = true, evicted // fewer than before: it was restarted
	if now.Sub(e.last) >= evictionLasts {
		e.lost = 0
	}
	switch {
	case e.lost > 0:
		return fmt.Sprintf("Redis is full and has evicted %d keys: counts and blocks are lost: raise maxmemory, and set maxmemory-policy noeviction", e.lost)
	case policy != "":
		return "Redis evicts keys when it is full (maxmemory-policy " + policy + "): counts and blocks can be lost: set maxmemory-policy noeviction"
	}
	return ""
}
