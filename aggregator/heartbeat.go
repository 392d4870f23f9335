package aggregator

import (
	"encoding/json"
	"net/netip"
	"time"
)

// MaxHeartbeat is the most bytes that the library accepts of one node.
const MaxHeartbeat = 1024

// Heartbeat is what a node reports of itself every two seconds.
type Heartbeat struct {
	Node    string    `json:"node"`
	Boot    string    `json:"boot"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	// At is when it was sent, by Redis' clock as the node knows it.
	At time.Time `json:"at"`
	// AheadMS is how far the node's clock is ahead of Redis', in milliseconds.
	AheadMS float64 `json:"ahead_ms"`
	// PushLagMS is the age of its newest round of pushes that was answered in
	// full.
	PushLagMS int64 `json:"push_lag_ms"`
	// Changes is the version of the fleet's list that it has read. Digest is its
	// digest of the records in it that end after Cutoff.
	Changes int64  `json:"changes"`
	Digest  string `json:"digest,omitempty"`
	Cutoff  int64  `json:"cutoff,omitempty"`
	Monitor bool   `json:"monitor,omitempty"`
	// Own are the node's addresses, which no other node must block.
	Own []netip.Addr `json:"own,omitempty"`
}

// ID returns the name under which Redis files the node's counts.
func (h *Heartbeat) ID() [8]byte { return NodeID(h.Node, h.Boot) }

// Field returns the heartbeat's field in the hash of nodes.
func (h *Heartbeat) Field() string { return h.Node + "/" + h.Boot }

// Encode returns the heartbeat's JSON, with as many addresses as fit.
func (h Heartbeat) Encode() string {
	for {
		text, err := json.Marshal(h)
		if err == nil && len(text) <= MaxHeartbeat {
			return string(text)
		}
		if len(h.Own) == 0 {
			h.Version = "" // a name of 255 bytes and this, at most
			text, _ = json.Marshal(h)
			return string(text)
		}
		h.Own = h.Own[:len(h.Own)/2]
	}
}

// ParseHeartbeat reads a field of the hash of nodes. It rejects a heartbeat that
// is not stored under the name it contains.
func ParseHeartbeat(field, value string) (Heartbeat, bool) {
	var h Heartbeat
	if len(value) > MaxHeartbeat || json.Unmarshal([]byte(value), &h) != nil {
		return h, false
	}
	return h, h.Field() == field && h.Node != ""
}
