package redis

import (
	"sync"

	"edgeguard/aggregator"
)

// mirror is the fleet's list as this node has read it, and the version that it
// has come to. Safe for concurrent use.
type mirror struct {
	mu      sync.Mutex
	ledger  *aggregator.Ledger
	version int64
}

// begin starts a full read of what stood at the version changes or came since.
func (m *mirror) begin(changes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Begin()
	m.version = changes
}

// apply takes in a record that the full read found, end ends it.
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

// follow takes in the change that made the list's version: a record, or that
// it made room for another. It reports false, and changes nothing, where a
// change before it is missing.
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

// len is how many records the fleet's list has.
func (m *mirror) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Len()
}

// missing reports that the fleet may not have this record of the prefix, nor a
// greater one.
func (m *mirror) missing(prefix, record string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Missing(prefix, record)
}

// digest forgets what ended by the second cutoff, as the fleet has, and gives
// the digest of the rest and the version that it is of.
func (m *mirror) digest(cutoff int64) (string, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Digest(cutoff), m.version
}
