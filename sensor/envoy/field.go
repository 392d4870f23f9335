package envoy

import (
	"google.golang.org/protobuf/encoding/protowire"

	"edgeguard/internal/unsafetext"
)

// The fields of protobuf messages are read and written by their numbers, without reflection.
//
// It reads as every reader of protobuf has to: an unknown field is skipped, as is a known one
// of another type; of a field that comes twice the last one holds, and messages that come
// twice are one. A text may hold any bytes, for a client can send any.

// fieldReader reads the fields of a message in their order.
type fieldReader struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	bytes  []byte
	whole  uint64
	bad    bool
}

// fieldsOf returns a reader of a message. What it returns points into the message.
func fieldsOf(message []byte) fieldReader { return fieldReader{rest: message} }

// Next reads a field, and reports false at the end or where the message is damaged.
func (r *fieldReader) Next() bool {
	if len(r.rest) == 0 || r.bad {
		return false
	}
	number, kind, n := protowire.ConsumeTag(r.rest)
	if n < 0 {
		return r.fail()
	}
	r.number, r.kind, r.rest = number, kind, r.rest[n:]
	switch kind {
	case protowire.VarintType:
		r.whole, n = protowire.ConsumeVarint(r.rest)
	case protowire.BytesType:
		r.bytes, n = protowire.ConsumeBytes(r.rest)
	default:
		n = protowire.ConsumeFieldValue(number, kind, r.rest)
	}
	if n < 0 {
		return r.fail()
	}
	r.rest = r.rest[n:]
	return true
}

func (r *fieldReader) fail() bool {
	r.bad = true
	return false
}

// Good reports whether all fields could be read.
func (r *fieldReader) Good() bool { return !r.bad }

// Number returns the number of the field if it has bytes or a whole number, and otherwise 0:
// no field that is read here has another type.
func (r *fieldReader) Number() int {
	if r.kind != protowire.BytesType && r.kind != protowire.VarintType {
		return 0
	}
	return int(r.number)
}

// Whole returns the value of a field that is a whole number.
func (r *fieldReader) Whole() (uint64, bool) { return r.whole, r.kind == protowire.VarintType }

// Text sets a text to the value of the field, which points into the message.
func (r *fieldReader) Text(into *string) {
	if r.kind == protowire.BytesType {
		*into = unsafetext.String(r.bytes)
	}
}

// Message returns a reader of the value of the field, and false if that is not a message.
func (r *fieldReader) Message() (inner fieldReader, ok bool) {
	if r.kind != protowire.BytesType {
		return fieldReader{}, false
	}
	return fieldsOf(r.bytes), true
}

// AppendText appends a text, unless it is empty.
func AppendText(out []byte, number int, text string) []byte {
	if text == "" {
		return out
	}
	out = protowire.AppendTag(out, protowire.Number(number), protowire.BytesType)
	return protowire.AppendString(out, text)
}

// AppendWhole appends a whole number, unless it is 0.
func AppendWhole(out []byte, number int, whole uint64) []byte {
	if whole == 0 {
		return out
	}
	out = protowire.AppendTag(out, protowire.Number(number), protowire.VarintType)
	return protowire.AppendVarint(out, whole)
}

// AppendMessage appends a message, also an empty one, whose fields write appends. It moves
// what write has appended by the length that precedes it.
func AppendMessage(out []byte, number int, write func([]byte) []byte) []byte {
	out = protowire.AppendTag(out, protowire.Number(number), protowire.BytesType)
	start := len(out)
	out = write(out)
	size := len(out) - start
	width := protowire.SizeVarint(uint64(size))
	for range width {
		out = append(out, 0)
	}
	copy(out[start+width:], out[start:start+size])
	protowire.AppendVarint(out[:start], uint64(size))
	return out
}
