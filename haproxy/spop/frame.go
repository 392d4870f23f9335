package spop

import (
	"encoding/binary"

	"edgeguard/haproxy"
)

// Type says what a frame is.
type Type byte

// The frames that HAProxy sends, and those that an agent does.
const (
	TypeHello           Type = 1
	TypeDisconnect      Type = 2
	TypeNotify          Type = 3
	TypeAgentHello      Type = 101
	TypeAgentDisconnect Type = 102
	TypeAck             Type = 103
)

// The bounds of a frame's length, which does not count its own four bytes. Usual is
// what HAProxy offers unless tune.bufsize is set.
const (
	LeastFrame = 256
	UsualFrame = 16380
)

const (
	lengthSize = 4
	// headSize is the type and the flags; leastSize is that with two IDs of a byte.
	headSize  = 1 + 4
	leastSize = headSize + 2
	// flagFin says that a frame is the last of its fragments, or the only one.
	flagFin = 1
)

// Frame is one frame. An ACK has the stream and ID of its NOTIFY.
type Frame struct {
	Type       Type
	Stream, ID uint64
	Payload    []byte
}

// NextFrame reads the frame that b begins with. size is how many bytes of b it has; 0 says
// that b ends before the frame does. A frame of more than most bytes is an error as
// soon as its length was read. Every error is a [Status].
func NextFrame(b []byte, most int) (f Frame, size int, err error) {
	if len(b) < lengthSize {
		return Frame{}, 0, nil
	}
	length := uint64(binary.BigEndian.Uint32(b))
	switch {
	case length > uint64(most):
		return Frame{}, 0, TooBig
	case length < leastSize:
		return Frame{}, 0, Invalid
	case uint64(len(b)-lengthSize) < length:
		return Frame{}, 0, nil
	}
	size = lengthSize + int(length)
	b = b[lengthSize:size]
	f.Type = Type(b[0])
	if binary.BigEndian.Uint32(b[1:]) != flagFin {
		return Frame{}, 0, Fragmented
	}
	b = b[headSize:]
	var n int
	if f.Stream, n = haproxy.ReadVarint(b); n <= 0 {
		return Frame{}, 0, Invalid
	}
	b = b[n:]
	if f.ID, n = haproxy.ReadVarint(b); n <= 0 {
		return Frame{}, 0, Invalid
	}
	f.Payload = b[n:]
	return f, size, nil
}

// begin appends a frame without its payload. end completes it.
func begin(b []byte, t Type, stream, id uint64) []byte {
	b = append(b, 0, 0, 0, 0, byte(t), 0, 0, 0, flagFin)
	b = haproxy.AppendVarint(b, stream)
	return haproxy.AppendVarint(b, id)
}

// endFrame writes the length of the frame that begins at start and is the last of b.
func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-lengthSize))
	return b
}
