package pattern

import (
	"slices"
	"strings"
	"sync"
)

// service is how one program writes what clients did: expressions that hold where the
// service itself writes the address. They are judged as an operator's are, so that no
// name, path or agent that a client sends can move the address. They are written from the
// program's own format string, which the comment beside them names, and not from samples.
// Where a log writes what clients sent on both sides of the address, as Gitea's does, it is
// forgeable. In the expressions, ADDR stands for the group addr.
type service struct {
	name     string
	failures []string // a login was refused
	rejected []string // a rule of the service's own refused something
	connects []string // a connection, and nothing that came of it
	others   []string // with the groups of their kinds
	// Lines of a connection with a number, which is the group connection, whose address is
	// in the line that opens it: what clients did, and the end.
	opens, goesOn, closes []string
	// forgeable says that the log does not prove that the client is at the address:
	// it came in a datagram, or a client can write the line's fields.
	forgeable bool
	// paths is the format of a log in JSON, instead of all above.
	paths string
	// shared says that other programs write the lines, whose services count them too.
	shared bool
}

var services = slices.Concat(errorLogServices, hostServices, mailServices, fileServices, dataServices, voiceServices, webServices, mediaServices, jsonServices)

// ServiceNames returns the names of all services, in order.
func ServiceNames() []string {
	var names []string
	for i := range services {
		names = append(names, services[i].name)
	}
	slices.Sort(names)
	return names
}

// ServicePaths returns the format, by paths, of a service that logs in JSON;
// empty if none has this name.
func ServicePaths(name string) string {
	for i := range services {
		if services[i].name == name {
			return services[i].paths
		}
	}
	return ""
}

// Service returns the expressions of the services that are named, joined by +. It is nil if
// one of them is not known, or logs in JSON. A test judges all of them as an operator's are,
// which takes a hundred times as long as to compile them.
func Service(names string) *Expressions {
	all := &Expressions{}
	for name := range strings.SplitSeq(names, "+") {
		i := slices.IndexFunc(services, func(s service) bool { return s.name == name && s.paths == "" })
		if i < 0 {
			return nil
		}
		e := services[i].compiled()
		all.patterns = append(all.patterns, e.patterns...)
		all.kinds |= e.kinds
		w := e.writers[0]
		w.until = len(all.patterns)
		all.writers = append(all.writers, w)
	}
	return all
}

// Shared reports whether other programs write the lines that the service of this name reads.
func Shared(name string) bool {
	return slices.ContainsFunc(services, func(s service) bool { return s.name == name && s.shared })
}

// compiled are the expressions of each service that was asked for.
var compiled sync.Map

func (s *service) compiled() *Expressions {
	if e, ok := compiled.Load(s.name); ok {
		return e.(*Expressions)
	}
	e := &Expressions{writers: []writer{s.writer()}}
	for i, exprs := range [][]string{whole: s.expressions(), opens: s.opens, goesOn: s.goesOn, closes: s.closes} {
		for _, expr := range exprs {
			p, kinds, _, err := readExpression(expanded(expr))
			if err != nil {
				panic(s.name + ": " + err.Error()) // a test compiles all
			}
			if p.part = part(i); p.part == whole || p.part == goesOn {
				e.kinds |= kinds
			}
			e.patterns = append(e.patterns, p)
		}
	}
	compiled.Store(s.name, e)
	return e
}

func (s *service) expressions() (exprs []string) {
	for _, kind := range []struct {
		group string
		exprs []string
	}{{"(?P<auth_failure>)", s.failures}, {"(?P<rejection>)", s.rejected}, {"(?P<handshake>)", s.connects}, {"", s.others}} {
		group := kind.group
		if s.forgeable {
			group += "(?P<forgeable>)"
		}
		for _, expr := range kind.exprs {
			if rest, ok := strings.CutPrefix(expr, "{}"); ok && !s.shared && !strings.HasPrefix(rest, "ADDR") { // a daemon may write down what it prints
				expr = "{?" + s.name + "*}" + rest
			}
			exprs = append(exprs, marked(expr, group))
		}
	}
	return exprs
}

// marked puts empty groups behind the beginning of an expression.
func marked(expr, groups string) string {
	head := 1 // of ^
	if expr[0] == '{' {
		head = strings.IndexByte(expr, '}') + 1
	}
	return expanded(expr[:head] + groups + expr[head:])
}

// expanded puts the groups where their names are.
func expanded(expr string) string {
	return strings.NewReplacer("ADDR", "(?P<addr>[^ ]+)", "CONN", `(?P<connection>\d{1,19})`).Replace(expr)
}
