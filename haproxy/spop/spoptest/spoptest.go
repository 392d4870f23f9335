// Package spoptest is HAProxy's side of SPOP for tests.
package spoptest

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"edgeguard/haproxy"
	"edgeguard/haproxy/spop"
)

// Types of values on the wire.
const (
	null, boolean, uint32s, ipv4, ipv6, text = 0, 1, 3, 6, 7, 8
	flagTrue                                 = 0x10
)

// Frame returns a whole frame with the flag FIN.
func Frame(t spop.Type, stream, id uint64, payload []byte) []byte {
	b := append([]byte{0, 0, 0, 0, byte(t)}, 0, 0, 0, 1)
	b = haproxy.AppendVarint(haproxy.AppendVarint(b, stream), id)
	b = append(b, payload...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// Hello returns the HELLO that HAProxy 2.6 sends, with the versions and the size of
// frames that it offers.
func Hello(versions string, size uint32, check bool) []byte {
	capabilities := "pipelining,async"
	if check {
		capabilities = ""
	}
	p := Pair(nil, "supported-versions", versions)
	p = Pair(p, "max-frame-size", size)
	p = Pair(p, "capabilities", capabilities)
	if check {
		p = Pair(p, "healthcheck", true)
	} else {
		p = Pair(p, "engine-id", "f7ac8ae9-bbb6-435e-b006-23774d7e8d13")
	}
	return Frame(spop.TypeHello, 0, 0, p)
}

// Arg is an argument of a message: a string, an address, a bool, a uint32, or nil.
type Arg struct {
	Name  string
	Value any
}

// Notify returns a NOTIFY with one message.
func Notify(stream, id uint64, args ...Arg) []byte {
	return Frame(spop.TypeNotify, stream, id, Message("edgeguard", args...))
}

// Message returns a message of a NOTIFY's payload.
func Message(name string, args ...Arg) []byte {
	p := append(str(nil, name), byte(len(args)))
	for _, a := range args {
		p = Pair(p, a.Name, a.Value)
	}
	return p
}

// Pair appends a name and its value, which is null if it is of no type of [Arg].
func Pair(b []byte, name string, value any) []byte {
	b = str(b, name)
	switch v := value.(type) {
	case bool:
		if v {
			return append(b, boolean|flagTrue)
		}
		return append(b, boolean)
	case uint32:
		return haproxy.AppendVarint(append(b, uint32s), uint64(v))
	case string:
		return str(append(b, text), v)
	case netip.Addr:
		kind := byte(ipv6)
		if v.Is4() {
			kind = ipv4
		}
		return append(append(b, kind), v.AsSlice()...)
	}
	return append(b, null)
}

func str(b []byte, s string) []byte { return append(haproxy.AppendVarint(b, uint64(len(s))), s...) }

// Vars returns the variables of the request that an ACK sets: numbers as uint64,
// texts as string. ok is false if the payload is no list of them.
func Vars(payload []byte) (vars map[string]any, ok bool) {
	vars = make(map[string]any)
	for len(payload) > 0 {
		rest, isSet := bytes.CutPrefix(payload, []byte{1, 3, 2})
		name, rest, isText := cut(rest)
		if !isSet || !isText || len(rest) == 0 {
			return nil, false
		}
		switch kind := rest[0]; kind {
		case uint32s:
			v, n := haproxy.ReadVarint(rest[1:])
			if n <= 0 {
				return nil, false
			}
			vars[name], payload = v, rest[1+n:]
		case text:
			v, after, isText := cut(rest[1:])
			if !isText {
				return nil, false
			}
			vars[name], payload = v, after
		default:
			return nil, false
		}
	}
	return vars, true
}

func cut(b []byte) (s string, rest []byte, ok bool) {
	length, n := haproxy.ReadVarint(b)
	if n <= 0 || uint64(len(b)-n) < length {
		return "", nil, false
	}
	b = b[n:]
	return string(b[:length]), b[length:], true
}
