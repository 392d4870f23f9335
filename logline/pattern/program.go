package pattern

import (
	"errors"
	"fmt"
	"strings"

	"edgeguard/logline/scan"
)

// program is a compiled text format: a prefix, and then fields, each with the
// literal text that follows it.
type program struct {
	prefix string
	steps  []step
	hasOne [whats]bool
	// unwrap says that the line begins with the address, so that an extra pair of
	// quotes around it is not a client's doing.
	unwrap bool
	quick  int  // how many steps quickHead does together
	tail   bool // quickTail does all steps
	dated  bool // the time comes from whatDate fields
	// bearing is the index of the last step that an event must have.
	bearing int
	// sure says that the address comes before all that a client writes.
	sure bool
	// words says that a blank ends a host that a client writes.
	words bool
}

// step is one field and the text that ends it.
type step struct {
	what what
	how  how
	lit  string // what follows; empty for the end of the line
	date scan.DateFormat
	// again marks a field that the line has said before: read, not kept.
	again bool
	last  int // index of the last step before the next separator that no client can write
	// unsure marks a free field in whose segment another free field may move
	// the line's address, time or status.
	unsure bool
}

// what a field holds: a [scan.LinePart], or one of these.
type what = scan.LinePart

const (
	whatAddrPort = scan.Parts + iota
	whatPeer     // the peer's address where a module has replaced the client's
	whatCLF      // 20/Feb/2016:00:00:45 -0500
	whatISO
	whatUnix // seconds, with or without a fraction
	whatMilli
	whatMicro
	whatDate // strftime
	whats
)

func isTime(w what) bool { return w >= whatCLF && w <= whatDate }

// bears says that a wrong reading of the field would blame the wrong client or
// move the event in time.
func bears(w what) bool {
	return w == scan.PartAddr || w == whatAddrPort || w == whatPeer || w == scan.PartStatus || isTime(w)
}

// how a field's end is found.
type how uint8

const (
	howShape how = iota // by its own shape: an address, a time, a number
	howToken            // by the first literal: the server writes it, and never with that inside
	howHard             // by a quote or control character, which no client can write
	howFree             // a client writes it: any occurrence of the literal may be its end
	howWord             // a client writes it, and its server lets no blank into it
)

// token is one part of a format string: a literal, or a variable.
type token struct {
	lit  string
	name string // as written, for errors
	what what
	how  how
	date scan.DateFormat
}

var (
	errNoAddr = errors.New("it has no client address that the server itself writes: " +
		"add $remote_addr (nginx), %a or %h (Apache); a header such as X-Forwarded-For can be forged")
	errNoTime = errors.New("it has no time: add $time_local (nginx) or %t (Apache)")
)

// compile makes a whole line's program.
func compile(tokens []token) (*program, error) {
	p, err := assemble(tokens)
	if err != nil {
		return nil, err
	}
	if !p.hasOne[scan.PartAddr] && !p.hasOne[whatAddrPort] {
		if !p.promotePeer() {
			return nil, errNoAddr
		}
	}
	timed := false
	for w := range whats {
		timed = timed || isTime(w) && p.hasOne[w]
	}
	if !timed {
		return nil, errNoTime
	}
	w := p.steps[0].what
	p.markBearing()
	p.unwrap = p.prefix == "" && (w == scan.PartAddr || w == whatAddrPort)
	return p, nil
}

// markBearing finds what a line whose end is missing must have all the same.
func (p *program) markBearing() {
	p.sure = true
	found := false
	for i := range p.steps {
		st := &p.steps[i]
		addr := st.what == scan.PartAddr || st.what == whatAddrPort
		if addr || st.what == whatPeer || isTime(st.what) {
			p.bearing = i
		}
		p.sure = p.sure && (found || st.how != howFree)
		found = found || addr
	}
}

// promotePeer takes the peer for the client where the format has no other
// address: without a proxy they are the same.
func (p *program) promotePeer() bool {
	for i := range p.steps {
		if p.steps[i].what == whatPeer {
			p.steps[i].what = scan.PartAddr
			p.hasOne[scan.PartAddr] = true
			return true
		}
	}
	return false
}

// assemble lays the tokens out as steps, without asking what the line must
// have.
func assemble(tokens []token) (*program, error) {
	p := &program{}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.name == "" && len(p.steps) == 0:
			p.prefix += t.lit
		case t.name == "":
			p.steps[len(p.steps)-1].lit += t.lit
		default:
			if err := p.addField(t, tokens[:i]); err != nil {
				return nil, err
			}
		}
	}
	if len(p.steps) == 0 {
		return nil, errors.New("it has no fields")
	}
	for i := range p.steps {
		p.steps[i].settle()
	}
	p.markSegments()
	p.quick, p.tail = quickSteps(p), isQuickTail(p)
	return p, nil
}

