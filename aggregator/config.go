package aggregator

import "time"

// DefaultShare is the part of a limit that all nodes together may hold without
// telling, if Quiet: a half leaves the other half to tell by.
const DefaultShare = 0.5

// DefaultMaxSuspects bounds the suspects of a node: about 100 bytes each.
const DefaultMaxSuspects = 1 << 20

// Config is what a node starts with.
type Config struct {
	// Meters are the detector's, by its index.
	Meters []Meter
	// Boot is the local time from whose slot on counts are pushed. What stands
	// in older slots is local; see [Totals.Restored].
	Boot time.Time
	// Offset is what must be added to local time to get the epoch's, a multiple
	// of every width; that of Previous goes before it. See [Totals.SetOffset].
	Offset time.Duration
	// Quiet tells only about keys whose count has reached a share of the limit.
	Quiet bool
	// MaxNodes is how many nodes the fleet may have while Quiet holds what it
	// promises, Nodes how many it has now.
	MaxNodes, Nodes int
	// Share is the part of a limit that all nodes together may hold untold;
	// 0 means [DefaultShare].
	Share float64
	// MaxSuspects bounds memory; 0 means [DefaultMaxSuspects]. Where there is no
	// room a key takes the place of a colder one; if it finds none it is counted
	// as held back, and tried again at its next event.
	MaxSuspects int
	// Previous is the node that this one follows on at a reload: suspects of
	// meters that stayed, and floors, are taken over. Nil at the start.
	Previous *Totals
}

func (c *Config) setDefaults() {
	if c.Share <= 0 || c.Share > 1 {
		c.Share = DefaultShare
	}
	if c.MaxSuspects <= 0 {
		c.MaxSuspects = DefaultMaxSuspects
	}
	c.MaxNodes = max(c.MaxNodes, 1)
}
