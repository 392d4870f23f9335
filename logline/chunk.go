package logline

import (
	"bytes"
	"time"

	"edgeguard"
	"edgeguard/logline/formats"
	"edgeguard/logline/scan"
)

// MaxLine is how much is read of a line of text, and of a value of a JSON line.
const MaxLine = scan.MaxLine

// Chunk is some lines of a log and the events in them. Text is the caller's:
// its last line may lack the newline, and parsing may change it in place. The
// events and their strings point into it, and are valid until Text is changed or
// the chunk is parsed again.
type Chunk struct {
	Text []byte
	// GoesOn says that the text's last line goes on in the log's next chunk, and
	// Long is where that is remembered: one for all chunks of a log, nil where
	// lines are always whole.
	GoesOn bool
	Long   *Long
	// Origin tells the files of one log apart, also over a rotation or an emptying; nil for what is no file.
	Origin any
	Events []edgeguard.Event
	// Uncounted are the requests that are in no event, or not with all fields.
	Uncounted []edgeguard.Uncounted

	// What parsing it added to the log's totals.
	Lines   uint64
	Skipped uint64
	Partial uint64 // events that lack fields, because their lines are cut
	Passed  uint64 // lines that say nothing of a client
	// Suppressed is how many lines the log says never came to it.
	Suppressed uint64
	Shown      []Skipped
	Others     []Skipped // of the lines that were passed over
	Gaps       []Gap
	// What is known of the log's times that name no zone: whether any was read in the parser's, for
	// want of another, and by how much the last ones are off.
	Bare bool
	Off  scan.Off
	// Quiet is how many of the chunk's lines were passed over for a reason; Unread are the programs of the log whose lines
	// are not understood.
	Quiet  uint64
	Unread []scan.Unread

	copies int // of events, of lines that came again
}

// Gap says that from an event on, lines are so far ahead of events: its line
// number is its own number plus Ahead. Nearly every line is an event, so that
// a few gaps number all of them.
type Gap struct{ Event, Ahead uint64 }

// Long is a line that has begun in an earlier chunk of its log. A log that comes
// in chunks has one; the zero value is ready.
type Long struct {
	open   bool
	stream scan.Stream // nil where the rest of the line is passed over
	begins []byte      // to show it
}

// Open reports whether a line has begun that has not ended yet.
func (o *Long) Open() bool { return o.open }

// Streams reports whether the rest of the line that has begun is read, too.
func (o *Long) Streams() bool { return o.stream != nil }

// Skip has the rest of a line that has begun passed over.
func (o *Long) Skip() { *o = Long{open: true} }

// Pass drops the rest of a line that is passed over from the text.
func (o *Long) Pass(text []byte) []byte {
	if !o.open || o.stream != nil {
		return text
	}
	end := bytes.IndexByte(text, '\n')
	if end < 0 {
		return nil
	}
	o.open = false
	return text[end+1:]
}

// Parser parses the chunks of one log, in their order. It is not safe for
// concurrent use. [Format.Parser] makes one.
type Parser struct {
	parser  scan.LineParser
	dated   scan.Dated             // the same, nil if all its stamps name their zone
	watched scan.Understands       // the same, nil if it knows no programs
	pieces  formats.EnvelopePieces // of lines that a container runtime has cut
	name    string
	lines   uint64 // so far
	events  uint64
	ahead   uint64
	shown   int
	others  int
	quiet   uint64

	last     *edgeguard.Event // of the line before the chunk, if it may come again
	lastIn   any
	lastLine uint64
	lastText []byte // its beginning
}

// Parser makes the parser of one log. Name is shown with lines that are
// skipped. Zone is that of times that name none; nil means UTC.
func (f *Format) Parser(name string, zone *time.Location) *Parser {
	if zone == nil {
		zone = time.UTC
	}
	l := &Parser{parser: f.start(zone), name: name}
	l.dated, _ = l.parser.(scan.Dated)
	if l.watched, _ = l.parser.(scan.Understands); l.watched != nil {
		l.watched.Watch()
	}
	return l
}

