package aggregator

import "time"

// defaultShare is the part of a limit that all nodes together may leave
// unreported if Quiet is set: half of it, which leaves the other half to notice
// in.
const defaultShare = 0.5

// defaultMaxSuspects bounds the suspects of a node: about 100 bytes each.
const defaultMaxSuspects = 1 << 20

// Config is what a node starts with.
type Config struct {
	// Meters are the detector's, in its order.
	Meters []Meter
	// Boot is the local time from whose slot on counts are pushed. Counts in
	// older slots stay local; see [Totals.Restored].
	Boot time.Time
	// Since is what [Totals.Since] returned at the clean end of the process
	// before, whose boot this one keeps and whose counts the tables have again; or
	// when this process left the fleet, which it joins again. Nil: the boot is new.
	Since map[uint64]uint32
	// Offset is added to local time to get the epoch's, a multiple of every
	// width. Previous' offset takes precedence. See [Totals.SetOffset].
	Offset time.Duration
	// Quiet reports only keys whose count has reached a share of the limit.
	Quiet bool
	// MaxNodes is how many nodes the fleet is expected to have at most, Nodes how
	// many it has now. See [Totals.SetNodes].
	MaxNodes, Nodes int
	// Share is the part of a limit that all nodes together may leave
	// unreported; 0 means [defaultShare].
	Share float64
	// MaxSuspects bounds memory; 0 means [defaultMaxSuspects]. When there is no
	// room, a key replaces one of lower rank. If it finds none, it is counted
	// as held back and tried again at its next event.
	MaxSuspects int
	// Seed decides how the suspects are spread; 0: drawn, so that no client can
	// choose addresses that share a lock. With the same seed the same calls have
	// the same results.
	Seed uint64
	// Previous is what this one replaces at a reload: the suspects of meters
	// that stayed, and the cleared-before marks, are taken over. Nil at the
	// start.
	Previous *Totals
}

func (c *Config) setDefaults() {
	if c.Share <= 0 || c.Share > 1 {
		c.Share = defaultShare
	}
	if c.MaxSuspects <= 0 {
		c.MaxSuspects = defaultMaxSuspects
	}
	c.MaxNodes = max(c.MaxNodes, 1)
}
