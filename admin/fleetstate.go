package admin

import (
	"net/netip"
	"time"

	"edgeguard/admin/watch"
)

// Fleet is the state of a node in its fleet, and its counters since the fleet's
// part of the config was last changed. Spans are in seconds.
type Fleet struct {
	Namespace string `json:"namespace"`          // what the keys in Redis begin with
	KeyMode   string `json:"key_mode,omitempty"` // "accept" or "require"; empty without a key
	// Up is false while the node is cut off and decides alone, or cannot push all
	// of its counts. Trouble is the reason in one word, Fix a sentence that ends
	// with what to do, Since when it began.
	Up      bool      `json:"up"`
	Trouble string    `json:"trouble,omitempty"`
	Fix     string    `json:"fix,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// LastError is the text of the newest error, also after it has ended.
	LastError string `json:"last_error,omitempty"`
	// Alive is how many nodes sent a heartbeat lately, this one included; 0
	// before the first.
	Alive int `json:"nodes_alive"`
	// Monitors are those of them in mode monitor, OtherRules those of this node's version whose
	// rules are not the same as here, by name.
	Monitors   []string `json:"nodes_in_monitor,omitempty"`
	OtherRules []string `json:"nodes_with_other_rules,omitempty"`

	// PushLag is the age of the newest round of pushes that was answered
	// completely; 0 before the first. Rounds made Calls, which carried Pushed keys.
	PushLag float64 `json:"push_lag_seconds"`
	Rounds  uint64  `json:"rounds"`
	Calls   uint64  `json:"calls"`
	Pushed  uint64  `json:"keys_pushed"`
	// Delayed counts watched keys that arrived faster than they could be pushed at
	// once, and went with the next round.
	Delayed uint64 `json:"keys_delayed"`

	// Quiet: only keys with a share of a limit are pushed.
	Quiet bool `json:"quiet"`
	// Suspects are the keys that this node pushes now. Watched is how many of
	// these a node asked all others to push.
	Suspects int `json:"suspects"`
	Watched  int `json:"watched"`
	// HeldBack counts events of keys that had no room among the suspects,
	// Displaced the suspects evicted for keys of higher rank. Reconciled
	// counts the keys whose sum alone was compared with that of Redis, FullPushes
	// those that Redis requested in full, Refused the pushes with slots that
	// Redis refused.
	HeldBack   uint64 `json:"held_back"`
	Displaced  uint64 `json:"displaced"`
	Reconciled uint64 `json:"reconciled"`
	FullPushes uint64 `json:"full_pushes_requested"`
	Refused    uint64 `json:"refused_slots"`

	// Published counts blocks and unblocks that the fleet accepted from this
	// node, Received those that changed this node's list, Rejected the invalid
	// ones, Syncs the full reads of the fleet's list, Joins how often the node
	// joined the fleet.
	Published uint64 `json:"published"`
	Received  uint64 `json:"received"`
	Rejected  uint64 `json:"rejected"`
	// Unpublished is how many changes of this node's list are still to be
	// published: blocks of rules go at a bounded pace.
	Unpublished int `json:"unpublished"`
	// Staying is how many blocks of this node's rules are not sent to the others for now,
	// or for good, because this node may be broken.
	Staying int `json:"staying"`
	// Unsigned is how many records of the fleet's list are not signed by its key;
	// 0 without one. Replaced counts the rejected records in Redis that this node
	// replaced or removed.
	Unsigned int    `json:"unsigned"`
	Replaced uint64 `json:"replaced"`
	// Kept counts blocks that are in force on this node only, because the fleet's
	// list had no room; Records is the length of that list.
	Kept    uint64 `json:"kept"`
	Records int    `json:"records"`
	Syncs   uint64 `json:"syncs"`
	Joins   uint64 `json:"joins"`
	// Held are the blocks of other nodes that await confirmation now, Came all
	// that ever did. An operator confirmed Confirmed; this node's own counts
	// confirmed Proven; Released were admitted when the budget was free.
	// NotRecorded were held without a record, because there were too many: they
	// return with the next sync.
	Held        int    `json:"held"`
	Came        uint64 `json:"held_ever"`
	Confirmed   uint64 `json:"held_confirmed"`
	Proven      uint64 `json:"held_proven"`
	Released    uint64 `json:"held_released"`
	NotRecorded uint64 `json:"held_not_recorded"`
	// FanOut is the delay of the newest block of another node, by the two nodes'
	// clocks; FanOutMost the longest of the last minutes, or since it was last
	// read, if that is longer. Both are 0 before the first.
	FanOut     float64 `json:"fanout_seconds"`
	FanOutMost float64 `json:"fanout_most_seconds"`

	// Ahead is how far this node's clock is ahead of Redis'; the truth lies
	// Within so much of it.
	Ahead  float64 `json:"clock_ahead_seconds"`
	Within float64 `json:"clock_within_seconds"`

	// Errors are counted by what was tried, such as "push" or "stream".
	Errors map[string]uint64 `json:"errors,omitempty"`
}

// FleetNode is the last heartbeat of a node of the fleet.
type FleetNode struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Boot distinguishes two runs of one name.
	Boot    string    `json:"boot"`
	Started time.Time `json:"started"`
	// LastSeen is the time of the heartbeat, by the clock of Redis; Alive reports
	// whether that is at most ten seconds ago.
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
	// Differ says which of its rules are others than this node's, where the digests differ and the nodes have compared.
	Differ []string `json:"rules_differ,omitempty"`
	// Figures are null for a node that is gone, or not heard of since somebody
	// asked.
	Figures *FleetFigures `json:"figures"`
}

// FleetFigures are what a node said of its work, while somebody looked at the fleet.
type FleetFigures struct {
	// Age is how long ago it said so. Signed is false if anybody who can write to
	// Redis may have written it.
	Age    float64 `json:"age_seconds"`
	Signed bool    `json:"signed"`
	// Blocks were made on that node in the last minute, Refused is how many events a
	// second it refused, Memory the part of the memory for counts that is used, Alarms
	// how many alarms last.
	Blocks  uint32  `json:"blocks_last_minute"`
	Refused float64 `json:"refused_per_second"`
	Memory  float64 `json:"memory_share"`
	Alarms  uint16  `json:"alarms"`
	// Rules is a digest of the rules in force: nodes of one version with equal rules
	// have the same.
	Rules string `json:"rules_digest"`
	// Attacks is what it tells of its attacks, for package attack.
	Attacks string `json:"-"`
	// Spans is what it decided in the steps of spans that it was asked for, without blocks.
	Spans map[watch.Span][]watch.DayMinute `json:"-"`
}

// FleetDetail is the state of a node in its fleet, and the fleet's nodes by their
// last heartbeats.
type FleetDetail struct {
	Fleet
	// Nodes are in the order of their names. One that is gone stays for an hour.
	Nodes []FleetNode `json:"nodes"`
}

// FleetKey is a rule's key, without attributes.
type FleetKey struct {
	Rule   string
	Prefix netip.Prefix
}

// FleetCount is what all nodes of a fleet count of a key, as far as they have
// pushed it.
type FleetCount struct {
	Count uint32      `json:"count"`
	Nodes []NodeCount `json:"nodes"` // those that count most first
}

// NodeCount is one node's part of it.
type NodeCount struct {
	Node  string `json:"node"`
	Count uint32 `json:"count"`
}