// addField appends a field. Two fields without a literal between them are one
// stretch of text, of unknown meaning unless the second is the query that belongs
// to the path.
func (p *program) addField(t token, before []token) error {
	touching := len(before) > 0 && before[len(before)-1].name != ""
	if touching {
		prev := &p.steps[len(p.steps)-1]
		if prev.what == whatDate && t.what == whatDate {
			prev.date = append(prev.date, t.date...)
			return nil
		}
		if bears(prev.what) || bears(t.what) {
			return fmt.Errorf("nothing separates %s from %s: put a space between them", before[len(before)-1].name, t.name)
		}
		if t.name != "%q" && t.name != "%HQ" && t.name != "$is_args" && t.name != "$args" {
			prev.what = scan.PartNone
		}
		prev.how = howFree
		return nil
	}
	if p.joinsPort(t) {
		return nil
	}
	again := p.hasAlready(t.what)
	p.steps = append(p.steps, step{what: t.what, how: t.how, date: t.date, again: again})
	p.hasOne[t.what] = true
	p.dated = p.dated || t.what == whatDate && !again
	return nil
}

// joinsPort makes one field of an address, a colon and its port: in
// 2001:db8::1:5555 only the last colon tells them apart.
func (p *program) joinsPort(t token) bool {
	if t.name != "$remote_port" && t.name != "%{remote}p" && t.name != "%cp" && t.name != "%[src_port]" || len(p.steps) == 0 {
		return false
	}
	prev := &p.steps[len(p.steps)-1]
	if prev.what != scan.PartAddr || prev.lit != ":" {
		return false
	}
	prev.what, prev.how, prev.lit = whatAddrPort, howToken, ""
	p.hasOne[whatAddrPort] = true
	return true
}

// hasAlready reports whether the line has said this before: of %s and %>s, or
// $time_local and $msec, the first counts.
func (p *program) hasAlready(w what) bool {
	if !isTime(w) {
		return w != scan.PartNone && p.hasOne[w]
	}
	for other := range whats {
		if isTime(other) && p.hasOne[other] && (other != whatDate || w != whatDate) {
			return true
		}
	}
	return false
}

// settle decides how the field's end is found, now that its literal is known.
func (s *step) settle() {
	if s.how == howShape || s.lit == "" {
		return
	}
	if isHard(s.lit[0]) {
		s.how = howHard
	}
}

// isHard reports whether c never stands unescaped in a field that a client
// wrote: Apache and nginx escape quotes and control characters.
func isHard(c byte) bool { return c == '"' || c < ' ' }

func isHardRune(r rune) bool { return r < 0x80 && isHard(byte(r)) }

// markSegments cuts the program at the literals that contain a hard byte.
func (p *program) markSegments() {
	for first := 0; first < len(p.steps); {
		last := first
		for last < len(p.steps)-1 && strings.IndexFunc(p.steps[last].lit, isHardRune) < 0 {
			last++
		}
		segment := p.steps[first : last+1]
		p.settleWords(segment)
		unsure := isUnsure(segment)
		for i := range segment {
			segment[i].last, segment[i].unsure = last, unsure
		}
		first = last + 1
	}
}

// isUnsure reports whether one of several free fields of a segment may move what the
// others say.
func isUnsure(segment []step) bool {
	frees, moved := 0, false
	for i := range segment {
		moved = moved || frees > 0 && bears(segment[i].what)
		if segment[i].how == howFree || segment[i].how == howWord {
			frees++
		}
	}
	return moved && frees > 1
}

// settleWords has a host end at the first blank where its end is in doubt. nginx takes no
// blank in a host since 1.21.1, nor Apache since 2.4.25, so that only a line of an older
// server can be read wrong; and else a user with blanks in his name was never counted.
// Everywhere else a host is read to its literal, whoever wrote the line.
func (p *program) settleWords(segment []step) {
	unsure := isUnsure(segment)
	for i := range segment {
		if st := &segment[i]; st.how == howWord && unsure && strings.HasPrefix(st.lit, " ") {
			p.words = p.words || strings.IndexFunc(st.lit, isHardRune) < 0
		} else if st.how == howWord {
			st.how = howFree
		} else if unsure && st.endsHost() {
			p.words = p.words || strings.IndexFunc(st.lit, isHardRune) < 0
		}
	}
}

// endsHost reports whether a field is a host as a client wrote it, also in a request that was refused because of it, and
// what follows would be no part of any other.
func (st *step) endsHost() bool {
	return st.what == scan.PartHost && st.how == howFree && strings.HasPrefix(st.lit, " ")
}
