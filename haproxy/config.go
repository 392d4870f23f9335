package haproxy

import (
	"fmt"
	"strings"

	"edgeguard"
	"edgeguard/rules"
)

// ConfigPlace is how haproxy.cfg names what the columns use.
type ConfigPlace struct {
	Peers string // the peers section with the table
	Slot  int    // of the sticky counter: sc0, sc1 or sc2
}

// Frontend returns the lines that count in a frontend, each ended by a line feed: they
// belong before all other rules of it, and behind those that set src.
func (c *Columns) Frontend(w ConfigPlace) string {
	if len(c.List) == 0 {
		return ""
	}
	out := &lines{}
	out.add("http-request track-sc%d src,ipmask(%d,%d) table %s/%s", w.Slot, keyV4, keyV6, w.Peers, c.Table())
	c.variables(out)
	for i := range c.List {
		c.List[i].write(out, i, w.Slot)
	}
	return out.text.String()
}

// Declaration returns the line that declares the table in the peers section; empty
// without columns.
func (c *Columns) Declaration() string {
	if len(c.List) == 0 {
		return ""
	}
	return fmt.Sprintf("table %s type ipv6 size 1m expire 10m store gpc(%d)\n", c.Table(), len(c.List))
}

// lines are lines of haproxy.cfg.
type lines struct{ text strings.Builder }

func (l *lines) add(format string, args ...any) {
	fmt.Fprintf(&l.text, format+"\n", args...)
}

// variables writes the method, the path and the host as rules compare them, where a
// column asks for them.
func (c *Columns) variables(out *lines) {
	var fields edgeguard.Field
	for i := range c.List {
		fields |= c.List[i].terms.Fields
	}
	if fields&edgeguard.FieldMethod != 0 {
		out.add("http-request set-var(%s) method,upper", methodVar)
	}
	if fields&edgeguard.FieldPath != 0 {
		out.add("http-request set-var(%s) path", pathVar)
		out.add("http-request set-var(%s) str(/) if !{ var(%s) -m found }", pathVar, pathVar)
		out.add("http-request set-var(%s) '%s' if { var(%s) -m sub %% }", pathVar, decodePath, pathVar)
		out.add("http-request set-var(%s) '%s' if { var(%s) -m sub // /. }", pathVar,
			splitPath+strings.Repeat(dotdot, dotdots)+joinPath, pathVar)
	}
	if fields&edgeguard.FieldHost != 0 {
		out.add("http-request set-var(%s) req.fhdr(host),host_only,lower,rtrim(.)", hostVar)
	}
}

// write writes the lines of one column.
func (c *Column) write(out *lines, i, slot int) {
	out.add("# %d: %s", i, c.rules)
	request := c.acls(out, i)
	if c.kind == edgeguard.KindRequest {
		out.add("http-request sc-inc-gpc(%d,%d)%s", i, slot, condition(request...))
		return
	}
	var answer []string
	if len(request) > 0 { // an answer's rules no longer see the request
		out.add("http-request set-var(txn.eg_%d) bool(true)%s", i, condition(request...))
		answer = append(answer, fmt.Sprintf("{ var(txn.eg_%d) -m bool }", i))
	}
	if c.terms.Fields&edgeguard.FieldStatus != 0 {
		answer = append(answer, statuses(c.terms.Status))
	}
	out.add("http-response sc-inc-gpc(%d,%d)%s", i, slot, condition(answer...))
}

func condition(all ...string) string {
	if len(all) == 0 {
		return ""
	}
	return " if " + strings.Join(all, " ")
}

// statuses returns the test of an answer's status. No rule has more runs than HAProxy
// takes words in a line: they do not touch, and there are 900 statuses.
func statuses(all []rules.Range) string {
	var b strings.Builder
	b.WriteString("{ status")
	for _, r := range all {
		fmt.Fprintf(&b, " %d:%d", r.Low, r.High)
	}
	return b.String() + " }"
}

// acls writes what the column asks of a request as ACLs, and returns the words of the
// condition that uses them.
func (c *Column) acls(out *lines, i int) (words []string) {
	for _, f := range []struct {
		name, variable string
		texts          rules.Texts
	}{
		{"method", methodVar, c.terms.Method},
		{"host", hostVar, c.terms.Host},
		{"path", pathVar, c.terms.Path},
	} {
		if f.texts.Any != nil {
			name := fmt.Sprintf("eg_%d_%s", i, f.name)
			acl(out, name, f.variable, f.texts.Any)
			words = append(words, name)
		}
		if f.texts.None != nil {
			name := fmt.Sprintf("eg_%d_not_%s", i, f.name)
			acl(out, name, f.variable, f.texts.None)
			words = append(words, "!"+name)
		}
	}
	return words
}

// perLine is how many patterns a line has: HAProxy takes 64 words in one.
const perLine = 16

// acl writes an ACL that is true for any of the patterns.
func acl(out *lines, name, variable string, globs []rules.Glob) {
	for _, how := range []string{"str", "beg", "end", "sub", "reg"} {
		var words []string
		for _, glob := range globs {
			if by, text := pattern(glob); by == how {
				words = append(words, quote(text))
			}
		}
		for len(words) > 0 {
			n := min(perLine, len(words))
			out.add("acl %s var(%s) -m %s -- %s", name, variable, how, strings.Join(words[:n], " "))
			words = words[n:]
		}
	}
}

// pattern returns how HAProxy compares with a glob, and its text.
func pattern(g rules.Glob) (how, text string) {
	last := len(g) - 1
	switch {
	case last == 0:
		return "str", g[0]
	case last == 1 && g[1] == "" && g[0] != "":
		return "beg", g[0]
	case last == 1 && g[0] == "" && g[1] != "":
		return "end", g[1]
	case last == 2 && g[0] == "" && g[2] == "":
		return "sub", g[1]
	}
	var b strings.Builder
	for i, part := range g {
		if i > 0 {
			b.WriteString(".*")
		}
		for _, c := range []byte(part) {
			if strings.IndexByte(`\.+*?()|[]{}^$`, c) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		}
	}
	return "reg", "^" + b.String() + "$"
}

// quote returns a text as one word of haproxy.cfg. Between apostrophes nothing has a
// meaning; an apostrophe itself is written outside of them.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
