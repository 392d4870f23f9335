package pattern

import (
	"bytes"
	"net/netip"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/logline/scan"
)

// parser runs a layout over the lines of one file.
type parser struct {
	layout Layout
	scan.Clock

	f    scan.Fields
	date scan.Date
	why  scan.Reason
	// over says that the line is the beginning of one, failed at which step the
	// reading of a program ended, and out that the text ended there.
	over   bool
	prog   *program // that was run last
	failed int
	out    bool

	// Of the search for the one reading of a line with several free fields.
	tries int // that are left
	found int // readings that reached the end of their segment
	first reading
	// doubted says that the line was read with a host that ends at the first blank of several.
	doubted bool
}

// reading is one way to read a line up to the end of a segment.
type reading struct {
	f    scan.Fields
	date scan.Date
	pos  int
}

// Bounds on the ends of fields that are tried for one line; one that needs more
// is skipped. With a single free field they are no more than the line's bytes,
// and cost a look each: a client must not get itself skipped by writing many.
// With several they multiply, and each costs a try for every bytesOfTry that are
// looked through for it: else a client's line could take a second.
const (
	maxTries       = scan.MaxLine
	maxTriesUnsure = 4096
	bytesOfTry     = 256
)

const listFirst scan.Reason = "a list of addresses where the host should be: a client can write X-Forwarded-For"

// maxToken is more than a server itself writes into a field. Behind a free
// field the end of such a one is looked for again and again.
const maxToken = 1024

func (p *parser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	why := p.match(line)
	if why != scan.Read && p.layout.head.unwrap && !p.over && len(line) > 1 && line[0] == '"' && line[len(line)-1] == '"' {
		why = p.match(line[1 : len(line)-1]) // as exports of data sets have it
	}
	if why != scan.Read {
		return why
	}
	if p.f.Raw = bytes.IndexByte(line, '\\') < 0; p.layout.hashed { // one look for all fields
		p.f.Unhash()
	}
	return p.f.Event(ev)
}

// Head reads a line up to the first field whose end is missing. What is
// behind it could be a client's, and is not looked at.
func (p *parser) Head(line []byte, ev *edgeguard.Event) scan.Reason {
	p.over = true
	defer func() { p.over = false }()
	if why := p.Parse(line, ev); why != scan.Read {
		return why
	}
	return scan.CutShort
}

func (p *parser) Sure() netip.Addr {
	if !p.prog.sure {
		return netip.Addr{}
	}
	return p.f.Addr
}

// ranOut reports whether the line ended behind all that an event must have.
func (p *parser) ranOut() bool { return p.out && p.failed > p.prog.bearing }

// ClientFirst implements [scan.ClientFirst].
func (p *parser) ClientFirst() bool {
	return p.layout.head.prefix == "" && p.layout.head.steps[0].how == howFree
}

// match fills p.f from the line.
func (p *parser) match(line []byte) scan.Reason {
	p.f.Reset()
	p.why, p.out, p.doubted = scan.NotTheFormat, false, false
	if p.layout.head.dated {
		p.date = scan.Date{}
	}
	p.prog = p.layout.head
	pos, ok := p.run(p.prog, line)
	if !ok && !p.ranOut() && p.layout.loose != nil {
		p.f.Reset()
		p.why, p.out, p.prog = scan.NotTheFormat, false, p.layout.loose
		pos, ok = p.run(p.prog, line)
	}
	if !ok {
		if !p.ranOut() {
			return p.why
		}
		p.f.Short, pos = true, len(line)
	} else if p.layout.tail == nil && pos != len(line) || pos < len(line) && p.layout.tail != nil && line[pos] != ' ' {
		return scan.NotTheFormat
	}
	if p.prog == p.layout.loose && p.f.InHost(',') {
		return listFirst
	}
	// A host with blanks is refused with 400, so that the host of any other answer has ended at the first.
	if p.doubted && (p.f.Known&edgeguard.FieldStatus == 0 || p.f.Status == 400) {
		return scan.TwoWays
	}
	if p.layout.head.dated {
		if p.f.At, ok = p.date.Instant(&p.Clock); !ok {
			return scan.BadTime
		}
	}
	if p.layout.tail != nil && pos < len(line) {
		p.run(p.layout.tail, line[pos:])
	}
	return scan.Read
}

