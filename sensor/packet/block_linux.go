package packet

import (
	"encoding/binary"
	"errors"
)

// Where the kernel writes into a block of a ring (TPACKET_V3): the block's header, and that
// of each packet with the address behind it (struct sockaddr_ll), which says which way it goes.
const (
	blockStatus = 8
	blockCount  = 12
	blockFirst  = 16

	frameHeader = 48
	frameWay    = frameHeader + 10
	frameLeast  = frameHeader + 20
)

// outgoing is the type of a packet that this host sends.
const outgoing = 4

var errBlock = errors.New("the kernel's ring is not as it should be")

// block is a filled block, of which left packets are not taken yet, the next at a place.
type block struct {
	data     []byte
	left, at uint32
}

func openBlock(data []byte) block {
	return block{data, binary.NativeEndian.Uint32(data[blockCount:]), binary.NativeEndian.Uint32(data[blockFirst:])}
}

// take takes the next packet. There is one.
func (b *block) take(r *record) error {
	if uint64(b.at)+frameLeast > uint64(len(b.data)) {
		return errBlock
	}
	h := b.data[b.at:]
	from := uint64(binary.NativeEndian.Uint16(h[24:]))
	to := from + uint64(binary.NativeEndian.Uint32(h[12:]))
	if to > uint64(len(h)) {
		return errBlock
	}
	r.sec, r.nsec, r.timed = int64(binary.NativeEndian.Uint32(h[4:])), int64(binary.NativeEndian.Uint32(h[8:])), true
	if r.way = wayIn; h[frameWay] == outgoing {
		r.way = wayOut
	}
	r.data = h[from:to]
	b.left--
	b.at += binary.NativeEndian.Uint32(h) // beyond the block is found by the next
	return nil
}
