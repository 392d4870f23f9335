package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"edgeguard"
)

// kindOf finds the one kind that a rule counts.
func (c *compiler) kindOf(spec *Spec, expression *when) edgeguard.Kind {
	if spec.Match.Kind == nil {
		if namesStatus(spec) || expression != nil && expression.fields&edgeguard.FieldStatus != 0 {
			return edgeguard.KindResponse
		}
		return edgeguard.KindRequest
	}
	kinds := c.kinds("match.kind", spec.Match.Kind)
	if len(spec.Match.Kind) > 1 {
		c.problem("match.kind", flaw{"a rule counts one kind", "write one rule for each kind"})
	}
	if spec.Match.Not != nil && kinds&c.kindsOf(spec.Match.Not.Kind) != 0 {
		c.problem("match.not.kind", flaw{"excludes the kind that the rule counts", "remove it"})
	}
	return kinds
}

// namesStatus reports whether a rule speaks of a status anywhere: then it is
// about answers.
func namesStatus(spec *Spec) bool {
	names := func(m *Match) bool {
		return m.Status != nil || m.Not != nil && m.Not.Status != nil
	}
	return names(&spec.Match) || slices.ContainsFunc(spec.Costs, func(charge Charge) bool { return names(&charge.Match) })
}

// sends reports whether methods are given, and each sends something.
func sends(methods []string) bool {
	return len(methods) > 0 && !slices.ContainsFunc(methods, func(m string) bool {
		return slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, strings.ToUpper(m))
	})
}

func (c *compiler) kindsOf(names []string) (kinds edgeguard.Kind) {
	for _, name := range names {
		kind, _ := edgeguard.ParseKind(name)
		kinds |= kind
	}
	return kinds
}

func (c *compiler) kinds(path string, names []string) edgeguard.Kind {
	c.checkGiven(path, names)
	for i, name := range names {
		if _, ok := edgeguard.ParseKind(name); !ok {
			c.problem(itemPath(path, i), flaw{fmt.Sprintf("unknown kind %.40q", name), "use " + strings.Join(edgeguard.Kinds(), ", ")})
		}
	}
	return c.kindsOf(names)
}

// matchCompiler compiles one match.
type matchCompiler struct {
	*compiler
	path      string // of the match
	compiled  predicate
	canonical []string
}

// predicate compiles a match and writes it down in its canonical form.
func (c *compiler) predicate(path string, m *Match, fold bool, own *Hosts) (predicate, string) {
	not := m.Not
	if not == nil {
		not = &Match{}
	}
	if not.Not != nil {
		c.problem(path+".not.not", flaw{"not cannot be nested", "remove it"})
	}
	mc := matchCompiler{compiler: c, path: path}
	readPath := parsePath
	if fold {
		readPath = parseFolded
	}
	p := &mc.compiled
	p.uncountable = m.uncountable()
	p.notKinds = c.kinds(path+".not.kind", not.Kind)
	if p.notKinds != 0 {
		mc.canonical = append(mc.canonical, "not kind="+p.notKinds.String())
	}
	mc.numbers("status", m.Status, not.Status, parseStatus, &p.status)
	mc.numbers("port", m.Port, not.Port, parsePort, &p.port)
	mc.texts("method", m.Method, not.Method, parseMethod, &p.method)
	p.methods = lengthsOf(m.Method) | lengthsOf(not.Method)
	mc.texts("path", m.Path, not.Path, readPath, &p.path)
	mc.texts("host", m.Host, not.Host, parseHost, &p.host)
	mc.texts("crawler", m.Crawler, not.Crawler, parseCrawler, &p.crawler)
	mc.targets(m.Target, not.Target, own)
	return mc.compiled, strings.Join(mc.canonical, ", ")
}

// numbers compiles one field's numbers, with those under not taken out.
func (c *matchCompiler) numbers(name string, any, none []string, parse func(string) (span, flaw), into *ranges) {
	if any == nil && none == nil {
		return
	}
	c.compiled.need |= fieldNamed(name)
	in := c.ranges(c.path+"."+name, any, parse)
	*into = in.without(c.ranges(c.path+".not."+name, none, parse))
	if len(in) > 0 && len(*into) == 0 {
		c.problem(c.path+".not."+name, takesAll)
	}
	c.canonical = append(c.canonical, fmt.Sprintf("%s=%v", name, *into))
}

// texts compiles one field's texts.
func (c *matchCompiler) texts(name string, any, none []string, parse func(string) ([]string, flaw), into *term) {
	if any == nil && none == nil {
		return
	}
	c.compiled.need |= fieldNamed(name)
	these, in := c.patterns(c.path+"."+name, any, parse)
	those, out := c.patterns(c.path+".not."+name, none, parse)
	if in != "" && in == out {
		c.problem(c.path+".not."+name, takesAll)
	}
	*into = newTerm(any == nil, these, those)
	c.canonical = append(c.canonical, fmt.Sprintf("%s=%s not %s", name, in, out))
}

var takesAll = flaw{"excludes everything that the rule matches", "remove it"}

// checkGiven refuses a list without values: it could mean all or nothing.
func (c *compiler) checkGiven(path string, values []string) bool {
	if values != nil && len(values) == 0 {
		c.problem(path, flaw{"is an empty list", "remove it, or name at least one value"})
	}
	return len(values) > 0
}

func (c *compiler) ranges(path string, values []string, parse func(string) (span, flaw)) ranges {
	if !c.checkGiven(path, values) {
		return nil
	}
	var spans []span
	for i, value := range values {
		s, flaw := parse(value)
		if flaw.text != "" {
			c.problem(itemPath(path, i), flaw)
			continue
		}
		spans = append(spans, s)
	}
	return newRanges(spans)
}

// patterns compiles texts, once each, and writes them down sorted.
func (c *compiler) patterns(path string, values []string, parse func(string) ([]string, flaw)) ([][]string, string) {
	var all [][]string
	var written []string
	seen := make(map[string]bool)
	c.checkGiven(path, values)
	for i, value := range values {
		parts, flaw := parse(value)
		if flaw.text != "" {
			c.problem(itemPath(path, i), flaw)
			continue
		}
		quoted := make([]string, len(parts))
		for j, part := range parts {
			quoted[j] = strconv.Quote(part)
		}
		text := strings.Join(quoted, "*")
		if !seen[text] {
			seen[text] = true
			written = append(written, text)
			all = append(all, parts)
		}
	}
	slices.Sort(written)
	return all, strings.Join(written, "|")
}

func itemPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
