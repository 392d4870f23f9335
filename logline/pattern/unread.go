package pattern

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"edgeguard/logline/scan"
)

const (
	// enoughFailures is how many lines of a program that say a failure must come, and none be read, until it is said.
	enoughFailures = 20
	// enoughOthers is how many lines of other programs may come before the first of those that are read.
	enoughOthers = 1000
	// looked is how much of a line is looked at.
	looked = 512
)

// failure is what a line says that should count. What honest clients of sshd cause is harmless: they offer each of
// their keys, and forward to ports that are closed.
var (
	failure  = regexp.MustCompile(`(?i)\b(?:fail(?:ed|ures?)?|unsuccessful|invalid|incorrect|wrong|bad|mismatch|denied|refused|reject(?:ed)?|unauthorized|not allowed)\b`)
	harmless = regexp.MustCompile(`Failed (?:none|publickey) for |error: connect_to `)
)

// writer is one of the services of some expressions.
type writer struct {
	name   string
	until  int                   // the patterns before that are its own
	named  func() *regexp.Regexp // a header that names it, nil if none does
	bare   bool                  // its lines may have no header
	shared bool
}

// tally is what came of a program's lines.
type tally struct {
	read     bool // one was understood
	failures uint64
	example  string
}

// writer returns how lines show that they are the service's.
func (s *service) writer() writer {
	var tags []string
	w := writer{name: s.name, shared: s.shared}
	for _, expr := range slices.Concat(s.expressions(), s.opens, s.goesOn, s.closes) {
		tag, _, headed := strings.Cut(strings.TrimPrefix(expr, "{"), "}")
		headed = headed && expr[0] == '{'
		w.bare = w.bare || !headed || tag == "" || tag[0] == '?'
		if tag = strings.TrimPrefix(tag, "?"); headed && tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > 0 {
		w.named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + syslogHeader(tagExpr(strings.Join(tags, "|")))) })
	}
	return w
}

// passOver notes which service may have written a line that was passed over, and whether the line looks as if it should count.
func (p *expressionsParser) passOver(line []byte, stamp int) {
	line = line[:min(len(line), stamp+looked)]
	header, _ := p.text(&expression{headed: true}, line, stamp)
	headed := p.program != nil || scan.SyslogPrefix(line) > 0 && scan.Container(line) == 0
	known := headed // which program each writer is
	for i := range p.format.writers {
		who, t := &p.format.writers[i], &p.tallies[i]
		named := who.named != nil && who.named().Match(header)
		known = known && (who.named != nil || who.shared)
		if who.shared || !named && (headed || !who.bare || stamp == 0) {
			continue
		}
		p.ownCame = true
		fails := !t.read && failure.Match(line) && !harmless.Match(line)
		if t.read || named && !fails {
			p.quiet++
		} else if fails {
			if t.failures++; t.example == "" {
				t.example = scan.Printable(line)
			}
		}
		return
	}
	if known && (p.ownCame || p.others < enoughOthers) {
		p.others++
		p.quiet++
	}
}

// understood notes that a line was read by a pattern.
func (p *expressionsParser) understood(pattern int) {
	for i := range p.tallies {
		if pattern < p.format.writers[i].until {
			p.tallies[i].read, p.ownCame = true, true
			return
		}
	}
}

// Watch implements [scan.Understands].
func (p *expressionsParser) Watch() { p.tallies = make([]tally, len(p.format.writers)) }

// Quiet implements [scan.Understands].
func (p *expressionsParser) Quiet() uint64 { return p.quiet }

// Unread implements [scan.Understands].
func (p *expressionsParser) Unread() (all []scan.Unread) {
	for i := range p.tallies {
		if t := &p.tallies[i]; !t.read && t.failures >= enoughFailures {
			all = append(all, scan.Unread{Program: p.format.writers[i].name, Lines: t.failures, Example: t.example})
		}
	}
	return all
}
