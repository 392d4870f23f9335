package redis

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"edgeguard"
)

const (
	// fleetFull is how many records the library keeps before a rule's block must
	// replace another: FULL in blocks.lua.
	fleetFull = 1 << 18
	// crowdedFor is how long no block of a network is published after one found
	// no room, so that a flood that the fleet cannot keep costs Redis little.
	crowdedFor = time.Minute
	// mostCrowds bounds the networks that are remembered for it.
	maxCrowded = 4096
)

// byRule reports whether a rule made this block, and not an operator.
func (c *change) byRule() bool {
	return !c.trust.Forced && !c.block.Lifted && !c.block.Allow && c.block.Rule != edgeguard.ManualRule
}

// crowdedNetworks are the networks of which the fleet keeps no more blocks for
// now. It is safe for concurrent use.
type crowdedNetworks struct {
	mu      sync.Mutex // guards the fields below
	until   map[netip.Prefix]time.Time
	alarmed time.Time // when there was last no room; zero after the alarm has ended
}

// crowdedNetwork returns the network by which the library decides: IPv4 /16,
// IPv6 /48.
func crowdedNetwork(p netip.Prefix) netip.Prefix {
	bits := 48
	if p.Addr().Is4() {
		bits = 16
	}
	network, _ := p.Addr().Prefix(bits)
	return network
}

func (c *crowdedNetworks) add(p netip.Prefix, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.until) >= maxCrowded {
		for network, until := range c.until {
			if !now.Before(until) {
				delete(c.until, network)
			}
		}
	}
	if c.until == nil {
		c.until = map[netip.Prefix]time.Time{}
	}
	if len(c.until) < maxCrowded {
		c.until[crowdedNetwork(p)] = now.Add(crowdedFor)
	}
}

func (c *crowdedNetworks) has(p netip.Prefix, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Before(c.until[crowdedNetwork(p)])
}

// kept records that there was no room, and reports whether an alarm begins.
func (c *crowdedNetworks) kept(now time.Time) (begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begins = c.alarmed.IsZero()
	c.alarmed = now
	return begins
}

// ended reports whether every block has found room for long enough.
func (c *crowdedNetworks) ended(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.alarmed) < 2*crowdedFor {
		return false
	}
	c.alarmed = time.Time{}
	return true
}

// keptHere counts a block that stays on this node, since the fleet has no room.
func (l *Link) keptHere(c change) {
	l.stats.kept.Add(1)
	if l.crowded.kept(time.Now()) {
		l.node.Alarm("full", "list", fmt.Sprintf("the fleet's list in Redis is full: none of its %d records could be replaced by %s, which is in force on this node only. "+
			"The usual cause is a flood from many networks: check who is blocked (edgeguard blocks list). Addresses that send requests to other nodes, too, are blocked there by their totals", fleetFull, c.block.Prefix))
	}
}

// calmCrowded ends the alarm about a full list, also one of an earlier link.
func (l *Link) calmCrowded() {
	if l.crowded.ended(time.Now()) {
		l.node.Calm("full", "list")
	}
}
