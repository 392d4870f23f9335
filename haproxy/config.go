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
	fold := false
	for i := range c.List {
		fields |= c.List[i].terms.Fields
		fold = fold || c.List[i].terms.Fold
	}
	if fields&edgeguard.FieldMethod != 0 {
		out.add("http-request set-var(%s) method,upper", methodVar)
	}
	if fields&edgeguard.FieldPath != 0 {
		out.add("http-request set-var(%s) path", pathVar)
		out.add("http-request set-var(%s) str(/) if !{ var(%s) -m found }", pathVar, pathVar)
		out.resolve(pathVar, "eg_deep")
	}
	if fold {
		out.add("http-request set-var(%s) '%s' if { path -m sub ';' %%3b %%3B }", cutVar, cutPath)
		out.resolve(cutVar, "eg_cut_deep")
		for _, path := range []string{pathVar, cutVar} {
			out.add("http-request set-var(%s) 'var(%s)%s'", foldVar(path), path, foldPath)
			out.add("http-request set-var(%s) 'var(%s)%s' if { var(%s) -m sub . }", bareVar(path), foldVar(path), barePath, foldVar(path))
		}
	}
	if fields&edgeguard.FieldHost != 0 {
		out.add("http-request set-var(%s) req.fhdr(host),host_only,lower,rtrim(.)", hostVar)
	}
}

// resolve writes the lines that bring the path in a variable into normal form, and an ACL
// that is true where they could not.
func (l *lines) resolve(variable, deep string) {
	l.add("http-request set-var(%s) 'var(%s)%s' if { var(%s) -m sub %% }", variable, variable, decodePath, variable)
	l.add("http-request set-var(%s) 'var(%s)%s' if { var(%s) -m sub // /. }", variable, variable,
		splitPath+strings.Repeat(dotdot, dotdots)+joinPath, variable)
	l.add("acl %s var(%s) -m sub %s", deep, variable, unresolved)
}

// write writes the lines of one column.
func (c *Column) write(out *lines, i, slot int) {
	out.add("# %d: %s", i, c.rules)
	request := c.acls(out, i)
	if c.kind == edgeguard.KindRequest {
		out.add("http-request sc-inc-gpc(%d,%d)%s", i, slot, condition(request))
		return
	}
	var answer []string
	if request != "" { // an answer's rules no longer see the request
		out.add("http-request set-var(txn.eg_%d) bool(true)%s", i, condition(request))
		answer = append(answer, fmt.Sprintf("{ var(txn.eg_%d) -m bool }", i))
	}
	if c.terms.Fields&edgeguard.FieldStatus != 0 {
		answer = append(answer, statuses(c.terms.Status))
	}
	out.add("http-response sc-inc-gpc(%d,%d)%s", i, slot, condition(strings.Join(answer, " ")))
}

func condition(words string) string {
	if words == "" {
		return ""
	}
	return " if " + words
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

// acls writes what the column asks of a request as ACLs, and returns the condition that uses
// them; empty if it asks nothing.
func (c *Column) acls(out *lines, i int) string {
	words := texts(out, fmt.Sprintf("eg_%d_method", i), c.terms.Method, methodVar)
	words = append(words, texts(out, fmt.Sprintf("eg_%d_host", i), c.terms.Host, hostVar)...)
	if c.terms.Fields&edgeguard.FieldPath == 0 {
		return strings.Join(words, " ")
	}
	var ways []string // in which the path may match
	way := func(more ...string) {
		ways = append(ways, strings.Join(append(words[:len(words):len(words)], more...), " "))
	}
	path, cut := fmt.Sprintf("eg_%d_path", i), fmt.Sprintf("eg_%d_cut", i)
	if !c.terms.Fold {
		way(texts(out, path, c.terms.Path, pathVar)...)
		way("eg_deep")
		return strings.Join(ways, " or ")
	}
	way(texts(out, path, c.terms.Path, foldVar(pathVar), bareVar(pathVar))...)
	way(append(texts(out, cut, c.terms.Path, foldVar(cutVar), bareVar(cutVar)), fmt.Sprintf("{ var(%s) -m found }", cutVar))...)
	way("eg_deep")
	way("eg_cut_deep")
	return strings.Join(ways, " or ")
}

// texts writes what is asked of one field, which has one of the variables' values, and
// returns the words of the condition.
func texts(out *lines, name string, t rules.Texts, variables ...string) (words []string) {
	if t.Any != nil {
		acl(out, name, t.Any, variables)
		words = append(words, name)
	}
	if t.None != nil {
		acl(out, name+"_not", t.None, variables)
		words = append(words, "!"+name+"_not")
	}
	return words
}

// perLine is how many patterns a line has: HAProxy takes 64 words in one.
const perLine = 16

// acl writes an ACL that is true where any of the patterns is that of a variable.
func acl(out *lines, name string, globs []rules.Glob, variables []string) {
	for _, how := range []string{"str", "beg", "end", "sub", "reg"} {
		var words []string
		for _, glob := range globs {
			if by, text := pattern(glob); by == how {
				words = append(words, quote(text))
			}
		}
		for len(words) > 0 {
			n := min(perLine, len(words))
			for _, variable := range variables {
				out.add("acl %s var(%s) -m %s -- %s", name, variable, how, strings.Join(words[:n], " "))
			}
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
