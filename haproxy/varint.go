package haproxy

import "math/bits"

// The integers of HAProxy's peers protocol and of SPOP. They are not protocol buffers' and not
// encoding/binary's: a value below 240 is one byte, and each further byte is added to what was
// read before it, so that a value has one form alone.

// MaxVarint is how many bytes the longest value has.
const MaxVarint = 10

// The first byte holds four bits of a longer value, each further byte seven.
const (
	long      = 240
	more      = 128
	firstBits = 4
	nextBits  = 7
)

// AppendVarint returns b with v at its end.
func AppendVarint(b []byte, v uint64) []byte {
	if v < long {
		return append(b, byte(v))
	}
	b = append(b, byte(v)|long)
	v = (v - long) >> firstBits
	for v >= more {
		b = append(b, byte(v)|more)
		v = (v - more) >> nextBits
	}
	return append(b, byte(v))
}

// ReadVarint returns the value that b begins with, and how many bytes it has. n is 0 if b
// ends before the value does, and negative if the value has more than 64 bits:
// then b is no such protocol.
func ReadVarint(b []byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	v = uint64(b[0])
	if v < long {
		return v, 1
	}
	for i, shift := 1, firstBits; i < len(b); i, shift = i+1, shift+nextBits {
		part := uint64(b[i])
		if i == MaxVarint || part<<shift>>shift != part {
			return 0, -1
		}
		sum, carry := bits.Add64(v, part<<shift, 0)
		if carry != 0 {
			return 0, -1
		}
		if v = sum; part < more {
			return v, i + 1
		}
	}
	return 0, 0
}
