package aggregator

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"

	"edgeguard/ring"
)

// Kept is how many slots a ring in Redis keeps: a window, and the eight slots
// by which a push may be late without missing a peak.
const Kept = ring.Slots + 8

// Push is what one node reports of one key.
type Push struct {
	Key Key
	// Width is the slot in seconds, First the epoch slot of Counts[0]; the last
	// of Counts is the node's current slot, the head.
	Width, First uint32
	// Sum is the node's count over all slots it may push in the window that
	// ends at the head.
	Sum uint32
	// Counts are this node's, absolute: 1 to 60 slots.
	Counts []uint16
	// Full says that Counts has every slot that Sum counts.
	Full bool

	// head is the local slot of Head.
	head uint32
	// sent numbers the pushes of a node.
	sent uint32
	// base is that of the suspect once this push is answered.
	base base
	// added is what Redis lacks of it at most.
	added uint32
}

// NewestSlot returns the newest slot of the push: the node's when it was made.
func (p *Push) NewestSlot() uint32 { return p.First + uint32(len(p.Counts)) - 1 }

// IsReconcile reports whether the push changes nothing, since its one slot is
// empty: it only asks whether Redis stores as much as Sum. See
// [Totals.Reconcile].
func (p *Push) IsReconcile() bool { return len(p.Counts) == 1 && p.Counts[0] == 0 }

// crosses reports whether it may be this push that brought a peak over the limit: so
// of many nodes whose answers are over the limit few say so, and mostly one.
func (p *Push) crosses(peak, limit uint32) bool {
	return peak > limit && peak-min(peak, p.added) <= limit
}

// NodeID returns the name under which Redis files a node's counts: the hash of
// its name and boot, 8 bytes.
func NodeID(name, boot string) [8]byte {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], xxhash.Sum64String(name+"\x00"+boot))
	return id
}

// The sizes of the wire forms in bytes. A body also has two bytes a slot.
const (
	HeaderSize = 8 + 8 + 4
	BodySize   = 4 + 4 // without its slots
	AnswerSize = 1 + 4 + 4 + 4
)

// Header is the part of a push call that applies to all its keys.
type Header struct {
	Node  [8]byte // see NodeID
	Now   int64   // the node's epoch time in unix milliseconds
	Width uint32  // the slot in seconds
}

// NewHeader returns the header of pushes made at the epoch's time now.
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
