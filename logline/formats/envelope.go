package formats

import (
	"bytes"
	"net/netip"

	"edgeguard"
	"edgeguard/logline/scan"
)

// envelopeParser takes the envelope off the lines of one log. Only the outermost members
// of the object count: what is deeper, and what is inside the line, may be a
// client's.
type envelopeParser struct {
	form   *Envelope
	inside scan.LineParser
	pieces EnvelopePieces

	scan.Dated                                // inside
	headed     scan.Headed                    // inside, if its lines may lack a header
	clock      scan.Clock                     // of the envelopes
	last       struct{ program, text []byte } // line
}

const (
	notObject   scan.Reason = "not a JSON object, as the envelope of a line is"
	noMessage   scan.Reason = "the envelope holds no line: no log, message or MESSAGE, as its format names it"
	twoLines    scan.Reason = "the envelope holds two lines"
	nullMessage scan.Reason = "MESSAGE is null, because it is long: run journalctl with --all"
	notText     scan.Reason = "the line in the envelope is neither a text nor a list of bytes"
	manyLines   scan.Reason = "the envelope holds more than one line"
)

// inEnvelope is what the members of an envelope say.
type inEnvelope struct {
	message []byte
	time    []byte
	rank    int // of the time: less is better, and 0 none
	program []byte
	ids     [maxIDs][]byte
	partial bool // the line goes on
	last    bool // or it has gone on until here
}

// id returns the name of the line's stream.
func (f *inEnvelope) id() string { return string(bytes.Join(f.ids[:], []byte{0})) }

// Sure implements [scan.LineParser].
func (p *envelopeParser) Sure() netip.Addr {
	if !p.pieces.asked {
		return netip.Addr{}
	}
	return p.inside.Sure()
}

// Suppressed implements [scan.Suppresses].
func (p *envelopeParser) Suppressed() uint64 { return scan.Suppressed(p.last.program, p.last.text) }

// Watch implements [scan.Understands].
func (p *envelopeParser) Watch() {
	if in, ok := p.inside.(scan.Understands); ok {
		in.Watch()
	}
}

// Quiet implements [scan.Understands].
func (p *envelopeParser) Quiet() uint64 {
	if in, ok := p.inside.(scan.Understands); ok {
		return in.Quiet()
	}
	return 0
}

// Unread implements [scan.Understands].
func (p *envelopeParser) Unread() []scan.Unread {
	if in, ok := p.inside.(scan.Understands); ok {
		return in.Unread()
	}
	return nil
}

// SetProgram implements [scan.Headed]: the envelope itself says it.
func (p *envelopeParser) SetProgram([]byte) {}

// ByHeader implements [scan.Headed].
func (p *envelopeParser) ByHeader() bool { return p.headed != nil && p.headed.ByHeader() }

// Stream keeps a long envelope: its members may be in any order.
func (p *envelopeParser) Stream() scan.Stream { return scan.NewWhole(p) }

// Parse implements [scan.LineParser].
func (p *envelopeParser) Parse(line []byte, ev *edgeguard.Event) scan.Reason {
	p.pieces.asked, p.last.text = false, nil
	var f inEnvelope
	if why := p.members(line, &f); why != scan.Read {
		return why
	}
	text, why := decode(f.message)
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	} else if len(p.form.parts) == 0 {
		f.partial = true
	}
	f.partial = f.partial && !f.last
	text = bytes.TrimSuffix(text, []byte{'\r'})
	if bytes.IndexByte(text, '\n') >= 0 {
		why = manyLines
	}
	if why != scan.Read {
		p.pieces.pass(f.id(), f.partial)
		return why
	}
	p.last.program, p.last.text = f.program, text
	p.SetTime(bytes.Trim(f.time, `"`), &p.clock)
	if p.headed != nil {
		program := bytes.Trim(f.program, `"`)
		if program == nil && p.form.alone {
			program = []byte{}
		}
		p.headed.SetProgram(program)
	}
	id := ""
	if f.partial || p.pieces.Open() {
		id = f.id()
	}
	return p.pieces.Line(text, 0, id, f.partial, ev)
}

// members reads the object.
func (p *envelopeParser) members(line []byte, f *inEnvelope) scan.Reason {
	why := scan.Read
	end := scan.JSONObject(line, func(key, rest []byte) int {
		n := scan.JSONValue(rest)
		if n < 0 {
			return n
		}
		if why = p.member(key, rest[:n], f); why != scan.Read {
			return -1
		}
		return n
	})
	switch {
	case why != scan.Read:
		return why
	case end < 0 || len(bytes.TrimSpace(line[end:])) > 0 || bytes.HasSuffix(bytes.TrimRight(line[:end-1], " \t"), []byte{','}):
		return notObject
	case f.message == nil:
		return noMessage
	}
	return scan.Read
}

// member keeps a value that is of use.
func (p *envelopeParser) member(key, value []byte, f *inEnvelope) scan.Reason {
	for _, k := range p.form.keys {
		if string(key) != k || len(value) > 0 && value[0] == '{' {
			continue // Filebeat has an object log beside its message
		}
		if f.message != nil {
			return twoLines
		}
		f.message = value
	}
	for i, name := range p.form.times {
		if string(key) == name && (f.rank == 0 || i < f.rank) {
			f.time, f.rank = value, i+1
		}
	}
	if p.form.program != "" && string(key) == p.form.program {
		f.program = value
	}
	for i, id := range p.form.ids {
		if string(key) == id {
			f.ids[i] = value
		}
	}
	for _, part := range p.form.parts {
		if string(key) == part.key && string(bytes.Trim(value, `"`)) == part.value {
			f.partial = true
		}
	}
	if string(key) == "partial_last" && string(bytes.Trim(value, `"`)) == "true" {
		f.last = true
	}
	return scan.Read
}

// decode returns the line of a member's value, in place.
func decode(value []byte) ([]byte, scan.Reason) {
	switch {
	case len(value) == 0:
		return nil, notText
	case value[0] == '"':
		return scan.Unescape(value[1 : len(value)-1]), scan.Read
	case string(value) == "null":
		return nil, nullMessage
	case value[0] == '[':
		return decodeBytes(value)
	}
	return nil, notText
}

// decodeBytes reads [49,57,50], as journald writes a line that is not UTF-8 or has
// control characters. A list of lists is a line that is there twice.
func decodeBytes(list []byte) ([]byte, scan.Reason) {
	out := list[:0]
	for i := scan.JSONBlank(list, 1); i < len(list) && list[i] != ']'; {
		v, n := scan.Digits(list[i:], 3)
		if n == 0 || v > 255 {
			if list[i] == '"' || list[i] == '[' {
				return nil, twoLines
			}
			return nil, notText
		}
		out = append(out, byte(v)) // a byte has at least two of the list before it
		if i = scan.JSONBlank(list, i+n); i < len(list) && list[i] == ',' {
			i = scan.JSONBlank(list, i+1)
		} else if i < len(list) && list[i] != ']' {
			return nil, notText
		}
	}
	return out, scan.Read
}
