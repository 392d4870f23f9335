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

// formats are those with a name, in the order in which auto tries them.
var formats = []*Format{
	{name: "json", start: newJSONParser},
	{name: "combined", start: combined().parser},
	{name: "haproxy", start: newHAProxyParser},
	{name: "vhost_combined", start: vhostCombined().parser},
	{name: "common", start: common().parser},
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
	start, err := compileFormat(s)
	if err != nil {
		return nil, fmt.Errorf("log format %q: %w", s, err)
	}
	if start == nil {
		return nil, fmt.Errorf("unknown log format %q: use %s", s, formatHint)
	}
	return &Format{name: s, start: start}, nil
}

// compileFormat returns what makes the parser of a format without a name, nil
// if s is not one.
func compileFormat(s string) (start func(*time.Location) parser, err error) {
	switch {
	case strings.HasPrefix(s, "csv"):
		c, err := parseCSV(s)
		return c.parser, err
	case strings.HasPrefix(s, "log_format") || strings.Contains(s, "$"):
		l, err := nginx(s)
		return l.parser, err
	case strings.HasPrefix(s, "LogFormat") || strings.Contains(s, "%"):
		l, err := apache(s)
		return l.parser, err
	}
	return nil, nil
}
