package aggregator

import (
	"encoding/binary"
	"fmt"
)

// The bits of an answer's status.
const (
	// StatusSendFull: Redis stores less of the node than it claims; the node
	// should push all slots.
	StatusSendFull = 1 << iota
	// StatusRefused: some slots were in the future or too old, and were not
	// counted.
	StatusRefused
	// StatusCleared: slots below ClearedBefore, which is in the window, were
	// forgotten; the node should forget its own.
	StatusCleared
	// StatusMore: Redis stores more of the node than it claims. Either the push
	// was overtaken by a later one, or somebody else counted in its name.
	StatusMore
)

// Answer is Redis' answer to one push.
type Answer struct {
	Status uint8
	// Peak is the greatest fleet total of any window that ends between the
	// oldest pushed slot and the fleet's head.
	Peak uint32
	// Total is the fleet's count in the window that ends at the push's head.
	Total uint32
	// ClearedBefore is the slot below which nothing is counted; 0 if there is
	// none.
	ClearedBefore uint32
}

// Append adds the answer's wire form to b: status (1 byte), peak, total,
// cleared before (4 each), big-endian.
func (a Answer) Append(b []byte) []byte {
	b = append(b, a.Status)
	b = binary.BigEndian.AppendUint32(b, a.Peak)
	b = binary.BigEndian.AppendUint32(b, a.Total)
	return binary.BigEndian.AppendUint32(b, a.ClearedBefore)
}

// DecodeAnswers reads the answers to n pushes.
func DecodeAnswers(s string, n int) ([]Answer, error) {
	if len(s) != n*AnswerSize {
		return nil, fmt.Errorf("%d bytes in answer to %d pushes: not %d", len(s), n, n*AnswerSize)
	}
	out := make([]Answer, n)
	for i := range out {
		b := []byte(s[i*AnswerSize : (i+1)*AnswerSize])
		out[i] = Answer{
			Status:        b[0],
			Peak:          binary.BigEndian.Uint32(b[1:]),
			Total:         binary.BigEndian.Uint32(b[5:]),
			ClearedBefore: binary.BigEndian.Uint32(b[9:]),
		}
	}
	return out, nil
}
