package fleet

import (
	"net/netip"
	"sync"
	"time"
)

// Networks of which the fleet's full list in Redis takes no more blocks are remembered, so
// that a flood that it cannot keep costs Redis little.

const (
	// lasts is how long no block of a network is published after one found no
	// room.
	lasts = time.Minute
	// mostInNetwork bounds the networks that are remembered for it.
	mostInNetwork = 4096
)

// CrowdedNetworks are the networks of which the fleet keeps no more blocks for now. It
// is safe for concurrent use. The zero value is ready.
type CrowdedNetworks struct {
	mu      sync.Mutex // guards the fields below
	until   map[netip.Prefix]time.Time
	alarmed time.Time // when there was last no room; zero after the alarm has ended
}

// networkOf returns the network by which the library decides: IPv4 /16, IPv6 /48.
func networkOf(p netip.Prefix) netip.Prefix {
	bits := 48
	if p.Addr().Is4() {
		bits = 16
	}
	network, _ := p.Addr().Prefix(bits)
	return network
}

// Add records that a block of this prefix found no room.
func (c *CrowdedNetworks) Add(p netip.Prefix, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.until) >= mostInNetwork {
		for network, until := range c.until {
			if !now.Before(until) {
				delete(c.until, network)
			}
		}
	}
	if c.until == nil {
		c.until = map[netip.Prefix]time.Time{}
	}
	if len(c.until) < mostInNetwork {
		c.until[networkOf(p)] = now.Add(lasts)
	}
}

// Covers reports whether the prefix is in such a network.
func (c *CrowdedNetworks) Covers(p netip.Prefix, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Before(c.until[networkOf(p)])
}

// NoteKept records that a block stayed on this node, and reports whether an alarm
// about it begins.
func (c *CrowdedNetworks) NoteKept(now time.Time) (begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begins = c.alarmed.IsZero()
	c.alarmed = now
	return begins
}

// Ended reports whether every block has found room for long enough.
func (c *CrowdedNetworks) Ended(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.alarmed) < 2*lasts {
		return false
	}
	c.alarmed = time.Time{}
	return true
}
