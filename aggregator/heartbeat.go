package aggregator

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"edgeguard/internal/safetext"
)

// MaxHeartbeat is the most bytes that the library accepts of one node.
const MaxHeartbeat = 1024

// MostWaits is how many held records a heartbeat names at most.
const MostWaits = 8

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
	// Rules is a digest of the rules in force: nodes that have one count alike and go by equal
	// limits.
	Rules string `json:"rules,omitempty"`
	// Own are the node's addresses, which no other node must block.
	Own []netip.Addr `json:"own,omitempty"`
	// Held is how many of the fleet's records the node holds: they wait for an
	// operator, or for room. It is of the list's version Changes; nil is a node that
	// does not say, as while it reads the list. Waits are some of their prefixes, see
	// quarantine.Quarantine.Waits. In a fleet without a key, anybody who can write to
	// Redis may have written them.
	Held  *uint32        `json:"held,omitempty"`
	Waits []netip.Prefix `json:"waits,omitempty"`
	// Looks says that somebody looks at the fleet on this node: the others write
	// their figures into Redis (package fleet).
	Looks bool `json:"looks,omitempty"`
	// Spans are those of which it asks for their figures, the newest first.
	Spans []Span `json:"spans,omitempty"`
	// Compares says that this node asks what the rules of the others do, as their digests differ.
	Compares bool `json:"compares,omitempty"`
	// Run is 8 random hex digits of the process, and Seq grows with each of its
	// heartbeats: one that is read a second time has no greater Seq.
	Run string `json:"run,omitempty"`
	Seq uint64 `json:"seq,omitempty"`
	// Key is the ID of the key that signs, and Mode the node's key_mode; "" for
	// a node without a key.
	Key  string `json:"key,omitempty"`
	Mode string `json:"mode,omitempty"`
	// Signed says that its MAC was verified here.
	Signed bool `json:"-"`
}

// ID returns the name under which Redis files the node's counts.
func (h *Heartbeat) ID() [8]byte { return NodeID(h.Node, h.Boot) }

// Field returns the heartbeat's field in the hash of nodes.
func (h *Heartbeat) Field() string { return h.Node + "/" + h.Boot }

// SetHeldRecords sets how many records the node holds, and which it names.
func (h *Heartbeat) SetHeldRecords(held int, first []netip.Prefix) {
	n := uint32(held)
	h.Held, h.Waits = &n, first
}

// Encode returns the heartbeat's JSON, with as many addresses, and then held
// records, as fit.
func (h Heartbeat) Encode() string { return h.encode(MaxHeartbeat) }

// EncodeSigned returns what [Heartbeat.Encode] does, with the ID of the key that
// signs and a MAC. For nil it is as [Heartbeat.Encode].
func (h Heartbeat) EncodeSigned(k *SigningKeys, namespace string) string {
	if k == nil {
		return h.Encode()
	}
	h.Key = k.KeyID()
	return k.SignHeartbeat(namespace, h.Field(), h.encode(MaxHeartbeat-beatMACSize))
}

func (h Heartbeat) encode(most int) string {
	h.Waits = h.Waits[:min(len(h.Waits), MostWaits)]
	for {
		text, err := json.Marshal(h)
		if err == nil && len(text) <= most {
			return string(text)
		}
		switch {
		case len(h.Waits) > 0: // others decide by the addresses
			h.Waits = h.Waits[:len(h.Waits)/2]
		case len(h.Spans) > 0:
			h.Spans = h.Spans[:len(h.Spans)-1]
		case len(h.Own) > 0:
			h.Own = h.Own[:len(h.Own)/2]
		default:
			h.Version, h.Held = "", nil // the rest fits with a name of 100 bytes
			text, _ = json.Marshal(h)
			return string(text)
		}
	}
}

// ParseHeartbeat reads a field of the hash of nodes. It rejects a heartbeat that
// is not stored under the name it contains, and one with control characters. It
// drops held records beyond [MostWaits], those without a prefix, and spans alike.
func ParseHeartbeat(field, value string) (Heartbeat, bool) {
	var h Heartbeat
	if len(value) > MaxHeartbeat || json.Unmarshal([]byte(value), &h) != nil {
		return h, false
	}
	h.Waits = slices.DeleteFunc(h.Waits, func(p netip.Prefix) bool { return !p.IsValid() })
	h.Waits = h.Waits[:min(len(h.Waits), MostWaits)]
	h.Spans = slices.DeleteFunc(h.Spans, func(s Span) bool { return !s.Valid() })
	h.Spans = h.Spans[:min(len(h.Spans), MostSpans)]
	return h, h.Field() == field && h.Node != "" && h.clean()
}

// clean reports whether a command can print every text of the heartbeat.
func (h *Heartbeat) clean() bool {
	for _, addr := range h.Own {
		if !safetext.Clean(addr.Zone()) {
			return false
		}
	}
	return safetext.Clean(h.Node + h.Boot + h.Version + h.Digest + h.Rules + h.Run + h.Key + h.Mode)
}

// VerifyHeartbeat reads a field of the hash of nodes, as [ParseHeartbeat] does,
// and reports whether it is signed by one of the keys. Of a signed heartbeat it
// parses the bytes that were signed.
func VerifyHeartbeat(k *SigningKeys, namespace, field, value string) (h Heartbeat, signed, ok bool) {
	if len(value) > MaxHeartbeat {
		return h, false, false
	}
	text, signed := k.OpenBeat(namespace, field, value)
	h, ok = ParseHeartbeat(field, text)
	return h, signed && ok, ok
}
