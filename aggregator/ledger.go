package aggregator

import (
	"cmp"
	"fmt"
)

// Ledger holds which block records Redis has; a heartbeat's digest is compared
// with it. It remembers hashes, not the records, and includes records that the
// node refused, since Redis' digest does. It is not safe for concurrent use.
// Make one with [NewLedger].
type Ledger struct {
	entries map[string]ledgerEntry // by prefix, as written in Redis
	round   uint32
}

type ledgerEntry struct {
	hash  uint64
	end   int64
	order [recordOrder]byte // version, allow, until and lifted, which nearly always decide
	round uint32
}

// orderOf returns the fields that decide first between two records. It is zero
// for an invalid record, so that every valid one is greater: garbage must not
// keep a block out.
func orderOf(prefix, record string) (order [recordOrder]byte) {
	if _, err := DecodeRecord(prefix, record); err == nil {
		copy(order[:], record[1:])
	}
	return order
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger { return &Ledger{entries: make(map[string]ledgerEntry)} }

// Len returns how many records there are.
func (l *Ledger) Len() int { return len(l.entries) }

// Apply records that Redis has this record of the prefix: it was read there, or
// Redis answered that it accepted it.
func (l *Ledger) Apply(prefix, record string) {
	l.entries[prefix] = ledgerEntry{
		hash:  RecordHash(prefix, record),
		end:   RecordEnd(record),
		order: orderOf(prefix, record),
		round: l.round,
	}
}

// Drop records that Redis no longer has a record of the prefix.
func (l *Ledger) Drop(prefix string) { delete(l.entries, prefix) }

// Begin starts a full read of Redis; [Ledger.End] ends it.
func (l *Ledger) Begin() { l.round++ }

// End drops the records that were not applied since [Ledger.Begin], and returns
// how many: Redis has lost them.
func (l *Ledger) End() (dropped int) {
	for p, e := range l.entries {
		if e.round != l.round {
			delete(l.entries, p)
			dropped++
		}
	}
	return dropped
}

// Digest returns what a heartbeat's digest must be if the ledger is right, and
// drops the records that ended by the unix second cutoff, which Redis has
// removed. It takes time in proportion to the records.
func (l *Ledger) Digest(cutoff int64) string {
	var all uint64
	for p, e := range l.entries {
		if e.end <= cutoff {
			delete(l.entries, p)
			continue
		}
		all ^= e.hash
	}
	return fmt.Sprintf("%016x", all)
}

// Missing reports whether Redis may lack this record of the prefix and a
// greater one, so that it should be published. It may be true for a record that
// is lower in its last fields only; Redis then keeps what it has.
func (l *Ledger) Missing(prefix, record string) bool {
	e, ok := l.entries[prefix]
	if !ok {
		return true
	}
	order := orderOf(prefix, record)
	return e.hash != RecordHash(prefix, record) && cmp.Compare(string(order[:]), string(e.order[:])) >= 0
}
