package logline

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/internal/nearest"
	"edgeguard/logline/formats"
	"edgeguard/logline/pattern"
	"edgeguard/logline/scan"
)

// Format says how the lines of a log are laid out. It is immutable and safe
// for concurrent use; [ParseFormat] makes one.
type Format struct {
	name string
	// start makes the parser of one file. The rest of the file's state, such
	// as the columns of a header, is the parser's.
	start func(zone *time.Location) scan.LineParser
	wraps bool // the lines are in envelopes
	// kinds is what a line may be reported as; 0 for requests and their answers.
	kinds edgeguard.Kind
	// fields is what a line may supply; 0 where that hangs on the log.
	fields edgeguard.Field
	// reads is whose logs they are, as docs/formats.md has it; only names have it.
	reads   string
	service bool // the lines are a service's
	// caution is what must hold that no line shows.
	caution  string
	endsHost bool
}

// String returns the format as it was asked for, to show people what was chosen.
func (f *Format) String() string { return f.name }

// Caution returns what an operator must know before events of this format may
// block, empty if there is nothing: then a log may be read by it because its lines
// look so, and else only because a config names it.
func (f *Format) Caution() string { return f.caution }

// EndsHost reports whether a host that clients write ends at its first blank. nginx takes
// no blank in one since 1.21.1, and Apache since 2.4.25; with an older one a client can
// write another's address there.
func (f *Format) EndsHost() bool { return f.endsHost }

// IsService reports whether the lines are those of a service, of which most say nothing of a
// client. A log is followed as such only because a config names it: a few lines at a
// time do not show it.
func (f *Format) IsService() bool { return f.service }

// HasHeader reports whether a log of this format begins with a line that names
// its columns.
func (f *Format) HasHeader() bool {
	_, ok := f.start(time.UTC).(scan.Header)
	return ok
}

// Fields returns what a line of this format may supply: all, where its columns or
// names decide that and not the format.
func (f *Format) Fields() edgeguard.Field {
	if f.fields == 0 {
		return ^edgeguard.Field(0)
	}
	return f.fields
}

// Kinds returns what a line of this format may be reported as.
func (f *Format) Kinds() edgeguard.Kind {
	if f.kinds == 0 {
		return edgeguard.KindRequest | edgeguard.KindResponse
	}
	return f.kinds
}

// ParseFormat reads a format as an operator writes it. It is one of [Names]; or an nginx
// log_format (it has a $), HAProxy's log-format (it has a %ci) or an Apache LogFormat (it has a %), as the bare string
// or the whole directive; or w3c: and the columns of a W3C log; or
// csv:time=COLUMN,addr=COLUMN and more, as the package's page says; or json: and
// paths; or regex: and an expression; or the names of services, such as sshd or
// postfix+dovecot. Before it, docker:, journald:, vector: or fluentbit: names the envelope of each line.
//
// For "auto" and "" it returns nil: then [Detect] finds the format. The error says
// what is wrong and how to write it.
func ParseFormat(s string) (*Format, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "auto" {
		return nil, nil
	}
	if f := named(s); f != nil {
		return f, nil
	}
	f, err := compileFormat(s)
	if err != nil {
		return nil, fmt.Errorf("log format %q: %w", s, err)
	}
	if f.start == nil {
		meant, usual := "", ""
		if near, ok := nearest.Name(s, Names()); ok {
			meant = "did you mean " + near + "? Else "
		}
		if s == "nginx" || s == "apache" || s == "httpd" {
			usual = "combined, which " + s + " writes unless its config says otherwise, or one of "
		}
		return nil, fmt.Errorf("unknown log format %q: %suse %s%s", s, meant, usual, formatHint())
	}
	f.name = s
	return f, nil
}

// compileFormat returns the format of a text that is no name; it has no start if
// the text is none.
func compileFormat(s string) (*Format, error) {
	if name, inside, found := strings.Cut(s, ":"); found {
		if form := formats.FindEnvelope(name); form != nil {
			return compileInside(form, inside)
		}
	}
	if paths := pattern.ServicePaths(s); paths != "" {
		f, err := compileFormat(paths)
		if err == nil {
			f.service = true
		}
		return f, err
	}
	if e := pattern.Service(s); e != nil {
		return &Format{start: e.Parser, kinds: e.Kinds(), service: true}, nil
	}
	switch {
	case strings.HasPrefix(s, "regex"):
		r, err := pattern.ParseExpressions(s)
		if err != nil {
			return nil, err
		}
		return &Format{start: r.Parser, kinds: r.Kinds()}, nil
	case strings.HasPrefix(s, formats.JSONPathsPrefix):
		p, err := formats.ParseJSONPaths(s)
		if err != nil {
			return nil, err
		}
		return &Format{start: p.Parser, kinds: p.Kinds()}, nil
	case strings.HasPrefix(s, "csv"):
		c, err := formats.ParseCSV(s)
		return &Format{start: c.Parser}, err
	case strings.HasPrefix(s, formats.W3CPrefix):
		c, err := formats.ParseW3C(s)
		return &Format{start: c.Parser}, err
	case strings.Contains(s, formats.HAProxyCaptures):
		own := *named("haproxy")
		return &own, nil
	case pattern.IsHAProxy(s):
		l, err := pattern.HAProxy(s)
		return &Format{start: l.Parser}, err
	case strings.HasPrefix(s, "log_format") || strings.Contains(s, "$"):
		l, err := pattern.Nginx(s)
		return &Format{start: l.Parser, endsHost: l.EndsHost()}, err
	case strings.HasPrefix(s, "LogFormat") || strings.Contains(s, "%"):
		l, err := pattern.Apache(s)
		return &Format{start: l.Parser, endsHost: l.EndsHost()}, err
	}
	return &Format{}, nil
}

// compileInside returns the format of lines in envelopes.
func compileInside(form *formats.Envelope, s string) (*Format, error) {
	if name, _, found := strings.Cut(strings.TrimSpace(s), ":"); found && formats.FindEnvelope(name) != nil {
		return nil, errors.New("one envelope is taken off: name the format of the line in it")
	}
	f, err := ParseFormat(s)
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, fmt.Errorf("name the format of the lines in the envelopes: %s:combined", form.Name)
	case f.HasHeader():
		return nil, errors.New("a delimited file begins with its header, which an envelope does not")
	}
	return &Format{start: form.Wrap(f.start), kinds: f.kinds, fields: f.fields, caution: f.caution, endsHost: f.endsHost, service: f.service}, nil
}
