package aggregator

import (
	"cmp"
	"fmt"
)

// Ledger is the block records known to stand in Redis: what the digest of a
// heartbeat is compared with. It remembers their hashes, not the records, and
// keeps those that the node refused, too, since Redis' digest has them. It is
// not safe for concurrent use: the fan-out's one goroutine owns it. Make one
// with [NewLedger].
type Ledger struct {
	entries map[string]ledgerEntry // by prefix, as written in Redis
	round   uint32
}

type ledgerEntry struct {
	hash  uint64
	end   int64
	order [recordOrder]byte // version, allow, until and lifted: what nearly always decides
	round uint32
}

// orderOf cuts out what decides first between two records. Every record is
// greater than what is none: that must not stand for a block.
func orderOf(prefix, record string) (order [recordOrder]byte) {
	if _, err := DecodeRecord(prefix, record); err == nil {
		copy(order[:], record[1:])
	}
	return order
}

// NewLedger is an empty ledger.
func NewLedger() *Ledger { return &Ledger{entries: make(map[string]ledgerEntry)} }

// Len is how many records there are.
func (l *Ledger) Len() int { return len(l.entries) }

// Apply notes that Redis has this record of the prefix: it was read there, or
// Redis answered that it was taken.
func (l *Ledger) Apply(prefix, record string) {
	l.entries[prefix] = ledgerEntry{
		hash:  RecordHash(prefix, record),
		end:   RecordEnd(record),
		order: orderOf(prefix, record),
		round: l.round,
	}
}

// Drop notes that Redis has no record of the prefix any more.
func (l *Ledger) Drop(prefix string) { delete(l.entries, prefix) }

// Begin starts a full reading of Redis; [Ledger.End] ends it.
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

// Digest is what a heartbeat's digest must be if the ledger is right, and
// forgets the records that ended by the unix second cutoff: those that Redis
// has removed. It takes time in proportion to the records.
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

// Missing reports whether Redis may not have this record of the prefix, nor a
// greater one, so that it should be published. It may say so of one that is
// less by its last fields only; Redis then stands by what it has.
func (l *Ledger) Missing(prefix, record string) bool {
	e, ok := l.entries[prefix]
	if !ok {
		return true
	}
	order := orderOf(prefix, record)
	return e.hash != RecordHash(prefix, record) && cmp.Compare(string(order[:]), string(e.order[:])) >= 0
}