// Begin takes the header off the beginning of a log, if its format has one, and
// returns the rest. Line is the number of the header's line, 0 without one; the
// error says what is wrong with it.
func (l *Parser) Begin(text []byte) (rest []byte, line uint64, err error) {
	h, ok := l.parser.(scan.Header)
	if !ok {
		return text, 0, nil
	}
	first, rest, n := firstLine(text)
	if len(first) == 0 {
		return text, 0, nil // an empty file
	}
	l.lines = n
	return rest, n, h.Bind(first)
}

// ShowAtMost sets how many more skipped lines are kept as examples, up to
// [MaxShown]; that many are kept if it is not called.
func (l *Parser) ShowAtMost(n int) { l.shown = MaxShown - n }

// SetLatest says that stamps without a year, as syslog writes them, are not after
// that instant. Without it lines with such stamps cannot be read.
func (l *Parser) SetLatest(at time.Time) {
	if l.dated != nil {
		l.dated.SetLatest(at)
	}
}

// SetNow says that the lines are written now: a stamp that names no zone is then of the parser's
// zone, or, if that is not sure, of UTC where only that fits; one without a year is not after now.
func (l *Parser) SetNow(now time.Time, sure bool) {
	if l.dated != nil {
		l.dated.SetNow(now, sure)
	}
}

// Streams reports whether a line of this format must be read to its end, however
// long it is, to know what it says.
func (l *Parser) Streams() bool {
	_, ok := l.parser.(scan.Streamer)
	return ok
}

// Parse fills the chunk's events from its text.
func (l *Parser) Parse(c *Chunk) {
	before, firstEvent := l.lines, l.events
	c.Events, c.Uncounted, c.Shown, c.Gaps, c.Skipped, c.Partial = c.Events[:0], c.Uncounted[:0], nil, c.Gaps[:0], 0, 0
	c.copies, c.Passed, c.Suppressed, c.Others = 0, 0, 0, nil
	var line []byte
	rest := c.Text
	if c.Long != nil && c.Long.open {
		rest = l.goOn(c, rest, firstEvent)
	}
	for len(rest) > 0 {
		line = rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			if rest = nil; c.GoesOn {
				l.begin(c, line, firstEvent)
				break
			}
		}
		l.lines++
		l.parseLine(c, line, firstEvent)
	}
	l.keepLast(c, line, firstEvent)
	l.events += uint64(len(c.Events))
	if c.Lines = l.lines - before; l.dated != nil {
		c.Bare, c.Off = l.dated.Bare(), l.dated.Off()
	}
	if l.watched != nil {
		c.Quiet, c.Unread = l.watched.Quiet()-l.quiet, l.watched.Unread()
		l.quiet += c.Quiet
	}
}

func (l *Parser) parseLine(c *Chunk, line []byte, firstEvent uint64) {
	if line = trim(line); len(line) == 0 {
		return
	}
	c.Events = grow(c.Events)
	ev := &c.Events[len(c.Events)-1]
	var why scan.Reason
	switch {
	case len(line) > MaxLine:
		why = scan.ParseLong(l.parser, line, ev)
	case len(line) > 10 && line[10] == 'T':
		why = l.parsePiece(line, ev)
	default:
		why = scan.ParseLine(l.parser, line, ev)
	}
	if why == scan.Read && l.lines-firstEvent-uint64(len(c.Events)-1) == l.ahead {
		return // as nearly always
	}
	times := 0
	if why != scan.Read && why != scan.CutShort && len(line) <= MaxLine {
		if n, whyThen := l.repeated(c, line, firstEvent, ev); n > 0 {
			times, why = n, whyThen
		} else if suppressed := l.suppressed(line); suppressed > 0 {
			c.Suppressed += suppressed
			why = scan.Aside
		}
	}
	if l.note(c, line, why, firstEvent); times > 1 && why == scan.Read {
		l.again(c, line, times, firstEvent)
	}
}

