package packet

import (
	"encoding/binary"
	"math/bits"
)

// way is where a packet goes, as far as the kernel said.
type way uint8

const (
	wayUnknown way = iota
	wayIn
	wayOut
)

// record is one packet of a file, or of an interface.
type record struct {
	sec   int64 // capture time, unix
	nsec  int64
	timed bool // whether the file has a time for it
	way   way
	link  LinkType
	data  []byte // as much of the packet as was captured; holds until the next record
}

// records is a sequence of packets: a pcap, a pcapng or an interface.
type records interface {
	// next fills in the next record. Its error is io.EOF at the end, a *damage
	// where the file is not to be understood further, and otherwise the
	// input's own.
	next(*record) error
}

// order reads numbers in the byte order of a file.
type order struct{ swapped bool } // swapped: big-endian

func (o order) uint32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if o.swapped {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (o order) uint16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if o.swapped {
		v = bits.ReverseBytes16(v)
	}
	return v
}

// int64 reads 8 bytes: unlike other pairs of 32 bits in a pcapng they are one
// number.
func (o order) int64(b []byte) int64 {
	v := binary.LittleEndian.Uint64(b)
	if o.swapped {
		v = bits.ReverseBytes64(v)
	}
	return int64(v)
}