// run matches a whole program and returns where it ended.
func (p *parser) run(prog *program, line []byte) (pos int, ok bool) {
	if !scan.HasPrefix(line, prog.prefix) {
		return 0, false
	}
	pos = len(prog.prefix)
	done := 0
	switch {
	case prog.quick > 0:
		if n, ok := p.quickHead(line); ok {
			pos, done = n, prog.quick
		}
	case prog.tail:
		if n, ok := p.quickTail(line); ok {
			return n, true
		}
	}
	for i := done; i < len(prog.steps); i++ {
		st := &prog.steps[i]
		if st.how == howFree {
			if pos, ok = p.runFree(prog.steps[:st.last+1], i, line, pos); !ok {
				p.failed = i
				return 0, false
			}
			i = st.last
			continue
		}
		if pos, ok = p.field(st, line, pos); !ok {
			p.failed = i
			return 0, false
		}
	}
	return pos, true
}

// runFree matches the rest of a segment that begins with a free field. Such a
// field may contain anything but a quote or a control character, the text that
// should end it included; so its end is wherever the rest of the segment fits.
// Where two such fields could move the address between them, all readings are
// tried. Two that differ make the line unreadable: it is better to miss an event
// than to blame the wrong client for it.
func (p *parser) runFree(steps []step, i int, line []byte, pos int) (int, bool) {
	if !p.closed(steps[len(steps)-1].lit, line[pos:]) {
		p.runOut(&steps[i], nil)
		return 0, false
	}
	p.found, p.tries = 0, maxTries
	if steps[i].unsure {
		p.tries = maxTriesUnsure
	}
	p.search(steps, i, line, pos)
	switch {
	case p.found > 0 && (p.found > 1 || p.tries == 0) && steps[i].endsHost():
		p.doubted = true
	case p.found > 1 || p.tries == 0:
		p.why = scan.TwoWays
		return 0, false
	case p.found == 0:
		return 0, false
	}
	if steps[i].unsure {
		p.f, p.date = p.first.f, p.first.date
	}
	return p.first.pos, true
}

// closed reports whether the segment that begins text has its end there, which
// lit has. Without one, a free field of it could be read in a way in which the
// whole line could not.
func (p *parser) closed(lit string, text []byte) bool {
	for i := range len(lit) {
		switch {
		case lit[i] == '"':
			if scan.HasPrefix(text, `""`) {
				text = text[2:]
			}
			return p.quoteEnd(text, 0) >= 0
		case isHard(lit[i]):
			return bytes.IndexByte(text, lit[i]) >= 0
		}
	}
	return !p.over // its end is that of the line
}

// quoteEnd returns the index of the quote that ends a text; HAProxy has no backslash before one.
func (p *parser) quoteEnd(b []byte, i int) int {
	if !p.layout.hashed {
		return scan.QuoteEnd(b, i)
	}
	n := bytes.IndexByte(b[i:], '"')
	if n < 0 {
		return n
	}
	return i + n
}

// runOut notes that the line ended inside a field, after b.
func (p *parser) runOut(st *step, b []byte) {
	p.out = true
	if st.again {
		return
	}
	switch st.what {
	case scan.PartRequest:
		p.f.Request, p.f.Cut = b, true
	case scan.PartPath:
		p.f.SetCutPath(b)
	}
}

// search tries the ends of the free field steps[i], the nearest first, and
// reports whether to stop.
func (p *parser) search(steps []step, i int, line []byte, pos int) bool {
	st := &steps[i]
	if scan.HasPrefix(line[pos:], `""`) {
		return p.searchEmpty(steps, i, line, pos+2)
	}
	for from := pos; ; {
		end := len(line)
		if st.lit != "" {
			n := indexShort(line[from:], st.lit)
			if n < 0 {
				return !p.pay(st, len(line)-from)
			}
			end = from + n
		}
		if p.quoteEnd(line[:end], from) >= 0 {
			return false // a quote: the segment has ended
		}
		p.set(st, line[pos:end])
		if p.rest(steps, i+1, line, end+len(st.lit)) {
			return true
		}
		p.tries--
		if paid := p.pay(st, end-from); st.lit == "" || !paid {
			return !paid
		}
		from = end + 1
	}
}

