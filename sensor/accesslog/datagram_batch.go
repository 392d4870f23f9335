package accesslog

import (
	"bytes"
	"net/netip"

	"edgeguard/logline"
)

// Log lines that arrive as datagrams, from a unix socket or from UDP: each datagram is one
// line at most. The listener decides who may send, and counts what the kernel dropped.

const (
	// longestDatagram is the longest datagram that is read whole. Linux sends none longer
	// than 208 KiB through a unix socket, unless net.core.wmem_max and the
	// sender's SO_SNDBUF were raised; UDP carries 65,507 bytes.
	longestDatagram = 256 << 10
	// mostAtOnce bounds one batch, so that lines are not held back while others
	// send what is refused.
	mostAtOnce = 4096
)

// datagramBatch is the datagrams that were waiting together, as lines.
type datagramBatch struct {
	from []netip.Prefix // senders, of UDP
	udp  bool
	buf  []byte
	used int

	// Count is how many became lines, Cut how many of these were longer than
	// [longestDatagram]. Refused came from a sender that is not accepted, or had no
	// priority of syslog (UDP only).
	Count, Cut, Refused int
	// More says that others may be waiting: the room ended first.
	More bool
	// Dropped is how many the kernel has dropped since the socket was made, as the
	// newest datagram knows it: modulo 1<<32, and 0 for none.
	Dropped uint32
}

// Lines returns the lines of the batch, in the buffer.
func (b *datagramBatch) Lines() []byte { return b.buf[:b.used] }

// room returns where the next datagram goes, nil if this batch takes no more.
func (b *datagramBatch) room() []byte {
	if len(b.buf)-b.used < longestDatagram+2 || b.Count+b.Refused == mostAtOnce {
		return nil
	}
	return b.buf[b.used : b.used+longestDatagram+1]
}

// take adds the datagram that came into room if its sender may send. size is how
// long it was.
func (b *datagramBatch) take(size int, from netip.Addr) {
	n := min(size, longestDatagram+1)
	if b.udp && !(accepts(b.from, from) && n > 0 && b.buf[b.used] == '<') {
		b.Refused++
		return
	}
	b.add(n, size)
}

// add takes the n bytes that came into room as a line, without their syslog
// prefix.
//
// A newline inside a datagram is the server's escape=none, and what follows it
// may be a client's: it begins no line.
func (b *datagramBatch) add(n, size int) {
	b.Count++
	text := b.buf[b.used : b.used+n]
	if size > n {
		b.Cut++ // what is missing is behind all that is read of a line of text
	} else {
		text = bytes.TrimRight(text, "\r\n\x00")
		if len(text) > 0 && text[0] == '<' {
			text = text[logline.SyslogPrefix(text):]
		}
	}
	for i := bytes.IndexByte(text, '\n'); i >= 0; i = bytes.IndexByte(text, '\n') {
		text[i] = ' '
	}
	b.used += copy(b.buf[b.used:], text)
	b.buf[b.used] = '\n'
	b.used++
}
