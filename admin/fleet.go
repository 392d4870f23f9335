package admin

import (
	"net/http"
	"time"
)

// Fleet is how a node stands in its fleet, and what it did for it since the
// fleet's part of the config was last changed. Spans are in seconds.
type Fleet struct {
	Namespace string `json:"namespace"`
	// Up is false while the node is cut off and decides alone, or tells the
	// fleet not all of its counts. Trouble says why in one word, Fix in a
	// sentence that ends with what to do, Since when it began.
	Up      bool      `json:"up"`
	Trouble string    `json:"trouble,omitempty"`
	Fix     string    `json:"fix,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// LastError is the newest error's text, also when it is over.
	LastError string `json:"last_error,omitempty"`
	// Alive is how many nodes were heard from lately, this one included; 0
	// before the first.
	Alive int `json:"nodes_alive"`

	// PushLag is the age of the newest round of pushes that was answered whole;
	// 0 before the first. Rounds were made of Calls, which carried Pushed keys.
	PushLag float64 `json:"push_lag_seconds"`
	Rounds  uint64  `json:"rounds"`
	Calls   uint64  `json:"calls"`
	Pushed  uint64  `json:"keys_pushed"`
	// Dropped counts watched keys that came faster than they could be pushed.
	Dropped uint64 `json:"keys_dropped"`

	// Quiet says that the fleet hears only of keys with a share of a limit.
	Quiet bool `json:"quiet"`
	// Suspects are the keys that the fleet hears of now, Watched those of them
	// that a node asked all others about.
	Suspects int `json:"suspects"`
	Watched  int `json:"watched"`
	// HeldBack counts events of keys for which there was no room among the
	// suspects, Displaced the suspects that made room for hotter ones. Reconciled
	// counts the keys whose sum alone was compared with that of Redis, FullPushes
	// those that Redis asked to have in full, Refused the pushes of which Redis
	// refused slots.
	HeldBack   uint64 `json:"held_back"`
	Displaced  uint64 `json:"displaced"`
	Reconciled uint64 `json:"reconciled"`
	FullPushes uint64 `json:"full_pushes_requested"`
	Refused    uint64 `json:"refused_slots"`

	// Published counts blocks and unblocks that the fleet took from this node,
	// Received those that changed this node's list, Rejected those that it
	// refused, Syncs the times that the fleet's whole list was read, Joins how
	// often the fleet was joined.
	Published uint64 `json:"published"`
	Received  uint64 `json:"received"`
	Rejected  uint64 `json:"rejected"`
	// Kept counts how often a block stayed with this node alone, since the
	// fleet's list had no room for it; Records is how many that has.
	Kept    uint64 `json:"kept"`
	Records int    `json:"records"`
	Syncs   uint64 `json:"syncs"`
	Joins   uint64 `json:"joins"`
	// Held are the blocks of other nodes that wait for an operator's word, Came
	// those that ever did. Of these Confirmed had their word, and of Proven the
	// node found the same by itself; Released went in when there was room for
	// them. NotRecorded were held and found no room to
	// be kept in: they come with the next sync.
	Held        int    `json:"held"`
	Came        uint64 `json:"held_ever"`
	Confirmed   uint64 `json:"held_confirmed"`
	Proven      uint64 `json:"held_proven"`
	Released    uint64 `json:"held_released"`
	NotRecorded uint64 `json:"held_not_recorded"`
	// FanOut is how long the newest block of another node was on its way, by the
	// two nodes' clocks; FanOutMost the longest of the last minutes, or of the
	// time since it was last asked for, if that is longer. Both are 0 before
	// the first.
	FanOut     float64 `json:"fanout_seconds"`
	FanOutMost float64 `json:"fanout_most_seconds"`

	// Ahead is how far this node's clock is ahead of Redis'; the truth lies
	// Within so much of it.
	Ahead  float64 `json:"clock_ahead_seconds"`
	Within float64 `json:"clock_within_seconds"`

	// Errors are counted by what was tried, such as "push" or "stream".
	Errors map[string]uint64 `json:"errors,omitempty"`

	formerFleet
}

// FleetNode is what a node of the fleet last said of itself.
type FleetNode struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Boot tells two runs of one name apart.
	Boot    string    `json:"boot"`
	Started time.Time `json:"started"`
	// LastSeen is when it said this, by Redis' clock; Alive that it is among those
	// that were seen in the last ten seconds.
	LastSeen time.Time `json:"last_seen"`
	Alive    bool      `json:"alive"`
	Monitor  bool      `json:"monitor,omitempty"`
	// Ahead and PushLag are its own, as in Fleet.
	Ahead   float64 `json:"clock_ahead_seconds"`
	PushLag float64 `json:"push_lag_seconds"`
	// List is the version of the fleet's list of blocks that it has read, Digest
	// what it made of it: nodes of one version and digest agree.
	List   int64  `json:"list_version"`
	Digest string `json:"digest,omitempty"`

	formerNode
}

// FleetDetail is how a node stands in its fleet, and the fleet's nodes as it
// last heard of them.
type FleetDetail struct {
	Fleet
	// Nodes are in the order of their names. One that is gone is remembered for
	// an hour.
	Nodes []FleetNode `json:"nodes"`
}

// getFleet says how the node stands in its fleet.
func (s *reads) getFleet(w http.ResponseWriter, _ *http.Request) *Problem {
	fleet := s.reader.Stats().Fleet
	if fleet == nil {
		return problem(http.StatusNotFound, "", "this node is not in a fleet", "set fleet.redis in the config")
	}
	detail := FleetDetail{Fleet: *fleet, Nodes: append([]FleetNode{}, s.reader.FleetNodes()...)}
	detail.BothNames()
	sendJSON(w, http.StatusOK, detail)
	return nil
}
