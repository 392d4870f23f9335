package nginx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard/migrate"
)

// names returns the names of a server, without those that no host has. ".example.org" is
// two.
func names(s *ConfNode) []string {
	var all []string
	for _, n := range s.Directives("server_name") {
		for _, name := range n.Words[min(1, len(n.Words)):] {
			name = strings.ToLower(name)
			each := []string{name}
			if strings.HasPrefix(name, ".") {
				each = []string{name[1:], "*" + name}
			}
			for _, name := range each {
				if name != "" && name != "_" && !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// hosts returns which hosts a server is for.
func (im *importer) hosts(s *ConfNode) (*migrate.Condition, error) {
	return im.readOnce(s, func() (*migrate.Condition, error) { return im.hostsOf(s) })
}

func (im *importer) hostsOf(s *ConfNode) (*migrate.Condition, error) {
	if len(im.servers) == 1 {
		return migrate.Always(), nil
	}
	mine := im.names[s]
	if len(mine) == 0 {
		return im.otherHosts(s)
	}
	var any []*migrate.Condition
	for _, name := range mine {
		n, err := host(name)
		if err != nil {
			return nil, fmt.Errorf("server_name %s at %s: %w", name, s.Place(), err)
		}
		taken, err := im.taken(s, name)
		if err != nil {
			return nil, err
		}
		any = append(any, migrate.AllOf(append([]*migrate.Condition{n}, taken...)...))
	}
	return migrate.AnyOf(any...), nil
}

// otherHosts returns the hosts that no server names, if only one server can be for them.
func (im *importer) otherHosts(s *ConfNode) (*migrate.Condition, error) {
	var all []*migrate.Condition
	for _, other := range im.servers {
		if other == s {
			continue
		}
		if len(im.names[other]) == 0 {
			return nil, fmt.Errorf("the servers at %s and %s have no names: which of them serves a host depends on `listen`", s.Place(), other.Place())
		}
		for _, name := range im.names[other] {
			n, err := host(name)
			if err != nil {
				return nil, fmt.Errorf("server_name %s at %s: %w", name, other.Place(), err)
			}
			all = append(all, migrate.Negate(n))
		}
	}
	return migrate.AllOf(all...), nil
}

// host returns which hosts a name is for.
func host(name string) (*migrate.Condition, error) {
	switch {
	case strings.HasPrefix(name, "~"), strings.Contains(name, "$"):
		return nil, errors.New("a regular expression or a variable as a name cannot be said")
	case strings.HasPrefix(name, "*."):
		return migrate.TextIs(migrate.Host, migrate.Ends, name[1:], false)
	case strings.HasSuffix(name, ".*"):
		return migrate.TextIs(migrate.Host, migrate.Begins, strings.TrimSuffix(name, "*"), false)
	}
	return migrate.TextIs(migrate.Host, migrate.Equals, strings.TrimSuffix(name, "."), false)
}

// taken returns what of the hosts of a name other servers serve: they name them more
// exactly.
func (im *importer) taken(s *ConfNode, name string) ([]*migrate.Condition, error) {
	if !strings.Contains(name, "*") {
		return nil, nil
	}
	var all []*migrate.Condition
	for _, other := range im.servers {
		if other == s {
			continue
		}
		for _, o := range im.names[other] {
			if o == name || !within(o, name) {
				continue
			}
			if len(all) >= mostTaken {
				return nil, fmt.Errorf("server_name %s at %s: other servers have more than %d names that may be more exact", name, s.Place(), mostTaken)
			}
			n, err := host(o)
			if err != nil {
				return nil, fmt.Errorf("server_name %s at %s: %w", o, other.Place(), err)
			}
			all = append(all, migrate.Negate(n))
		}
	}
	return all, nil
}

// mostTaken is more than a rule can say.
const mostTaken = 200

// within reports whether nginx prefers the first name to the second, a wildcard, for some
// host: exact names come first, then the longest with a star at the beginning, and then
// the longest with one at the end.
func within(name, wildcard string) bool {
	if end, atEnd := strings.CutSuffix(wildcard, "*"); atEnd {
		return !strings.HasSuffix(name, ".*") || strings.HasPrefix(name, end)
	}
	return !strings.HasSuffix(name, ".*") && strings.HasSuffix(name, wildcard[1:])
}

// doubts says what may be counted here and not there.
func (im *importer) doubts(p *place) []string {
	var all []string
	if p.server == nil {
		return im.elsewhere()
	}
	if p.location == nil {
		all = moving(p.server)
	} else {
		all = im.arrivals(p)
	}
	if len(im.servers) > 1 && len(im.names[p.server]) > 0 {
		isDefault := p.server == im.servers[0]
		for _, n := range p.server.Directives("listen") {
			isDefault = isDefault || slices.Contains(n.Words, "default_server") || slices.Contains(n.Words, "default")
		}
		if isDefault {
			all = append(all, "WARNING: as a default server it also serves hosts that no server names. These are not counted here.")
		}
	}
	for _, other := range im.namesakes(p.server) {
		all = append(all, fmt.Sprintf("WARNING: the server at %s has one of its names, at another address or port. Its requests are counted here, too.", other.Place()))
	}
	return all
}

// namesakes returns other servers that have a name of a server, at most a few more than
// are said.
func (im *importer) namesakes(s *ConfNode) []*ConfNode {
	var all []*ConfNode
	for _, name := range im.names[s] {
		for _, other := range im.owners[name] {
			if other != s && !slices.Contains(all, other) {
				all = append(all, other)
			}
			if len(all) > mostDoubts {
				return all
			}
		}
	}
	return all
}

// answers are the directives after which limit_req may not see a request.
var answers = []string{"if", "return", "rewrite"}

// answered refuses a place where other directives decide which requests limit_req sees.
func answered(p *place) error {
	for _, in := range []*ConfNode{p.server, p.location} {
		if in == nil {
			continue
		}
		for _, n := range in.Inner {
			if slices.Contains(answers, n.Word(0)) {
				return fmt.Errorf("%s at %s: what it answers or moves elsewhere, nginx does not count", n.Word(0), n.Place())
			}
		}
	}
	return nil
}

// elsewhere says which servers answer requests before a limit_req of http sees them.
func (im *importer) elsewhere() []string {
	var all []string
	for _, s := range im.servers {
		if limited(s) {
			for _, other := range im.namesakes(s) {
				if !limited(other) {
					all = append(all, fmt.Sprintf("WARNING: the server at %s has a name of one with a limit_req of its own. Its requests are not counted here.", other.Place()))
				}
			}
			continue
		}
		if slices.ContainsFunc(s.Inner, func(n *ConfNode) bool { return slices.Contains(answers, n.Word(0)) }) {
			all = append(all, fmt.Sprintf("WARNING: the server at %s has if, return or rewrite. What these answer is counted here, and not by nginx.", s.Place()))
		}
		all = append(all, moving(s)...)
	}
	return all
}

// moving says which locations that inherit a limit_req have directives that end or move
// requests before it sees them. Those with a return alone are no part of the rule.
func moving(s *ConfNode) []string {
	var all []string
	for _, l := range s.Directives("location") {
		if !limited(l) && len(l.Directives("return")) == 0 && len(l.Directives("if"))+len(l.Directives("rewrite")) > 0 {
			all = append(all, fmt.Sprintf("WARNING: %s at %s has if or rewrite. What these answer is counted here, and not by nginx.", strings.Join(l.Words, " "), l.Place()))
		}
	}
	return all
}
