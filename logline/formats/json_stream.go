package formats

import (
	"bytes"

	"edgeguard"
	"edgeguard/logline/scan"
)

// jsonStream reads a JSON line that is too long to be held. It needs the end:
// of several names for an address the best counts, wherever it is, and an
// address that is named twice makes the line unreadable. It keeps the values of
// the names that are known, each up to MaxLine, and passes over the rest.
type jsonStream struct {
	p     *jsonParser
	state jsonState
	level jsonLevel
	size  int

	slash bool // behind a backslash in a string
	key   []byte

	// Of the value that is read.
	name  jsonMeaning
	value []byte // as far as it is kept
	keep  bool
	long  bool // it is longer than what is kept
	depth int  // of its nesting
	text  bool // inside a string
	bare  bool // it has no quotes
	comma bool // behind a comma, which ends it if a key follows
}

type jsonState uint8

const (
	jsonBegin   jsonState = iota // before the object
	jsonOpened                   // behind {
	jsonNext                     // behind ,
	jsonKey                      // inside a key
	jsonColon                    // behind a key
	jsonBefore                   // behind :
	jsonInValue                  // inside a value
	jsonBehind                   // behind a value
	jsonDone                     // behind the object
	jsonBroken                   // it is none
	jsonTooLong                  // longer than what is read of a line
)

const (
	// maxJSON is the longest line that is read. Caddy takes headers of 1 MiB,
	// and writes a byte that is not UTF-8 as six.
	maxJSON = 8 << 20
	// maxKey is more than the longest key that is known.
	maxKey = 64
)

func (p *jsonParser) Stream() scan.Stream {
	p.Clock.Written() // the text goes
	return &jsonStream{p: &jsonParser{Clock: p.Clock}}
}

func (s *jsonStream) Feed(piece []byte) {
	for n := 1; s.size == 0 && n > 0 && len(piece) > 0 && piece[0] != '{'; {
		n = scan.SyslogPrefix(piece)
		piece = piece[n:]
	}
	if s.size += len(piece); s.size > maxJSON {
		s.state = jsonTooLong
	}
	for len(piece) > 0 && s.state < jsonBroken {
		piece = piece[s.step(piece):]
	}
}

func (s *jsonStream) Over() bool { return s.state == jsonTooLong }

func (s *jsonStream) End(ev *edgeguard.Event) scan.Reason {
	if s.Over() {
		return scan.TooLong
	}
	return s.p.finish(s.state == jsonDone, ev)
}

// step reads on, and returns how much. It is 0 only where the state has changed.
func (s *jsonStream) step(b []byte) int {
	switch s.state {
	case jsonKey:
		return s.takeKey(b)
	case jsonInValue:
		return s.takeValue(b)
	case jsonDone:
		if len(bytes.TrimSpace(b)) > 0 {
			s.state = jsonBroken
		}
		return len(b)
	}
	c := b[0]
	if c == ' ' || c == '\t' {
		return 1
	}
	switch {
	case s.state == jsonBegin && c == '{':
		s.state = jsonOpened
	case (s.state == jsonOpened || s.state == jsonNext) && c == '"':
		s.state, s.key, s.slash = jsonKey, s.key[:0], false
	case (s.state == jsonOpened || s.state == jsonBehind || s.state == jsonNext) && c == '}':
		s.leave()
	case s.state == jsonColon && c == ':':
		s.state = jsonBefore
	case s.state == jsonBehind && c == ',':
		s.state = jsonNext
	case s.state == jsonBefore:
		return s.enter(b)
	default:
		s.state = jsonBroken
	}
	return 1
}

// leave ends an object.
func (s *jsonStream) leave() {
	s.state = jsonBehind
	if s.level == jsonTop {
		s.state = jsonDone
		return
	}
	s.level = s.level.outer()
}

// enter begins a value: an object that is looked into, or any other.
func (s *jsonStream) enter(b []byte) int {
	if inner, ok := s.level.into(s.key); ok && b[0] == '{' {
		s.level, s.state = inner, jsonOpened
		return 1
	}
	s.name = jsonName(s.key, s.level)
	s.keep = s.name.rank != 0 && s.p.wants(s.name)
	s.state, s.value, s.long, s.depth, s.text, s.comma = jsonInValue, nil, false, 0, false, false
	s.bare = b[0] != '"' && b[0] != '{' && b[0] != '['
	return s.takeValue(b)
}

