package edgeguard

import "strconv"

// BatchID marks the records that one change of many made, as an import does, so that they can be
// taken back together. It is a random number, which people see as its text; 0 is none.
type BatchID uint32

// ParseBatchID reads what String returns. ok is false for other text, and for none.
func ParseBatchID(text string) (b BatchID, ok bool) {
	n, err := strconv.ParseUint(text, 36, 32)
	return BatchID(n), err == nil && n > 0 && BatchID(n).String() == text
}

// String returns the name of the batch, at most seven letters and digits, or nothing for none.
func (b BatchID) String() string {
	if b == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(b), 36)
}

// MarshalText implements [encoding.TextMarshaler].
func (b BatchID) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. Text that names no batch is none.
func (b *BatchID) UnmarshalText(text []byte) error {
	*b, _ = ParseBatchID(string(text))
	return nil
}

// Marked returns the number that stands where a record's count does in a form that has no room of
// its own for the batch, as what other nodes read: a record has a batch only if no count made it.
func (b *Block) Marked() uint32 { return max(b.Count, uint32(b.Batch)) }

// Unmark takes apart what Marked returned: without a limit, no count made the record.
func (b *Block) Unmark(n, limit uint32) {
	if b.Limit = limit; limit == 0 {
		b.Batch = BatchID(n)
	} else {
		b.Count = n
	}
}
