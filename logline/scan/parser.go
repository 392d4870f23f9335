package scan

import (
	"net/netip"
	"time"

	"edgeguard"
)

// MaxLine is how much is read of a line of text, and of a value of a JSON line.
// Servers bound a request line and each header to 8 KiB or so, but write a byte
// as four or six.
const MaxLine = 64 << 10

// LineParser reads the lines of one log in their order. It is not safe for
// concurrent use, and may change a line in place (escapes are undone there).
type LineParser interface {
	// Parse fills the event, or returns why the line makes none. For CutShort the
	// event is filled, without what is missing.
	Parse(line []byte, ev *edgeguard.Event) Reason
	// Sure returns the client of the line that made no event, if it was where
	// only the server writes; else the zero Addr.
	Sure() netip.Addr
}

// HeadParser is a parser of lines that need not be read to their ends.
type HeadParser interface {
	// Head is Parse for the beginning of a line.
	Head(line []byte, ev *edgeguard.Event) Reason
}

// Streamer is a parser that must see a line's end to know what it says.
type Streamer interface {
	// Stream begins an over-long line.
	Stream() Stream
}

// Stream reads one over-long line in pieces.
type Stream interface {
	// Feed reads the next piece.
	Feed(piece []byte)
	// Over reports whether the line is longer than what is read of one: then it
	// makes no event, and the rest is not needed.
	Over() bool
	// End fills the event, or returns why the line makes none. The event's strings
	// are the stream's.
	End(ev *edgeguard.Event) Reason
}

// Dated is a parser of stamps that may lack the year or the zone, as [Clock] reads them.
type Dated interface {
	// SetLatest says that a stamp without a year is not after that instant.
	SetLatest(time.Time)
	// SetNow says that the lines are written now. If the zone is sure, a stamp that names none
	// is of that zone whatever the lines look like.
	SetNow(now time.Time, sure bool)
	// SetTime says when the next line was written, as a text that another clock reads, for one
	// that does not say it, or not in which zone. It is nil where that is not known.
	SetTime(text []byte, by *Clock)
	// SetHeader says what stands before the next line, nil for nothing; it is only kept.
	SetHeader(before []byte)
	// Bare reports whether a stamp was read in the parser's zone, for want of another.
	Bare() bool
	// Off says by how much the last of such stamps are off; see [Off].
	Off() Off
}

// Headed is a parser of lines that may begin with a header of syslog.
type Headed interface {
	// SetProgram says which program wrote the next line; then the line has no
	// header, and what looks like one in it is not. Nil says nothing.
	SetProgram(name []byte)
	// ByHeader reports whether the last line that was read had such a header, or its
	// envelope did, and the header names the program whose lines are read: no client can
	// have written that.
	ByHeader() bool
}

// Header is a parser whose file begins with a line that names the columns.
type Header interface {
	// Bind reads that line. The error says which columns are missing.
	Bind(line []byte) error
}
