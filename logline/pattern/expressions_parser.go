package pattern

import (
	"net/netip"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/logline/scan"
)

// maxText is the longest line that is matched. A match takes time in proportion
// to the line and to the expression, so that long lines would be a client's way to
// keep a node busy; services cut what a client sends long before.
const maxText = 16 << 10

const (
	tooLong scan.Reason = "longer than 16 KiB, which is all that an expression is matched with"
	noStamp scan.Reason = "no time in the group time, nor at the line's beginning"
)

// expressionsParser reads the lines of one log.
type expressionsParser struct {
	format *Expressions
	scan.Clock
	f scan.Fields

	program []byte // that wrote the line, where its envelope says so

	byHeader bool // of the last line that was read

	outer scan.Instant // what settles the line's own stamp: what a container's runtime wrote
	inner bool         // and the own stamp was found behind it

	// What came of each of the format's programs, how many lines were passed over for a reason, whether a line of a program
	// came, and how many of others did before.
	tallies []tally
	quiet   uint64
	ownCame bool
	others  int

	// connections are those that are open, by their number. Nil until one opens.
	connections map[uint64]netip.Addr
}

// maxConnections bounds those that are remembered: more than most servers have descriptors
// for. When they are full any one is
// forgotten, so that nobody chooses which.
const maxConnections = 4096

func (p *expressionsParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	if len(line) > maxText {
		return tooLong
	}
	before := p.Clock.Settle(scan.Instant{})
	p.inner = false
	at, stamp := p.stamp(line)
	p.outer = p.Clock.Settle(at)
	why := p.match(line, at, stamp, ev)
	if why == scan.Aside && len(p.tallies) > 0 {
		p.passOver(line, stamp)
	}
	p.Clock.Unsettle(before)
	return why
}

// match finds the expression that a line is of.
func (p *expressionsParser) match(line []byte, at scan.Instant, stamp int, ev *edgeguard.Event) scan.Reason {
	why := scan.Aside
	for i, pat := range p.format.patterns {
		text, ok := p.text(pat, line, stamp)
		if !ok || !strings.Contains(unsafetext.String(text), pat.literal) {
			continue
		}
		found := pat.re.FindSubmatchIndex(text)
		for n := 1; found == nil && !pat.message && n > 0; { // what a daemon or a runtime wrote
			n = scan.SyslogPrefix(text)
			if text = text[n:]; n > 0 {
				found = pat.re.FindSubmatchIndex(text)
			}
		}
		if found != nil {
			p.f.Reset()
			p.f.Raw, p.f.At = true, at
			p.byHeader = pat.headed || pat.either && found[2] >= 0
			p.understood(i)
			if pat.part != whole && !p.connection(pat, text, found) {
				return scan.Aside
			}
			// A group that begins where the line's own stamp does is not settled by that: it may end before
			// what looks like the stamp's zone, and that may be what a client wrote.
			if i := slices.Index(pat.groups, scan.PartTime); i > 0 && found[2*i] == 0 && (p.inner || len(text) == len(line)) {
				p.Clock.Unsettle(p.outer)
			}
			// What is no address by one expression may be one by another, as an IPv6 address
			// is that has no port.
			if why = p.event(pat, text, found, stamp > 0, ev); why != scan.BadAddr {
				return why
			}
			p.Clock.Settle(at)
		}
	}
	return why
}

// connection notes what a line says of a connection, and reports whether the line makes an
// event. The address is then in the fields.
func (p *expressionsParser) connection(pat *expression, text []byte, found []int) bool {
	var number uint64
	var addr netip.Addr
	for i, g := range pat.groups {
		if from, to := found[2*i], found[2*i+1]; from >= 0 && g == groupConnection {
			for _, c := range text[from:to] {
				number = number*10 + uint64(c-'0')
			}
		} else if from >= 0 && g == scan.PartAddr {
			addr, _ = scan.AddrMaybePort(text[from:to])
		}
	}
	if p.connections == nil {
		p.connections = make(map[uint64]netip.Addr, maxConnections)
	}
	switch pat.part {
	case opens:
		p.open(number, addr)
	case closes:
		delete(p.connections, number)
	case goesOn:
		p.f.Addr = p.connections[number]
		return p.f.Addr.IsValid()
	}
	return false
}