// pay takes the price of a look through n bytes off the tries, and reports
// whether there are any left.
func (p *parser) pay(st *step, n int) bool {
	if st.unsure {
		p.tries -= n / bytesOfTry
	}
	p.tries = max(p.tries, 0)
	return p.tries > 0
}

// searchEmpty reads on behind the two quotes that Apache writes for a user
// without a name. No client can write them.
func (p *parser) searchEmpty(steps []step, i int, line []byte, pos int) bool {
	lit := steps[i].lit
	if !scan.HasPrefix(line[pos:], lit) || lit == "" && pos < len(line) {
		return false
	}
	p.set(&steps[i], line[pos:pos])
	return p.rest(steps, i+1, line, pos+len(lit))
}

// rest matches the steps from i to the end of the segment.
func (p *parser) rest(steps []step, i int, line []byte, pos int) bool {
	ok := true
	for ; i < len(steps); i++ {
		if steps[i].how == howFree {
			return p.search(steps, i, line, pos)
		}
		if pos, ok = p.field(&steps[i], line, pos); !ok {
			return false
		}
	}
	return p.accept(steps[len(steps)-1].unsure, pos)
}

// accept notes a reading of the segment and reports whether to stop there.
func (p *parser) accept(unsure bool, pos int) bool {
	if p.found == 0 {
		p.found, p.first.pos = 1, pos
		if !unsure {
			return true
		}
		p.first.f, p.first.date = p.f, p.date
		return false
	}
	a, b := &p.first, p
	if a.f.Addr != b.f.Addr || a.f.Peer != b.f.Peer || a.f.At != b.f.At || a.f.Status != b.f.Status || a.date != b.date {
		p.found++
		return true
	}
	return false
}

// field matches one field and the text after it.
func (p *parser) field(st *step, line []byte, pos int) (int, bool) {
	end := pos
	switch {
	case st.how == howShape:
		n, ok := p.shape(st, line[pos:])
		if !ok {
			p.out = p.over && len(line)-pos < maxShape
			return 0, false
		}
		end += n
	case st.how == howHard && st.lit[0] == '"':
		if !p.layout.hashed { // most are not
			end = scan.QuoteEnd(line, pos)
		} else {
			end = p.quoteEnd(line, pos)
		}
		if end < 0 {
			p.runOut(st, line[pos:])
			return 0, false
		}
		p.set(st, line[pos:end])
	case st.lit == "":
		if p.over {
			p.runOut(st, line[pos:])
			return 0, false
		}
		end = len(line)
		p.set(st, line[pos:end])
	default:
		within := line[pos:]
		if st.how == howToken {
			within = within[:min(len(within), maxToken)]
		}
		n := indexShort(within, st.lit)
		if n < 0 {
			p.runOut(st, line[pos:])
			return 0, false
		}
		end += n
		if st.what == scan.PartHost && st.how == howToken && bytes.IndexByte(line[pos:end], ' ') >= 0 {
			return 0, false // it would be a client's: a server's own name has no blank
		}
		if st.what != scan.PartNone && !p.set(st, line[pos:end]) {
			return 0, false
		}
	}
	if !scan.HasPrefix(line[end:], st.lit) {
		p.out = strings.HasPrefix(st.lit, unsafetext.String(line[end:]))
		return 0, false
	}
	return end + len(st.lit), true
}

// maxShape is more than any field has that ends by its own shape.
const maxShape = 128

// indexShort finds s, which is not empty. What it is used on is short, a dash or
// a number: a loop finds the end before bytes.Index has chosen its method.
func indexShort(b []byte, s string) int {
	for i, c := range b {
		if c == s[0] && (len(s) == 1 || scan.HasPrefix(b[i:], s)) {
			return i
		}
	}
	return -1
}
