package pattern

import (
	"slices"
	"strings"
)

// service is how one program writes what clients did: expressions that hold where the
// service itself writes the address. They are judged as an operator's are, so that no
// name, path or agent that a client sends can move the address. Where a log writes what
// clients sent on both sides of the address, as Gitea and Samba do, there is none. In the expressions, ADDR
// stands for the group addr.
type service struct {
	name     string
	failures []string // a login was refused
	rejected []string // a rule of the service's own refused something
	connects []string // a connection, and nothing that came of it
	others   []string // with the groups of their kinds
	// forgeable says that the log does not prove that the client is at the address:
	// it came in a datagram, or a client can write the line's fields.
	forgeable bool
	// paths is the format of a log in JSON, instead of all above.
	paths string
}

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

// ServiceExpressions returns the expressions of the services that are named, joined by +. It is
// nil if one of them is not known, or logs in JSON.
func ServiceExpressions(names string) (exprs []string) {
	for name := range strings.SplitSeq(names, "+") {
		i := slices.IndexFunc(services, func(s service) bool { return s.name == name && s.paths == "" })
		if i < 0 {
			return nil
		}
		exprs = append(exprs, services[i].expressions()...)
	}
	return exprs
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
	return expr[:head] + groups + strings.Replace(expr[head:], "ADDR", "(?P<addr>[^ ]+)", 1)
}