// open remembers a connection. One without an address replaces what had its number before.
func (p *expressionsParser) open(number uint64, addr netip.Addr) {
	delete(p.connections, number)
	if !addr.IsValid() {
		return
	}
	if len(p.connections) >= maxConnections {
		for any := range p.connections {
			delete(p.connections, any)
			break
		}
	}
	p.connections[number] = addr
}

// text returns what an expression is matched with. A header is one behind a stamp,
// or what an envelope says: a line could begin with another's header, where its own
// is not in it.
func (p *expressionsParser) text(pat *expression, line []byte, stamp int) (text []byte, ok bool) {
	switch {
	case pat.headed && p.program != nil:
		return slices.Concat(p.program, []byte(": "), line), true
	case pat.headed:
		return line[stamp:], stamp > 0
	case pat.message:
		return line[stamp:], true
	}
	return line, true
}

// Head refuses a line that is longer than any that is matched.
func (p *expressionsParser) Head([]byte, *edgeguard.Event) scan.Reason { return tooLong }

// Sure knows none: which expression a line is of is not known.
func (p *expressionsParser) Sure() netip.Addr { return netip.Addr{} }

// ByHeader implements [scan.Headed].
func (p *expressionsParser) ByHeader() bool { return p.byHeader }

// SetProgram implements [scan.Headed].
func (p *expressionsParser) SetProgram(name []byte) { p.program = name }

// stamp reads the time at the beginning of a line, and returns the length of all that
// precedes the message: what a container's runtime wrote, the stamp and the blank after
// it, and behind a runtime's stamp the program's own, which then is the time. It is 0
// where there is no stamp.
func (p *expressionsParser) stamp(line []byte) (at scan.Instant, n int) {
	container := scan.AfterMark(line, scan.ContainerName(line))
	at, n = p.stampAt(line, container)
	if n == 0 {
		return at, 0
	}
	stream := scan.StreamName(line[n:])
	if n = scan.AfterMark(line, n+stream); stream == 0 && container == 0 && scan.Container(line) == 0 {
		return at, n
	}
	p.Clock.Settle(at) // also what an expression reads as a time
	if own, m := p.stampAt(line, n); m > 0 {
		p.inner = true
		return own, m
	}
	return at, n
}

// stampAt reads a stamp from line[from] and returns the index of what follows it, 0 if
// there is none.
func (p *expressionsParser) stampAt(line []byte, from int) (at scan.Instant, n int) {
	n = from + scan.Priority(line[from:])
	if n > from && scan.HasPrefix(line[n:], "1 ") {
		n += 2
	}
	at, size, ok := p.Clock.Stamp(line[n:])
	if !ok {
		return scan.Instant{}, 0
	}
	if n += size; n < len(line) && line[n] == ':' {
		n++
	}
	if n < len(line) && line[n] == ' ' {
		n++
	}
	return at, n
}

// event makes the event of a line that matched.
func (p *expressionsParser) event(pat *expression, text []byte, found []int, dated bool, ev *edgeguard.Event) scan.Reason {
	for i, g := range pat.groups {
		from, to := found[2*i], found[2*i+1]
		if g == scan.PartNone || g == groupConnection || from < 0 {
			continue
		}
		switch value := text[from:to]; g {
		case scan.PartAddr:
			addr, ok := scan.AddrMaybePort(value)
			if !ok {
				return scan.BadAddr
			}
			p.f.Addr = addr
		case scan.PartTime:
			if !p.readTime(pat, value) {
				return scan.BadTime
			}
			dated = true
		case groupForgeable:
			p.f.Forgeable = true
		default:
			if g >= groupKind {
				p.f.Kind |= 1 << (g - groupKind)
			}
			p.f.Set(g, value)
		}
	}
	if !dated {
		at, ok := p.Clock.Written()
		if !ok {
			return noStamp
		}
		p.f.At = at
	}
	return p.f.Event(ev)
}

// readTime reads the group time.
func (p *expressionsParser) readTime(pat *expression, value []byte) bool {
	if pat.layout == nil {
		at, ok := p.Clock.Any(value)
		p.f.At = at
		return ok
	}
	var d scan.Date
	if n, ok := d.Read(pat.layout, value); !ok || n != len(value) {
		return false
	}
	at, ok := d.Instant(&p.Clock)
	p.f.At = at
	return ok
}
