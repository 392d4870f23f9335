// Package crowded keeps the networks of which the fleet's full list in Redis takes
// no more blocks, so that a flood that it cannot keep costs Redis little.
package crowded

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// lasts is how long no block of a network is published after one found no
	// room.
	lasts = time.Minute
	// most bounds the networks that are remembered for it.
	most = 4096
)

// Networks are the networks of which the fleet keeps no more blocks for now. It
// is safe for concurrent use. The zero value is ready.
type Networks struct {
	mu      sync.Mutex // guards the fields below
	until   map[netip.Prefix]time.Time
	alarmed time.Time // when there was last no room; zero after the alarm has ended
}

// Of returns the network by which the library decides: IPv4 /16, IPv6 /48.
func Of(p netip.Prefix) netip.Prefix {
	bits := 48
	if p.Addr().Is4() {
		bits = 16
	}
	network, _ := p.Addr().Prefix(bits)
	return network
}

// Add records that a block of this prefix found no room.
func (c *Networks) Add(p netip.Prefix, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.until) >= most {
		for network, until := range c.until {
			if !now.Before(until) {
				delete(c.until, network)
			}
		}
	}
	if c.until == nil {
		c.until = map[netip.Prefix]time.Time{}
	}
	if len(c.until) < most {
		c.until[Of(p)] = now.Add(lasts)
	}
}

// Has reports whether the prefix is in such a network.
func (c *Networks) Has(p netip.Prefix, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Before(c.until[Of(p)])
}

// Kept records that a block stayed on this node, and reports whether an alarm
// about it begins.
func (c *Networks) Kept(now time.Time) (begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begins = c.alarmed.IsZero()
	c.alarmed = now
	return begins
}

// Ended reports whether every block has found room for long enough.
func (c *Networks) Ended(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.alarmed) < 2*lasts {
		return false
	}
	c.alarmed = time.Time{}
	return true
}
