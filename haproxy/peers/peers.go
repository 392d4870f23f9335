// Package peers hides the bytes of HAProxy's peers protocol 2.1, by which HAProxies show each
// other what their stick tables count. A [Tally] makes increases of such counts. A connection
// begins with a [Hello] and its [Status]. Then both sides send messages: [NextMessage] cuts them out
// of the bytes that were read, [Tables] remembers what the other side has defined and reads
// its updates, and the Append functions write.
//
// Everything read has a bound, and reading an update allocates nothing. What a newer
// HAProxy may add is passed over: unknown kinds of messages, data types after the
// known ones, and bytes after the last value.
package peers

import (
	"fmt"

	"edgeguard/haproxy"
)

// MaxMessage is how many bytes a message's body may have. HAProxy's own bound is its
// buffer, 16 KiB unless tune.bufsize is higher.
const MaxMessage = 64 << 10

// Kind is the class and the type of a message.
type Kind uint16

// The kinds of messages. Those whose type has the bit 0x80 have a body.
const (
	ResyncRequest     Kind = 0x0000 // send all your entries
	ResyncFinished    Kind = 0x0001 // these were all
	ResyncPartial     Kind = 0x0002 // these were all, but the sender is not up to date
	ResyncConfirm     Kind = 0x0003 // the answer to the two above
	Heartbeat         Kind = 0x0004
	ProtocolError     Kind = 0x0100
	SizeError         Kind = 0x0101
	UpdateWithID      Kind = 0x0a80
	UpdateNext        Kind = 0x0a81 // its ID is the last one + 1
	TableDefinition   Kind = 0x0a82
	TableSwitch       Kind = 0x0a83
	Acknowledge       Kind = 0x0a84 // HAProxy's documentation prints 133; it sends 132
	TimedUpdateWithID Kind = 0x0a85
	TimedUpdateNext   Kind = 0x0a86
)

const (
	bodyBit       Kind = 0x80
	reservedClass byte = 255
	headBytes          = 2
)

var kindNames = map[Kind]string{
	ResyncRequest:     "resync request",
	ResyncFinished:    "resync finished",
	ResyncPartial:     "resync partial",
	ResyncConfirm:     "resync confirm",
	Heartbeat:         "heartbeat",
	ProtocolError:     "protocol error",
	SizeError:         "size limit error",
	UpdateWithID:      "update",
	UpdateNext:        "incremental update",
	TableDefinition:   "table definition",
	TableSwitch:       "table switch",
	Acknowledge:       "acknowledge",
	TimedUpdateWithID: "timed update",
	TimedUpdateNext:   "timed incremental update",
}

// String returns the kind's name in HAProxy's documentation.
func (k Kind) String() string {
	if name, known := kindNames[k]; known {
		return name
	}
	return fmt.Sprintf("unknown kind %d, %d", k>>8, k&0xff)
}

// Message is one message. Its body is a part of the bytes that it was read from.
type Message struct {
	Kind Kind
	Body []byte
}

// NextMessage returns the message that b begins with, and how many bytes it has. n is 0 if
// b ends before the message does.
func NextMessage(b []byte) (m Message, n int, err error) {
	if len(b) < headBytes {
		return Message{}, 0, nil
	}
	m.Kind = Kind(b[0])<<8 | Kind(b[1])
	if b[0] == reservedClass {
		return Message{}, 0, fmt.Errorf("a message of the reserved class 255: this is not HAProxy's peers protocol")
	}
	if m.Kind&bodyBit == 0 {
		return m, headBytes, nil
	}
	size, used := haproxy.ReadVarint(b[headBytes:min(len(b), headBytes+haproxy.MaxVarint)])
	switch {
	case used < 0 || size > MaxMessage:
		return Message{}, 0, fmt.Errorf("%s: longer than %d bytes: this is not HAProxy's peers protocol, or its tune.bufsize is too high", m.Kind, MaxMessage)
	case used == 0 || uint64(len(b)-headBytes-used) < size:
		return Message{}, 0, nil
	}
	start := headBytes + used
	m.Body = b[start : start+int(size) : start+int(size)]
	return m, start + int(size), nil
}

// AppendControl returns b with a message without a body at its end: a heartbeat, a
// part of a resync, or an error.
func AppendControl(b []byte, k Kind) []byte {
	return append(b, byte(k>>8), byte(k))
}

// AppendSwitch returns b with the message that the next updates are of this table.
func AppendSwitch(b []byte, table uint64) []byte {
	b, start := begin(b, TableSwitch)
	return endMessage(haproxy.AppendVarint(b, table), start)
}

// AppendAcknowledge returns b with the message that all updates of the table, by the
// ID of the other side's definition, were received up to this one.
func AppendAcknowledge(b []byte, table uint64, update uint32) []byte {
	b, start := begin(b, Acknowledge)
	b = haproxy.AppendVarint(b, table)
	return endMessage(appendUint32(b, update), start)
}

// begin writes the head of a message with a body: with one byte for its length, which
// is enough for nearly all. end makes room for more.
func begin(b []byte, k Kind) (with []byte, start int) {
	b = append(AppendControl(b, k), 0)
	return b, len(b)
}

func endMessage(b []byte, start int) []byte {
	size := len(b) - start
	if size < 240 {
		b[start-1] = byte(size)
		return b
	}
	var length [haproxy.MaxVarint]byte
	prefix := haproxy.AppendVarint(length[:0], uint64(size))
	b = append(b, prefix[1:]...)
	copy(b[start+len(prefix)-1:], b[start:start+size])
	copy(b[start-1:], prefix)
	return b
}
