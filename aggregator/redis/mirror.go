package redis

import (
	"sync"

	"edgeguard/aggregator"
)

// mirror is the fleet's list as this node has read it, and its version. It is
// safe for concurrent use.
type mirror struct {
	mu      sync.Mutex // guards the fields below
	ledger  *aggregator.Ledger
	version int64
}

// begin starts a full read of the list at this version or later.
func (m *mirror) begin(changes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Begin()
	m.version = changes
}

// apply adds a record that the full read found; end ends the read.
func (m *mirror) apply(prefix, record string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Apply(prefix, record)
}

func (m *mirror) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.End()
}

// follow applies the change that made this version of the list: a record, or,
// if gone, its eviction. It returns false and changes nothing if an earlier
// change is missing.
func (m *mirror) follow(prefix, record string, gone bool, version int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version != m.version+1 {
		return false
	}
	if gone {
		m.ledger.Drop(prefix)
	} else {
		m.ledger.Apply(prefix, record)
	}
	m.version = version
	return true
}

// len returns how many records the fleet's list has.
func (m *mirror) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Len()
}

// missing reports whether the fleet may lack this record of the prefix and a
// greater one.
func (m *mirror) missing(prefix, record string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Missing(prefix, record)
}

// digest drops what ended by the second cutoff, as the fleet has, and returns
// the digest of the rest and its version.
func (m *mirror) digest(cutoff int64) (string, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Digest(cutoff), m.version
}
