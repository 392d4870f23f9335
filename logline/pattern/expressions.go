package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode"

	"edgeguard"
	"edgeguard/logline/scan"
)

// maxPattern bounds an expression's length.
const maxPattern = 4 << 10

// Expressions are one or several, of which the first that matches a line
// counts. They are immutable and safe for concurrent use.
type Expressions struct {
	patterns []*expression
	kinds    edgeguard.Kind
	writers  []writer // of services
}

// expression is one compiled expression.
type expression struct {
	re      *regexp.Regexp
	groups  []group // of each subexpression; the first is the whole match
	literal string  // is in every line that matches
	message bool    // it is matched behind the stamp
	headed  bool    // and begins with a header that names a program
	either  bool    // or may begin with one, which is the first group
	part    part
	layout  scan.DateFormat
}

// part is what a line says of a connection whose lines have its number, and whose address
// is in the first of them only. Services have such lines, and no operator's expression.
type part uint8

const (
	whole  part = iota // the address is in the line
	opens              // the number and the address
	goesOn             // the number, and what the client did
	closes             // the number alone
)

// group is what a named group holds: a [scan.LinePart], or one of these.
type group = scan.LinePart

const (
	groupForgeable = scan.Parts + iota
	groupConnection
	groupKind // and above: the kinds, in the order of their bits
)

var groupNames = map[string]group{
	"": scan.PartNone, "addr": scan.PartAddr, "time": scan.PartTime, "request_line": scan.PartRequest, "method": scan.PartMethod, "path": scan.PartPath,
	"status": scan.PartStatus, "agent": scan.PartAgent, "user_agent": scan.PartAgent, "host": scan.PartHost, "node": scan.PartNode,
	"port": scan.PartPort, "forgeable": groupForgeable,
}

// ParseExpressions reads regex:EXPRESSION or regex[LAYOUT]:EXPRESSION as an operator writes
// it. LAYOUT is that of the group time, in the verbs of strftime, where it is none
// of the usual ones.
func ParseExpressions(s string) (*Expressions, error) {
	head, expr, found := strings.Cut(s, ":")
	if layout, ok := strings.CutPrefix(s, "regex["); ok {
		layout, expr, found = strings.Cut(layout, "]:")
		head = "regex[" + layout + "]"
	}
	if !found || expr == "" {
		return nil, errors.New(`write regex:EXPRESSION, such as regex:^(?P<addr>\S+) failed to log in`)
	}
	layout := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(head, "regex"), "["), "]")
	return CompileExpressions(layout, expr)
}

// CompileExpressions compiles expressions, as [ParseExpressions] takes one; layout is that of their
// group time, empty for the usual ones. The error says which expression is wrong,
// and why.
func CompileExpressions(layout string, exprs ...string) (*Expressions, error) {
	f := &Expressions{}
	var date scan.DateFormat
	if layout != "" {
		var err error
		if date, err = scan.CompileDate(layout); err != nil {
			return nil, err
		}
	}
	for _, expr := range exprs {
		p, kinds, tree, err := readExpression(expr)
		if err == nil {
			err = checkFixed(tree, "addr")
		}
		if err == nil && slices.Contains(p.groups, groupConnection) {
			err = errors.New("the group connection is for services")
		}
		if err != nil {
			return nil, fmt.Errorf("expression %s: %w", scan.Printable([]byte(expr)), err)
		}
		if p.layout = date; date != nil && !slices.Contains(p.groups, scan.PartTime) {
			return nil, errors.New("a layout is given, and the expression has no group time")
		}
		f.patterns = append(f.patterns, p)
		f.kinds |= kinds
	}
	return f, nil
}

// Kinds returns what a line can be reported as.
func (f *Expressions) Kinds() edgeguard.Kind { return f.kinds }

// Parser returns the parser of one log. Zone is that of times that name none.
func (f *Expressions) Parser(zone *time.Location) scan.LineParser {
	return &expressionsParser{format: f, Clock: scan.Clock{Zone: zone}}
}

