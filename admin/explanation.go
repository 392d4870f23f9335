package admin

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// Explanation is why an address is blocked, or how near it is.
type Explanation struct {
	Address netip.Addr `json:"address"`
	Time    time.Time  `json:"time"`
	// Standing is "none", "allowed", "protected" or "blocked".
	Standing string `json:"standing"`
	// Because is why an address is allowed or protected, such as
	// "interface eth0" or "allowance of 192.0.2.0/24, made on edge-1: office".
	Because string `json:"because,omitempty"`
	// Block is the one in force.
	Block *ActiveBlock `json:"block,omitempty"`
	// Rules has an entry for each rule in the order of the config.
	Rules []RuleCount `json:"rules"`
	// History is the changes of blocks and allowances that hold the address, the
	// newest first, as far back as the node's memory of events goes.
	History []Event `json:"history"`
}

// KeyExplanation is how near a key without an address is to its limit.
type KeyExplanation struct {
	Time time.Time `json:"time"`
	Rule RuleCount `json:"rule"`
	// Crossings are the newest, the newest first.
	Crossings []Event `json:"crossings"`
}

// RuleCount is what an address counts for one rule.
type RuleCount struct {
	Rule   string           `json:"rule"`
	Action edgeguard.Action `json:"-"`
	Does   string           `json:"action"` // Action in words; set by this package
	// Asked says that the rule counts answers, and denies requests that meet its terms but the
	// status where a proxy asks about them.
	Asked bool `json:"asked,omitempty"`
	// Key is what is counted together. Keys is how many keys of it there are,
	// where attributes tell several apart: Count is then that of the greatest.
	Key  string `json:"key"`
	Keys int    `json:"keys,omitempty"`
	// Scope is whose counts the limit is for, "fleet" or "node"; empty on a node
	// alone. Count is this node's in either case, and Fleet what all nodes count.
	Scope string      `json:"scope,omitempty"`
	Fleet *FleetCount `json:"fleet,omitempty"`
	// Count is in the window that ends now; it is over when it is above Limit.
	Count     uint32        `json:"count"`
	Limit     uint32        `json:"limit"`
	Threshold uint32        `json:"threshold"`
	Learned   *Learned      `json:"learned,omitempty"` // as of Rule
	Unit      words.Measure `json:"unit,omitzero"`
	Distinct  string        `json:"distinct,omitempty"` // the field whose different values Count is about
	// Forgeable says that this is a count of evidence that a stranger can
	// forge: it raises alarms and blocks no address.
	Forgeable bool `json:"forgeable,omitempty"`
	// Window is the span in seconds; Slots its sixty parts, the oldest first.
	Window int      `json:"window_seconds"`
	Slots  []uint16 `json:"slots,omitempty"`
	// Under is how many seconds it takes until the count is at or under the
	// limit if nothing more comes; 0 if it is.
	Under      int              `json:"under_limit_in_seconds"`
	Candidates []CandidateCount `json:"candidates,omitempty"`
	// Wide is what the IPv6 networks around the key count on this node, the
	// smallest first; empty for IPv4, and for rules that count none.
	Wide []WideCount `json:"wide,omitempty"`
	// Blocks is how many blocks an escalating rule remembers, and Next how long
	// the next would last, in seconds; 0 for a rule that does not block.
	Blocks int `json:"blocks_before,omitempty"`
	Next   int `json:"next_block_seconds,omitempty"`
}

// WideCount is what an IPv6 network counts for a rule.
type WideCount struct {
	Prefix netip.Prefix `json:"prefix"`
	// Count adds up the keys, each up to the rule's limit. Limit is the rule's
	// limit times Times.
	Count uint32 `json:"count"`
	Limit uint32 `json:"limit"`
	Times uint32 `json:"times"`
	// Action is what is done then: "block", "deny", "shadow" or "report".
	Action string `json:"action"`
}

// CandidateCount is how a count compares with another threshold.
type CandidateCount struct {
	Threshold uint32 `json:"threshold"`
	Limit     uint32 `json:"limit"`
	Over      bool   `json:"over"`
}
