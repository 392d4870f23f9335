package fleet

import (
	"net/netip"
	"sync"
	"time"

	"edgeguard/aggregator"
)

// Mirror is the fleet's list and its version. It is safe for concurrent use. Make
// one with [NewMirror].
type Mirror struct {
	mu      sync.Mutex // guards the fields below
	ledger  *aggregator.Ledger
	version int64
	merging bool
	pace    AcceptPace
}

// NewMirror returns the mirror of an empty list.
func NewMirror() *Mirror { return &Mirror{ledger: aggregator.NewLedger()} }

// Begin starts a full read of the list at this version or later; End ends it.
func (m *Mirror) Begin(version int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Begin()
	m.version, m.merging = version, true
}

// Apply adds a record that was read.
func (m *Mirror) Apply(prefix, record string, j aggregator.Judged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.Apply(prefix, record, j)
}

// DropUnread drops the records that the full read has not found.
func (m *Mirror) DropUnread() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledger.DropUnapplied()
	m.merging = false
}

// Follow applies the change that made this version of the list: a record, or,
// if gone, its removal. It returns false and changes nothing if an earlier
// change is missing.
func (m *Mirror) Follow(prefix, record string, j aggregator.Judged, gone bool, version int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version != m.version+1 {
		return false
	}
	if gone {
		m.ledger.DropRecord(prefix)
	} else {
		m.ledger.Apply(prefix, record, j)
	}
	m.version, m.merging = version, true
	return true
}

// Merged says that the node has merged the change that [Mirror.Follow] applied.
func (m *Mirror) Merged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.merging = false
}

// Merging reports whether the node has still to merge something of this version:
// during a full read, and between [Mirror.Follow] and [Mirror.Merged].
func (m *Mirror) Merging() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.merging
}

// Len returns how many records the fleet's list has.
func (m *Mirror) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Len()
}

// HasRecord reports whether it has a record of a prefix.
func (m *Mirror) HasRecord(prefix string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.HasRecord(prefix)
}

// Unsigned returns how many of them are not signed.
func (m *Mirror) Unsigned() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Unsigned()
}

// Newer returns how many of them are of a later version.
func (m *Mirror) Newer() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Newer()
}

// Missing reports whether the fleet may lack this record of the prefix and a
// greater one, or its MAC, which is "" for a record without.
func (m *Mirror) Missing(prefix, record, mac string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Missing(prefix, record, mac != "")
}

// Ahead returns by how much a record of a block ends after the fleet's of the same
// version; false if the fleet has none, or lacks its MAC, which is "" for a record without.
func (m *Mirror) Ahead(prefix, record, mac string) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Ahead(prefix, record, mac != "")
}

// Lifts reports whether the list has an unblock of a prefix that overlaps this
// one.
func (m *Mirror) Lifts(prefix netip.Prefix) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Lifts(prefix)
}

// DueReplacements returns the prefixes whose wrong record may be replaced now, and since
// when that was tried. It counts as a try.
func (m *Mirror) DueReplacements(now time.Time) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := map[string]time.Time{}
	m.ledger.Wrong(func(prefix string) bool {
		if since, ok := m.pace.MayReplace(prefix, now); ok {
			due[prefix] = since
		}
		return true
	})
	return due
}

// Digest drops what ended by the second cutoff, as the fleet has, and returns
// the digest of the rest and its version.
func (m *Mirror) Digest(cutoff int64) (string, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ledger.Digest(cutoff), m.version
}
