package logline

import (
	"fmt"
	"strings"
	"time"
)

// Format says how the lines of a log are laid out. It is immutable and safe
// for concurrent use; [ParseFormat] makes one.
type Format struct {
	name string
	// start makes the parser of one file. The rest of the file's state, such
	// as the columns of a header, is the parser's.
	start func(zone *time.Location) parser
}

// String gives the format as it was asked for, to show people what was chosen.
func (f *Format) String() string { return f.name }

// HasHeader reports whether a log of this format begins with a line that names
// its columns.
func (f *Format) HasHeader() bool {
	_, ok := f.start(time.UTC).(header)
	return ok
}

// combined and its kin are lenient on their right: whatever a server appends
// after the agent is passed over, and a line whose referer or agent is broken
// (a cut line, a server that does not escape) still counts, without an agent.
const (
	commonHead   = `%h %l %u %t "%r" %>s`
	commonTail   = ` %b`
	combinedTail = ` %b "%{Referer}i" "%{User-Agent}i"`
	// Where the host is as the client wrote it, an older server may have let him
	// write a blank, so that a user's name and it leave two readings. A port that
	// the server writes behind the host shows where that ends: no server lets a
	// colon into a host's name.
	vhostHead  = `%v:%p %h %l %u %t "%r" %>s`
	vhostLoose = `%V %h %l %u %t "%r" %>s`
)

// formats are those with a name, in the order in which auto tries them.
var formats = []*Format{
	{name: "json", start: func(zone *time.Location) parser { return newJSONParser(zone) }},
	{name: "combined", start: startText(apacheText(commonHead, combinedTail))},
	{name: "haproxy", start: func(zone *time.Location) parser { return newHAProxyParser(zone) }},
	{name: "vhost_combined", start: startText(vhostText())},
	{name: "common", start: startText(apacheText(commonHead, commonTail))},
}

const formatHint = "auto, combined, common, vhost_combined, json, haproxy, an nginx log_format or Apache LogFormat string, " +
	"or csv:time=COLUMN,addr=COLUMN"

// ParseFormat reads a format as an operator writes it: one of the names
// combined, common, vhost_combined, json, haproxy; an nginx log_format (it has
// a $) or an Apache LogFormat (it has a %), either as the bare string or as the
// whole directive; or csv:time=COLUMN,addr=COLUMN and more, as the package's page
// says. "auto" and "" give nil: then [Detect] finds it. The error says what is
// wrong and how to write it.
func ParseFormat(s string) (*Format, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "auto" {
		return nil, nil
	}
	for _, f := range formats {
		if f.name == s {
			return f, nil
		}
	}
	switch {
	case strings.HasPrefix(s, "csv"):
		return parseCSVFormat(s)
	case strings.HasPrefix(s, "log_format") || strings.Contains(s, "$"):
		return textFormat(s, compileNginx)
	case strings.HasPrefix(s, "LogFormat") || strings.Contains(s, "%"):
		return textFormat(s, compileApache)
	}
	return nil, fmt.Errorf("unknown log format %q: use %s", s, formatHint)
}

func textFormat(s string, compile func(string) (*program, error)) (*Format, error) {
	p, err := compile(s)
	if err != nil {
		return nil, fmt.Errorf("log format %q: %w", s, err)
	}
	return &Format{name: s, start: startText(layout{head: p})}, nil
}

func startText(l layout) func(*time.Location) parser {
	return func(zone *time.Location) parser { return newTextParser(l, zone) }
}

// apacheText compiles one of our own formats; they are constants, so that an
// error in one is ours and shows in the first test.
func apacheText(head, tail string) layout {
	h, err := compileApache(head)
	if err != nil {
		panic(err)
	}
	t, err := compileTail(tail)
	if err != nil {
		panic(err)
	}
	return layout{head: h, tail: t}
}

// vhostText is the combined format behind a host, with its port or without.
func vhostText() layout {
	l := apacheText(vhostHead, combinedTail)
	l.loose = apacheText(vhostLoose, combinedTail).head
	return l
}