// readExpression compiles an expression, and does not judge it. The tree is what it says.
func readExpression(expr string) (p *expression, kinds edgeguard.Kind, tree *syntax.Regexp, err error) {
	if len(expr) > maxPattern {
		return nil, 0, nil, fmt.Errorf("longer than %d bytes", maxPattern)
	}
	p = &expression{}
	p.either = strings.HasPrefix(expr, "{?")
	p.headed = strings.HasPrefix(expr, "{") && !strings.HasPrefix(expr, "{}") && !p.either
	if expr, p.message, err = withoutHead(expr); err != nil {
		return nil, 0, nil, err
	}
	if tree, err = syntax.Parse(expr, syntax.Perl); err != nil {
		return nil, 0, nil, err
	}
	narrow(tree)
	if p.re, err = regexp.Compile(exprText(tree)); err != nil {
		return nil, 0, nil, err
	}
	if kinds, err = p.name(tree); err != nil {
		return nil, 0, nil, err
	}
	p.literal = longestLiteral(tree)
	return p, kinds, tree, nil
}

// exprText is tree.String(), a hundred times as fast. For each class that goes up to the last rune, such as [^"] or \S,
// String looks at all letters whether they fold (1.4 s for the expressions of all services), so each of these classes is
// a rune without a case while it runs.
func exprText(tree *syntax.Regexp) string {
	var wide []*syntax.Regexp
	var saved []syntax.Regexp
	var replace []string
	var collect func(re *syntax.Regexp)
	collect = func(re *syntax.Regexp) {
		if n := len(re.Rune); re.Op == syntax.OpCharClass && n > 0 && re.Rune[n-1] == unicode.MaxRune {
			var class strings.Builder
			for i := 0; i < n; i += 2 {
				fmt.Fprintf(&class, `\x{%x}-\x{%x}`, re.Rune[i], re.Rune[i+1])
			}
			stand := firstPrivate + rune(len(wide))
			replace = append(replace, fmt.Sprintf(`\x{%x}`, stand), `(?-i:[`+class.String()+`])`)
			wide, saved = append(wide, re), append(saved, *re)
			re.Op, re.Rune = syntax.OpLiteral, []rune{stand}
		}
		for _, sub := range re.Sub {
			collect(sub)
		}
	}
	collect(tree)
	text := tree.String()
	for i, re := range wide {
		*re = saved[i]
	}
	if strings.Count(text, `\x{10`) != len(wide) { // the expression has such runes itself
		return tree.String()
	}
	return strings.NewReplacer(replace...).Replace(text)
}

// firstPrivate begins a plane of runes that no log has.
const firstPrivate = 0x100000

// addrRunes are those of an address, with a port and brackets or without, as
// pairs of the first and the last.
var addrRunes = []rune{'.', '.', '0', ':', 'A', 'F', '[', '[', ']', ']', 'a', 'f'}

// narrow lets the group addr match what can be an address, so that another word
// in its place, such as "from", is no second reading of a line.
func narrow(re *syntax.Regexp) {
	if re.Op == syntax.OpCapture && re.Name == "addr" {
		narrowAll(re)
		return
	}
	for _, sub := range re.Sub {
		narrow(sub)
	}
}

func narrowAll(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		re.Op, re.Rune = syntax.OpCharClass, slices.Clone(addrRunes)
	case syntax.OpCharClass:
		var both []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for j := 0; j < len(addrRunes); j += 2 {
				if from, to := max(re.Rune[i], addrRunes[j]), min(re.Rune[i+1], addrRunes[j+1]); from <= to {
					both = append(both, from, to)
				}
			}
		}
		re.Rune = both
	}
	for _, sub := range re.Sub {
		narrowAll(sub)
	}
}

