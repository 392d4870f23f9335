package spop

import (
	"net/netip"

	"edgeguard/haproxy"
)

// kind is the type of a value on the wire.
type kind byte

const (
	kindNull kind = iota
	kindBool
	kindInt32
	kindUint32
	kindInt64
	kindUint64
	kindIPv4
	kindIPv6
	kindText
	kindBinary
)

const (
	kindMask = 0x0f
	flagTrue = 0x10
)

// Value is an argument of a message, or an item of a HELLO. The zero Value is null,
// as HAProxy sends a fetch that found nothing.
type Value struct {
	kind   kind
	number uint64
	bytes  []byte
}

// IsNull reports whether HAProxy found no such value.
func (v Value) IsNull() bool { return v.kind == kindNull }

// Text returns a string's or a binary's bytes.
func (v Value) Text() (text []byte, ok bool) {
	return v.bytes, v.kind == kindText || v.kind == kindBinary
}

// IsTrue reports whether the value is the boolean true.
func (v Value) IsTrue() bool { return v.kind == kindBool && v.number != 0 }

// Uint returns an unsigned number, or a signed one that is not negative.
func (v Value) Uint() (n uint64, ok bool) {
	switch v.kind {
	case kindUint32, kindUint64:
		return v.number, true
	case kindInt32, kindInt64:
		return v.number, int64(v.number) >= 0
	}
	return 0, false
}

// Addr returns an address, unmapped.
func (v Value) Addr() (addr netip.Addr, ok bool) {
	if v.kind != kindIPv4 && v.kind != kindIPv6 {
		return netip.Addr{}, false
	}
	addr, ok = netip.AddrFromSlice(v.bytes)
	return addr.Unmap(), ok
}

// readValue reads the value that b begins with.
func readValue(b []byte) (v Value, rest []byte, ok bool) {
	if len(b) == 0 {
		return Value{}, nil, false
	}
	head := b[0]
	v.kind, b = kind(head&kindMask), b[1:]
	switch v.kind {
	case kindNull:
		return v, b, true
	case kindBool:
		v.number = uint64(head & flagTrue)
		return v, b, true
	case kindInt32, kindUint32, kindInt64, kindUint64:
		n := 0
		if v.number, n = haproxy.ReadVarint(b); n <= 0 {
			return Value{}, nil, false
		}
		return v, b[n:], true
	case kindIPv4:
		v.bytes, rest, ok = cut(b, 4)
	case kindIPv6:
		v.bytes, rest, ok = cut(b, 16)
	case kindText, kindBinary:
		v.bytes, rest, ok = readText(b)
	}
	return v, rest, ok
}

// readText reads a length and as many bytes.
func readText(b []byte) (text, rest []byte, ok bool) {
	length, n := haproxy.ReadVarint(b)
	if n <= 0 {
		return nil, nil, false
	}
	return cut(b[n:], length)
}

func cut(b []byte, n uint64) (head, rest []byte, ok bool) {
	if uint64(len(b)) < n {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// readPair reads a name and its value.
func readPair(b []byte) (name []byte, v Value, rest []byte, ok bool) {
	if name, b, ok = readText(b); !ok {
		return nil, Value{}, nil, false
	}
	v, rest, ok = readValue(b)
	return name, v, rest, ok
}

func appendText(b []byte, text string) []byte {
	b = haproxy.AppendVarint(b, uint64(len(text)))
	return append(b, text...)
}

func appendTextPair(b []byte, name, text string) []byte {
	b = append(appendText(b, name), byte(kindText))
	return appendText(b, text)
}

func appendUintPair(b []byte, name string, n uint32) []byte {
	b = append(appendText(b, name), byte(kindUint32))
	return haproxy.AppendVarint(b, uint64(n))
}