// parsePiece parses a line that may be a piece of one that a container runtime has cut.
func (l *Parser) parsePiece(line []byte, ev *edgeguard.Event) scan.Reason {
	if head, stream, goesOn := scan.Piece(line); head > 0 && (goesOn || l.pieces.Open()) {
		l.pieces.Inside = l.parser
		return l.pieces.Line(line, head, string(stream), goesOn, ev)
	}
	return scan.ParseLine(l.parser, line, ev)
}

// note keeps the chunk's last event, or takes it back and says why.
func (l *Parser) note(c *Chunk, line []byte, why scan.Reason, firstEvent uint64) {
	at := len(c.Events) - 1
	if why == scan.Aside {
		c.Events = c.Events[:at]
		if c.Passed++; l.others < maxOthers {
			l.others++
			c.Others = append(c.Others, NewSkipped(l.name, l.lines, line, string(why)))
		}
		return
	}
	if why == scan.Read || why == scan.CutShort {
		number := firstEvent + uint64(at)
		if ahead := l.lines - number; ahead != l.ahead {
			l.ahead = ahead
			c.Gaps = append(c.Gaps, Gap{number, ahead})
		}
		if why == scan.Read {
			return
		}
		c.Partial++
		c.Uncounted = append(c.Uncounted, edgeguard.Uncounted{Time: c.Events[at].Time, Addr: c.Events[at].Addr, Reason: why.Class()})
	} else {
		c.Events = c.Events[:at]
		c.Skipped++
		c.Uncounted = append(c.Uncounted, edgeguard.Uncounted{Addr: l.parser.Sure(), Reason: why.Class()})
	}
	if l.shown < MaxShown {
		if l.shown++; isUTF16(line) {
			why = inUTF16
		}
		c.Shown = append(c.Shown, NewSkipped(l.name, l.lines, line, string(why)))
	}
}

// begin takes the first piece of a line that goes on in the next chunk.
func (l *Parser) begin(c *Chunk, piece []byte, firstEvent uint64) {
	if piece = trim(piece); len(piece) == 0 {
		return // a hole of NULs: the line has not begun
	}
	l.lines++
	c.Long.open = true
	s, ok := l.parser.(scan.Streamer)
	if !ok {
		l.parseLine(c, piece, firstEvent)
		return
	}
	c.Long.begins = bytes.Clone(piece[:min(len(piece), scan.MaxPrintable+1)])
	c.Long.stream = s.Stream()
	c.Long.stream.Feed(piece)
}

// goOn takes the next piece of such a line, and returns what follows the line.
func (l *Parser) goOn(c *Chunk, text []byte, firstEvent uint64) (rest []byte) {
	s := c.Long.stream
	if s == nil {
		return c.Long.Pass(text)
	}
	piece, rest, ended := bytes.Cut(text, []byte{'\n'})
	if s.Feed(piece); s.Over() || ended || !c.GoesOn {
		c.Events = grow(c.Events)
		l.note(c, c.Long.begins, s.End(&c.Events[len(c.Events)-1]), firstEvent)
		*c.Long = Long{open: !ended && c.GoesOn}
	}
	return rest
}

// grow adds an event without clearing it: parse overwrites all of it.
func grow(events []edgeguard.Event) []edgeguard.Event {
	if len(events) < cap(events) {
		return events[:len(events)+1]
	}
	return append(events, edgeguard.Event{})
}

// trim takes off what is not part of a line: the carriage return of Windows, a
// byte order mark, and the NULs that copytruncate leaves in front of it.
func trim(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) == 0 || line[0] != 0 && line[0] != 0xEF {
		return line
	}
	return bytes.TrimPrefix(bytes.TrimLeft(line, "\x00"), []byte("\xEF\xBB\xBF"))
}
