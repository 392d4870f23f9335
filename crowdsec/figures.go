package crowdsec

import "time"

// What the API and the metrics say of a node and the CrowdSec that it takes decisions from and
// reports to.

// Figures is both sides; each is nil without it in the config.
type Figures struct {
	Decisions *Incoming `json:"decisions,omitempty"`
	Alerts    *Outgoing `json:"alerts,omitempty"`
}

// Incoming is the decisions that a node takes.
type Incoming struct {
	URL string `json:"url"` // of the LAPI
	// InForce decisions are in force, as far as no allowance or protected address stands against them.
	InForce  int       `json:"held"`
	Answers  uint64    `json:"answers"` // that could be used
	Failures uint64    `json:"failures"`
	Last     time.Time `json:"last,omitzero"` // when the last answer came that could be used
	// Error is why the last question failed, empty if it did not.
	Error string `json:"error,omitempty"`
	// Skipped decisions were not taken, by the reason: of the last whole list, and since.
	Skipped Skipped `json:"skipped"`
}

// Skipped counts decisions that were not taken.
type Skipped struct {
	Types    uint64 `json:"type"`     // not a ban
	Scopes   uint64 `json:"scope"`    // not an address and not a range
	Ours     uint64 `json:"ours"`     // reported by edgeguard
	Filtered uint64 `json:"filtered"` // excluded by the config
	Invalid  uint64 `json:"invalid"`  // without a valid address or duration
	NoRoom   uint64 `json:"no_room"`  // more than crowdsec.decisions.most
}

// Add adds what another answer skipped.
func (s *Skipped) Add(more Skipped) {
	s.Types += more.Types
	s.Scopes += more.Scopes
	s.Ours += more.Ours
	s.Filtered += more.Filtered
	s.Invalid += more.Invalid
	s.NoRoom += more.NoRoom
}

// Outgoing is the alerts that a node sends.
type Outgoing struct {
	URL     string    `json:"url"` // of the LAPI
	Waiting int       `json:"waiting"`
	Sent    uint64    `json:"sent"`    // accepted by the LAPI
	Dropped uint64    `json:"dropped"` // there was no room in the queue
	Refused uint64    `json:"refused"` // refused by the LAPI
	Last    time.Time `json:"last,omitzero"`
	Error   string    `json:"error,omitempty"` // why the last call failed, empty if it did not
}
