package aggregator

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// Ledger holds which block records Redis has; a heartbeat's digest is compared
// with it. It remembers hashes, not the records, and includes records that the
// node refused, since Redis' digest does. It is not safe for concurrent use.
// Make one with [NewLedger].
type Ledger struct {
	entries  map[string]ledgerEntry // by prefix, as written in Redis
	round    uint32
	wrong    int // entries that are wrong
	unsigned int // entries that are not signed
	newer    int // entries of a later version
}

type ledgerEntry struct {
	hash   uint64
	end    int64
	order  [recordOrder]byte // version, allow, until and lifted, which nearly always decide
	judged Judged
	round  uint32
}

// Judged is what a node makes of a record that Redis has.
type Judged struct {
	Wrong  bool // every node rejects it: [ErrWrong]
	Signed bool // it has a MAC by one of the fleet's keys
	Newer  bool // a later version made it: [ErrNewer]
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

// HasRecord reports whether there is a record of a prefix.
func (l *Ledger) HasRecord(prefix string) bool {
	_, ok := l.entries[prefix]
	return ok
}

// Unsigned returns how many records are not signed.
func (l *Ledger) Unsigned() int { return l.unsigned }

// Newer returns how many records are of a later version.
func (l *Ledger) Newer() int { return l.newer }

// Apply records that Redis has this record of the prefix: it was read there, or
// Redis answered that it accepted it.
func (l *Ledger) Apply(prefix, record string, j Judged) {
	l.DropRecord(prefix)
	l.count(j, 1)
	l.entries[prefix] = ledgerEntry{
		hash:   RecordHash(prefix, record),
		end:    RecordEnd(record),
		order:  orderOf(prefix, record),
		judged: j,
		round:  l.round,
	}
}

// DropRecord records that Redis no longer has a record of the prefix.
func (l *Ledger) DropRecord(prefix string) {
	if e, ok := l.entries[prefix]; ok {
		l.count(e.judged, -1)
		delete(l.entries, prefix)
	}
}

func (l *Ledger) count(j Judged, n int) {
	if j.Wrong {
		l.wrong += n
	}
	if !j.Signed {
		l.unsigned += n
	}
	if j.Newer {
		l.newer += n
	}
}

// Wrong calls yield with the prefixes of the records that are wrong, in a random
// order, until it returns false.
func (l *Ledger) Wrong(yield func(prefix string) bool) {
	if l.wrong == 0 {
		return
	}
	for p, e := range l.entries {
		if e.judged.Wrong && !yield(p) {
			return
		}
	}
}

// Lifts reports whether there is an unblock of a prefix that overlaps this one.
// Those that every node rejects are no unblocks. It takes time in proportion to
// the records.
func (l *Ledger) Lifts(prefix netip.Prefix) bool {
	for text, e := range l.entries {
		if e.order[recordOrder-1] == 1 && e.order[8] == 0 && !e.judged.Wrong {
			if p, err := netip.ParsePrefix(text); err == nil && p.Overlaps(prefix) {
				return true
			}
		}
	}
	return false
}

// Begin starts a full read of Redis; [Ledger.DropUnapplied] ends it.
func (l *Ledger) Begin() { l.round++ }

// DropUnapplied drops the records that were not applied since [Ledger.Begin], and returns
// how many: Redis has lost them.
func (l *Ledger) DropUnapplied() (dropped int) {
	for p, e := range l.entries {
		if e.round != l.round {
			l.DropRecord(p)
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
			l.DropRecord(p)
			continue
		}
		all ^= e.hash
	}
	return fmt.Sprintf("%016x", all)
}

// Ahead returns by how much a record of a block ends after the one that Redis has of the
// same version, in force as well; false if it has none, or has no MAC where sign says that
// this one would have one.
func (l *Ledger) Ahead(prefix, record string, sign bool) (time.Duration, bool) {
	e, ok := l.entries[prefix]
	order := orderOf(prefix, record)
	if !ok || e.judged.Wrong || sign && !e.judged.Signed || order[8] == 1 || order[recordOrder-1] == 1 ||
		string(order[:9]) != string(e.order[:9]) || e.order[recordOrder-1] == 1 {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint64(order[9:]) - binary.BigEndian.Uint64(e.order[9:])), true
}

// Missing reports whether Redis may lack this record of the prefix and a
// greater one, so that it should be published; sign says that it would be
// published with a MAC, which Redis may lack alone. It may be true for a record
// that is lower in its last fields only; Redis then keeps what it has.
func (l *Ledger) Missing(prefix, record string, sign bool) bool {
	e, ok := l.entries[prefix]
	switch {
	case !ok:
		return true
	case e.hash == RecordHash(prefix, record):
		return sign && !e.judged.Signed
	}
	order := orderOf(prefix, record)
	return cmp.Compare(string(order[:]), string(e.order[:])) >= 0
}
