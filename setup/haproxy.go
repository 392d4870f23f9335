package setup

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"edgeguard/logline"
)

// haproxy reads HAProxy's configuration. HAProxy writes no file: it sends its lines to
// syslog, whose configuration says which file they end in.
type haproxy struct {
	*source
	targets []Log // Unusable is the target, so far
	// formats are those of its lines that have requests, each once.
	formats []string
}

func readHAProxy(s *source, file string) error {
	text, err := s.readFile(file)
	if err != nil {
		return err
	}
	h := &haproxy{source: s}
	sections := haproxySections{found: &s.found, modes: map[string]string{}, formats: map[string]bool{}}
	number, begins := 0, 0
	for line := range strings.Lines(text) {
		number++
		words, ends := splitWords(strings.TrimRight(line, "\r\n")), begins+len(strings.TrimRight(line, "\r\n"))
		h.directive(words, lineOf(file, number))
		sections.line(words, number, mark{file: file, after: ends})
		begins += len(line)
	}
	sections.end()
	s.found.http.mark = mark{file: file, after: len(text)}
	format := h.chosen(file)
	for _, target := range h.targets {
		s.addLog(h.resolve(target, format))
	}
	return nil
}

// chosen returns the format of the lines, and tells what is not read of them.
func (h *haproxy) chosen(file string) string {
	switch {
	case len(h.targets) == 0:
	case len(h.formats) == 0:
		h.doubt("%s: without `option httplog` its log has no requests", file)
	case len(h.formats) > 1:
		h.doubt("%s: its sections log in %d formats, of which `option httplog` is read: use one, or a log of its own for each", file, len(h.formats))
	default:
		if _, err := logline.ParseFormat(h.formats[0]); err != nil {
			h.doubt("%s: log-format: %v: use `option httplog`", file, err)
			break
		}
		return h.formats[0]
	}
	return httplog
}

// httplog is the format of `option httplog`, and of httpslog.
const httplog = "haproxy"

func (h *haproxy) directive(words []string, where string) {
	if len(words) < 2 {
		return
	}
	switch {
	case words[0] == "option" && (words[1] == "httplog" || words[1] == "httpslog"):
		h.note(httplog)
	case words[0] == "log-format":
		h.note(words[1])
	case words[0] == "log" && words[1] != "global" && len(h.targets) < mostLogs:
		if len(words) > 3 && words[len(words)-2] == "local1" && words[len(words)-1] == "notice" {
			return // Debian's second line: what happens to HAProxy itself
		}
		h.targets = append(h.targets, Log{At: where, Unusable: words[1]})
	}
}

func (h *haproxy) note(format string) {
	if !slices.Contains(h.formats, format) {
		h.formats = append(h.formats, format)
	}
}

// resolve returns the file in which the lines to a target end.
func (h *haproxy) resolve(l Log, format string) Log {
	target := l.Unusable
	for _, kind := range []string{"unix@", "uxdg@", "udp@", "ipv4@"} {
		target = strings.TrimPrefix(target, kind)
	}
	switch {
	case path.Base(target) == "log" && path.Base(path.Dir(target)) == "dev", strings.HasPrefix(target, "127."), target == "localhost":
		if file := h.syslog(); file != "" {
			return Log{File: file, Format: format, At: l.At}
		}
		l.Unusable = "goes to " + target + ", and no rsyslog writes it into a file: install rsyslog (Debian's haproxy has the rule for it), or see edgeguard snippets haproxy"
	default:
		l.Unusable = "goes to " + target + ": name the file that it ends in with --log, or see edgeguard snippets haproxy"
	}
	return l
}

// inRule is a file in a rule of rsyslog, in either of its languages.
var inRule = regexp.MustCompile(`(?:^|[\s"{-])(/[^\s";{}]+)`)

// daemon is rsyslog itself: HAProxy's package brings a rule for it, also where it is
// not installed.
const daemon = "/usr/sbin/rsyslogd"

// syslog returns the file into which rsyslog writes HAProxy's lines.
func (h *haproxy) syslog() string {
	if len(h.files.Glob(daemon)) == 0 {
		return ""
	}
	for _, file := range append(h.files.Glob("/etc/rsyslog.d/*.conf"), "/etc/rsyslog.conf") {
		text, err := h.readFile(file)
		if err != nil {
			continue
		}
		of := false // within the rule of haproxy
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			switch {
			case line == "" || line[0] == '#' || line[0] == '$':
				continue
			case strings.Contains(line, "haproxy"):
				of = true
			case line == "}":
				of = false
			}
			if m := inRule.FindStringSubmatch(line); of && m != nil {
				return m[1]
			}
		}
	}
	return ""
}
