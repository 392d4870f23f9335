package crowdsec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// What a CrowdSec LAPI answers to GET /v1/decisions/stream:
//
//	{"new":[{"id":1,"origin":"CAPI","type":"ban","scope":"Ip","value":"203.0.113.5",
//	 "duration":"9m59s","scenario":"crowdsecurity/http-probing"}],"deleted":null}
//
// The answer is read as it arrives and is never whole in memory: the original writes it in
// pieces of 30,000 decisions. Bytes, depth and texts are bounded, so a LAPI that is broken or
// hostile costs time, which its reader bounds, and no memory. An answer that ends early, or has
// not both lists, is an error: half a list must never pass for a whole one.

// Decision is one decision, as the LAPI wrote it. A field that it lacks is empty, and the end of
// a text of more than MaxText bytes is left out.
type Decision struct {
	Origin   string // who made it: CAPI, lists, cscli, crowdsec, or another's name
	Type     string // ban, captcha, or another
	Scope    string // Ip, Range, AS, Country, or another
	Value    string
	Duration string // until its end, as Go writes durations; negative when it has ended
	Scenario string // why
}

// maxText is the longest text of a field that is kept, in bytes.
const maxText = 256

const (
	// maxDepth is how deep values may be nested; an answer of the original has 3 levels.
	maxDepth = 16
	// mostNames is how many origins and scenarios are shared between decisions. Further ones
	// are copied.
	mostNames = 1024
)

// Errors of an answer that is not whole.
var (
	errLarge   = errors.New("it is larger than this node accepts")
	errDeep    = errors.New("it is nested too deep")
	errNotList = errors.New(`it is JSON without the lists "new" and "deleted"`)
)

// readDecisions reads an answer of at most so many bytes, and calls new and deleted with each decision of
// the two lists, in their order. The decision is valid during the call. What was passed on
// before an error must not be used.
func readDecisions(from io.Reader, bytes int64, added, deleted func(*Decision)) error {
	r := &reader{in: bufio.NewReaderSize(from, 1<<16), left: bytes, names: make(map[string]string)}
	err := r.answer(added, deleted)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends in the middle, after %d bytes", bytes-r.left)
	}
	return err
}

// answer reads the outer object, and that nothing follows it.
func (r *reader) answer(added, deleted func(*Decision)) error {
	var hasNew, hasDeleted bool
	if err := r.expect('{'); err != nil {
		return err
	}
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "new":
			hasNew = true
			return r.decisions(added)
		case "deleted":
			hasDeleted = true
			return r.decisions(deleted)
		}
		return r.skipValue(1)
	})
	if err != nil {
		return err
	}
	if !hasNew || !hasDeleted {
		return errNotList
	}
	c, err := r.nextByte()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return r.unexpected(c)
}

// decisions reads null or a list of decisions.
func (r *reader) decisions(take func(*Decision)) error {
	c, err := r.nextByte()
	if err != nil {
		return err
	}
	if c == 'n' {
		return r.readLiteral("ull")
	}
	if c != '[' {
		return r.unexpected(c)
	}
	return r.elements(func(c byte) error {
		if c != '{' {
			return r.unexpected(c)
		}
		var d Decision
		if err := r.members(func(name []byte) error { return r.field(&d, string(name)) }); err != nil {
			return err
		}
		take(&d)
		return nil
	})
}

// field reads the value of one field of a decision.
func (r *reader) field(d *Decision, name string) error {
	var to *string
	shared := false
	switch name {
	case "origin":
		to, shared = &d.Origin, true
	case "type":
		to, shared = &d.Type, true
	case "scope":
		to, shared = &d.Scope, true
	case "scenario":
		to, shared = &d.Scenario, true
	case "value":
		to = &d.Value
	case "duration":
		to = &d.Duration
	default:
		return r.skipValue(3)
	}
	c, err := r.nextByte()
	switch {
	case err != nil:
		return err
	case c == 'n':
		return r.readLiteral("ull")
	case c != '"':
		return r.unexpected(c)
	}
	text, err := r.readText()
	if err != nil {
		return err
	}
	if shared {
		*to = r.name(text)
	} else {
		*to = string(text)
	}
	return nil
}

// name returns a text that decisions share: a list has few origins and scenarios.
func (r *reader) name(text []byte) string {
	if known, ok := r.names[string(text)]; ok {
		return known
	}
	name := string(text)
	if len(r.names) < mostNames {
		r.names[name] = name
	}
	return name
}
