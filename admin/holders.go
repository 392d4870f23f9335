package admin

import (
	"net/netip"
	"slices"
)

// FleetHeld says which other nodes of the fleet hold records, by their heartbeats.
// In a fleet without a key, whoever can write to Redis can write a heartbeat.
type FleetHeld struct {
	// Alive is how many nodes the fleet has by their names, this one included.
	Alive int `json:"nodes_alive"`
	// Nodes are those that hold something, or do not say, in the order of their
	// names.
	Nodes []NodeHeld `json:"nodes"`
}

// NodeHeld is what one node says of the records that it holds.
type NodeHeld struct {
	Name  string `json:"name"`
	State string `json:"state"` // one of the states below
	// Held is how many it holds. Waits are some of them: first those that only an
	// operator's confirmation ends, then the newest.
	Held  uint32         `json:"held,omitempty"`
	Waits []netip.Prefix `json:"waits,omitempty"`
}

// The states of a node.
const (
	NodeHolds  = "holds"  // it holds records, or the one that was asked for
	NodeMore   = "more"   // it holds more than it names: perhaps the one that was asked for
	NodeSilent = "silent" // it has not said anything since
)

// Of returns what the nodes say of the record of one prefix.
func (f FleetHeld) Of(prefix netip.Prefix) FleetHeld {
	out := FleetHeld{Alive: f.Alive, Nodes: []NodeHeld{}}
	for _, n := range f.Nodes {
		if n.State == NodeHolds && !slices.Contains(n.Waits, prefix) {
			if n.Held <= uint32(len(n.Waits)) {
				continue
			}
			n.State = NodeMore
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}