// name finds what the groups hold, and what the expression can report.
func (p *expression) name(tree *syntax.Regexp) (kinds edgeguard.Kind, err error) {
	status := false
	for _, name := range p.re.SubexpNames() {
		g, known := groupNames[name]
		if kind, ok := edgeguard.ParseKind(name); ok {
			kinds |= kind
			g, known = groupOf(kind), true
		}
		if name == "connection" {
			g, known = groupConnection, true
		}
		if !known {
			return 0, fmt.Errorf("unknown group %q: use addr, time, request_line, method, path, status, user_agent, host, node, port, forgeable or a kind of event (%s); (?:…) needs no name",
				name, strings.Join(edgeguard.Kinds(), ", "))
		}
		if g != scan.PartNone && g != groupForgeable && slices.Contains(p.groups, g) {
			return 0, fmt.Errorf("the group %s is there twice", name)
		}
		status = status || g == scan.PartStatus
		p.groups = append(p.groups, g)
	}
	if kinds == 0 || !p.always(tree) {
		kinds |= edgeguard.KindRequest
		if status {
			kinds |= edgeguard.KindResponse
		}
	}
	return kinds, nil
}

// always reports whether a group of a kind takes part in every match.
func (p *expression) always(tree *syntax.Regexp) bool {
	return slices.ContainsFunc(tree.Sub, func(sub *syntax.Regexp) bool {
		return sub.Op == syntax.OpCapture && p.groups[sub.Cap] >= groupKind
	})
}

// groupOf returns the group of one kind.
func groupOf(kind edgeguard.Kind) group {
	g := groupKind
	for ; kind > 1; kind >>= 1 {
		g++
	}
	return g
}

// longestLiteral returns a text that every line has which the expression matches;
// lines without it need not be matched. It may be empty.
func longestLiteral(re *syntax.Regexp) (longest string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpConcat, syntax.OpPlus:
		for _, sub := range re.Sub {
			if text := longestLiteral(sub); len(text) > len(longest) {
				longest = text
			}
		}
	}
	return longest
}

// withoutHead takes {PROGRAM|PROGRAM} off the front of an expression, and puts the
// expression of a syslog header there; {} is a time stamp alone, and {?PROGRAM} is either,
// also the header before the program's own stamp. All are matched behind the line's first
// stamp.
func withoutHead(expr string) (rest string, message bool, err error) {
	if !strings.HasPrefix(expr, "{") {
		return expr, false, nil
	}
	programs, rest, found := strings.Cut(expr[1:], "}")
	if !found {
		return "", false, errors.New("{ has no }: write {PROGRAM} for a syslog header, {} for a time stamp, or \\{")
	}
	if programs == "" {
		return "^" + rest, true, nil
	}
	programs, either := strings.CutPrefix(programs, "?")
	if strings.Trim(programs, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./*|") != "" {
		return "", false, fmt.Errorf("{%s} is not the name of a program, with * for what differs, or names joined by |", programs)
	}
	header := syslogHeader(tagExpr(programs))
	if either {
		return "^(" + header + ownStamp + ")?" + rest, true, nil
	}
	return "^" + header + rest, true, nil
}

// tagExpr is the expression of programs' names in a header.
func tagExpr(programs string) string {
	return "(?:" + strings.NewReplacer(".", `\.`, "*", `[\w./()-]*`).Replace(programs) + ")"
}

// syslogHeader is what daemons write between a stamp and the message of a program.
func syslogHeader(tag string) string {
	const (
		host  = hostWord + ` `
		level = `(?:<[\w.]+> )?`                                                                // of FreeBSD's syslogd -v
		busy  = `(?:(?:auth|authpriv|cron|daemon|ftp|kern|local\d|mail|syslog|user)\.[a-z]+ )?` // of BusyBox
	)
	return `(?:(?:` + level + `(?:` + host + `)?` + busy + tag + `(?:\[\d+\]:?|:) |\[` + tag + `\] |` + // of RFC 3164 and of metalog
		host + tag + ` [^ ]+ [^ ]+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) )` + // of RFC 5424
		`\x{FEFF}?)`
}

// hostWord is a host in a header, also as an IPv6 address or with the source of syslog-ng; never
// a tag, which ends in a colon.
const hostWord = `(?:[\w.@/-]|:+[\w.@/-])+`

// ownStamp is what a program writes that stamps its lines itself, where a daemon has
// stamped them already.
const ownStamp = `(?:\[?(?:\d{4}[-/.]\d\d[-/.]\d\d[T -]|\d\d-[A-Z][a-z]{2}-\d{4} |[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d )\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d|\d{4}))?\]?:? ?)?`
