package haproxy

import "time"

// The figures of the connections between a node and its HAProxies, as the API and the metrics
// have them.

// ListenerFigures is one listener for HAProxies. The counters count up from when it began to
// listen.
type ListenerFigures struct {
	Address string `json:"address"`
	Count   bool   `json:"count"`   // requests are counted from HAProxy's tables
	Enforce bool   `json:"enforce"` // blocks are taught to HAProxy
	// HAProxies are those that are connected.
	HAProxies []LinkFigures `json:"haproxies"`
	// Strangers are connections of other users or without a certificate, and Refused
	// those with a wrong hello or beyond the bound.
	Strangers uint64 `json:"strangers"`
	Refused   uint64 `json:"refused"`
	// Updates are the entries that HAProxies sent, Counted the steps of counters that
	// were counted, Uncounted those that were not, because they are of other rules or too
	// old for theirs, and Late the requests that were too old for a rule.
	Updates   uint64 `json:"updates"`
	Counted   uint64 `json:"counted"`
	Uncounted uint64 `json:"uncounted"`
	Late      uint64 `json:"late"`
	// Requests are those that made what was Counted. Where no rule counts each request they
	// are the least: a request may be a step of several counters, so that of each entry the
	// counter with the most steps is taken. LastCounted is when something was counted last.
	Requests    uint64    `json:"requests"`
	LastCounted time.Time `json:"last_counted,omitzero"`
	// Taught are the entries that HAProxies were sent.
	Taught uint64 `json:"taught"`
}

// LinkFigures is one that is connected.
type LinkFigures struct {
	Name  string    `json:"name"` // its localpeer
	PID   int       `json:"pid"`  // of the HAProxy process
	Since time.Time `json:"since"`
	Last  time.Time `json:"last_message"` // when the last message came
	// Learned says that its tables as they were when it connected are known.
	Learned bool `json:"learned"`
	// Wrong is what keeps its tables from being used.
	Wrong     []string `json:"wrong,omitempty"`
	Updates   uint64   `json:"updates"` // entries that came
	Counted   uint64   `json:"counted"`
	Uncounted uint64   `json:"uncounted"`
	Late      uint64   `json:"late"`
	Requests  uint64   `json:"requests"`
	Taught    uint64   `json:"taught"`
	// LastCounted is when something was counted last.
	LastCounted time.Time `json:"last_counted,omitzero"`
}
