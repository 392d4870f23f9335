package aggregator

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"edgeguard/ring"
)

// Kept is how many slots a ring in Redis keeps: a window, and the eight slots
// by which a push may be late and still miss no peak.
const Kept = ring.Slots + 8

// Push is what one node has to say of one key.
type Push struct {
	Key Key
	// Width is the slot in seconds, First the epoch slot of Counts[0]; the last
	// of Counts is the node's current slot, the head.
	Width, First uint32
	// Sum is the node's count over all slots it may push that are in the window
	// which ends at the head.
	Sum uint32
	// Counts are this node's, absolute: 1 to 60 slots.
	Counts []uint16
	// Whole says that Counts are all that Sum counts.
	Full bool

	// head is the local slot of Head.
	head uint32
	// sent numbers the pushes of a node.
	sent uint32
}

// Head is the newest slot of the push: the node's when it was made.
func (p *Push) Head() uint32 { return p.First + uint32(len(p.Counts)) - 1 }

// IsOffer reports whether the push changes nothing, since its one slot is empty:
// it only asks whether Redis holds as much as Sum. See [Totals.Offer].
func (p *Push) IsReconcile() bool { return len(p.Counts) == 1 && p.Counts[0] == 0 }

// NodeID is what a node's counts are filed under in Redis: the hash of its name
// and boot, 8 bytes.
func NodeID(name, boot string) [8]byte {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], xxhash.Sum64String(name+"\x00"+boot))
	return id
}

// The sizes of the wire forms in bytes; a body has two bytes more a slot.
const (
	HeaderSize = 8 + 8 + 4
	bodySize   = 4 + 4
	AnswerSize = 1 + 4 + 4 + 4
)

// Header is what one call of the push function says of all its keys.
type Header struct {
	Node  [8]byte // see NodeID
	Now   int64   // the node's epoch time in unix milliseconds
	Width uint32  // the slot in seconds
}

// NewHeader is the header of pushes made at the epoch's time now.
func NewHeader(node [8]byte, now time.Time, width uint32) Header {
	return Header{Node: node, Now: now.UnixMilli(), Width: width}
}

// Append adds the header's wire form to b: node (8), now (8) and width (4), all
// big-endian.
func (h Header) Append(b []byte) []byte {
	b = append(b, h.Node[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Now))
	return binary.BigEndian.AppendUint32(b, h.Width)
}

// ParseHeader reads what [Header.Append] wrote.
func ParseHeader(b []byte) (Header, error) {
	var h Header
	if len(b) != HeaderSize {
		return h, fmt.Errorf("header of %d bytes: not %d", len(b), HeaderSize)
	}
	copy(h.Node[:], b)
	h.Now = int64(binary.BigEndian.Uint64(b[8:]))
	h.Width = binary.BigEndian.Uint32(b[16:])
	if h.Width == 0 || h.Now < 0 {
		return h, fmt.Errorf("header %x: width %d, now %d", b, h.Width, h.Now)
	}
	return h, nil
}

// AppendBody adds the push's wire form to b: first slot (4), sum (4) and counts
// (2 each), all big-endian. Key and width go beside it.
func (p *Push) AppendBody(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, p.First)
	b = binary.BigEndian.AppendUint32(b, p.Sum)
	for _, n := range p.Counts {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

// ParseBody reads what [Push.AppendBody] wrote.
func ParseBody(b []byte) (Push, error) {
	var p Push
	n := (len(b) - bodySize) / 2
	if n < 1 || n > ring.Slots || len(b) != bodySize+2*n {
		return p, fmt.Errorf("body of %d bytes: not 1 to %d slots", len(b), ring.Slots)
	}
	p.First = binary.BigEndian.Uint32(b)
	p.Sum = binary.BigEndian.Uint32(b[4:])
	if p.First+uint32(n)-1 < p.First {
		return p, fmt.Errorf("body from slot %d: runs past the last slot", p.First)
	}
	p.Counts = make([]uint16, n)
	for i := range p.Counts {
		p.Counts[i] = binary.BigEndian.Uint16(b[bodySize+2*i:])
	}
	return p, nil
}