func (s *jsonStream) takeKey(b []byte) int {
	n := s.textEnd(b)
	if room := maxKey - len(s.key); room > 0 {
		s.key = append(s.key, b[:min(n, room)]...)
	}
	if n == len(b) {
		return n
	}
	s.state = jsonColon
	return n + 1
}

// textEnd returns the index of the quote that ends the string in which b begins,
// len(b) if it has none.
func (s *jsonStream) textEnd(b []byte) int {
	for i, c := range b {
		switch {
		case s.slash:
			s.slash = false
		case c == '\\':
			s.slash = true
		case c == '"':
			return i
		}
	}
	return len(b)
}

func (s *jsonStream) takeValue(b []byte) int {
	n, ended := s.valueEnd(b)
	if s.keep {
		room := scan.MaxLine - len(s.value)
		s.value = append(s.value, b[:min(n, room)]...)
		s.long = s.long || n > room
	}
	if !ended {
		return n
	}
	if s.bare {
		s.value = bytes.TrimRight(s.value, ", \t")
	}
	switch {
	case s.keep && s.long:
		s.p.useCut(s.name, s.level, s.value)
	case s.keep:
		s.p.use(s.name, s.level, s.value)
	}
	if s.state = jsonBehind; s.comma {
		s.state = jsonNext
	}
	return n
}

// valueEnd is scan.JSONValue for a value that comes in pieces: it returns how much of b
// is of the value, and whether it ends there.
func (s *jsonStream) valueEnd(b []byte) (n int, ended bool) {
	for i := 0; i < len(b); i++ {
		if s.text {
			if i += s.textEnd(b[i:]); i == len(b) {
				return i, false
			}
			if s.text = false; s.depth == 0 && !s.bare {
				return i + 1, true
			}
			continue
		}
		if s.bare {
			if s.bareEnds(b[i]) {
				return i, true
			}
			continue
		}
		switch b[i] {
		case '"':
			s.text, s.slash = true, false
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

// bareEnds reports whether a value without quotes ends before c.
func (s *jsonStream) bareEnds(c byte) bool {
	switch c {
	case ' ', '\t':
		return false
	case '"':
		if s.comma {
			return true
		}
		s.text, s.slash = true, false
	case '}', ']':
		s.comma = false
		return true
	}
	s.comma = c == ','
	return false
}

// wants reports whether a value of that name would be taken.
func (p *jsonParser) wants(name jsonMeaning) bool {
	old := p.rank[name.part]
	return old == 0 || old > name.rank || old == name.rank && (name.part == scan.PartAddr || name.part == jsonPeer)
}

// useCut takes the beginning of a value that is too long: of a path with its
// query the path, and of all else, that it is not known.
func (p *jsonParser) useCut(name jsonMeaning, level jsonLevel, value []byte) {
	if name.part == jsonHeaderList {
		p.f.Short = true
		return
	}
	if value[0] == '[' {
		value = value[scan.JSONBlank(value, 1):]
	}
	if len(value) == 0 || value[0] != '"' {
		return
	}
	if value = value[1:]; level == jsonRequest && name.part == scan.PartPath {
		value = escapeHash(value)
	}
	p.rank[name.part], p.f.Short = name.rank, true
	switch name.part {
	case scan.PartAddr, jsonPeer:
		p.why = scan.BadAddr
	case scan.PartTime:
		p.why = scan.BadTime
	case scan.PartRequest:
		p.f.Request, p.f.Cut = value, true
	case scan.PartPath:
		p.path = value
		p.f.SetCutPath(value)
	case jsonArgs:
		p.addArgs(value)
	case scan.PartMethod:
		p.f.Known &^= edgeguard.FieldMethod
	case scan.PartHost:
		p.f.Known &^= edgeguard.FieldHost
	case scan.PartAgent:
		p.f.Known &^= edgeguard.FieldAgent
	case scan.PartReferer:
		p.f.Known &^= edgeguard.FieldReferer
	case scan.PartFetchSite:
		p.f.Known &^= edgeguard.FieldFetchSite
	case scan.PartStatus:
		p.f.Known &^= edgeguard.FieldStatus
	}
}
