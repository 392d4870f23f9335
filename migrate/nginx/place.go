package nginx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard/migrate/condition"
)

// place is where a limit_req stands: in http, in a server or in a location.
type place struct {
	server   *node // nil for http
	location *node // nil for a server
	nested   bool  // in another location, or in another block
	dryRun   bool
	status   string
}

// places walks through the configuration, and makes the rules.
func (im *importer) places() {
	top := place{}
	im.make(im.http, &top)
	for _, s := range im.servers {
		p := top
		p.server = s
		im.make(s, &p)
		im.locations(s, p, false)
	}
}

// locations walks through the blocks of a server or location.
func (im *importer) locations(in *node, p place, nested bool) {
	for _, l := range in.inner {
		if !l.block {
			continue
		}
		q := p
		q.location, q.nested = l, nested || l.word(0) != "location"
		im.make(l, &q)
		im.locations(l, q, true)
	}
}

// make makes the rules of one block, and notes what inner blocks inherit.
func (im *importer) make(n *node, p *place) {
	for _, d := range n.find("limit_req_dry_run") {
		p.dryRun = d.word(1) == "on"
	}
	for _, d := range n.find("limit_req_status") {
		p.status = d.word(1)
	}
	for _, d := range n.find("limit_req") {
		im.rule(d, p)
	}
}

// name returns a part of a rule's name.
func (p *place) name() string {
	switch {
	case p.location != nil:
		return "-" + strings.Trim(p.location.words[len(p.location.words)-1], "/^$~")
	case p.server != nil && len(p.server.find("server_name")) > 0:
		return "-" + p.server.find("server_name")[0].word(1)
	}
	return ""
}

// says names the place.
func (p *place) says() string {
	switch {
	case p.location != nil:
		return fmt.Sprintf("%s of the server at %s.", strings.Join(p.location.words, " "), p.server.at())
	case p.server != nil:
		return fmt.Sprintf("The server at %s, without locations that have a limit_req of their own.", p.server.at())
	}
	return "All servers, without those and without locations that have a limit_req of their own."
}

// limited reports whether a block has a limit_req of its own, which replaces those around
// it.
func limited(n *node) bool { return len(n.find("limit_req")) > 0 }

// condition returns which requests a place is for.
func (im *importer) condition(p *place) (*condition.Node, error) {
	if p.nested {
		return nil, fmt.Errorf("it is in a block inside of another: %s at %s", strings.Join(p.location.words, " "), p.location.at())
	}
	if p.server == nil {
		return im.once(im.http, im.everywhere)
	}
	if err := answered(p); err != nil {
		return nil, err
	}
	hosts, err := im.hosts(p.server)
	if err != nil {
		return nil, err
	}
	if p.location != nil {
		served, err := im.location(p.server, p.location)
		return join(hosts, served, condition.And), err
	}
	without, err := im.withoutLimited(p.server)
	return join(hosts, without, condition.And), err
}

// join joins what may be nil after an error.
func join(a, b *condition.Node, how func(...*condition.Node) *condition.Node) *condition.Node {
	if a == nil || b == nil {
		return nil
	}
	return how(a, b)
}

// everywhere returns the condition of a limit_req of http: all that no inner one is for.
func (im *importer) everywhere() (*condition.Node, error) {
	var all []*condition.Node
	for _, s := range im.servers {
		inner := slices.ContainsFunc(s.inner, func(l *node) bool { return l.word(0) == "location" && limited(l) })
		if !limited(s) && !inner {
			continue
		}
		served, err := im.hosts(s)
		if err == nil && !limited(s) {
			var rest *condition.Node
			if rest, err = im.withoutLimited(s); err == nil {
				served = condition.And(served, condition.Not(rest))
			}
		}
		if err != nil {
			return nil, err
		}
		if served.IsAlways() {
			return nil, errors.New("every request has a limit_req of its own")
		}
		all = append(all, condition.Not(served))
	}
	return condition.And(all...), nil
}

// withoutLimited returns which paths of a server are served by no location with a
// limit_req of its own.
func (im *importer) withoutLimited(s *node) (*condition.Node, error) {
	var all []*condition.Node
	for _, l := range s.find("location") {
		if !limited(l) {
			nested := false
			l.all(func(n *node) { nested = nested || n.word(0) == "limit_req" })
			if nested {
				return nil, fmt.Errorf("a location inside of the one at %s has a limit_req of its own", l.at())
			}
			continue
		}
		served, err := im.location(s, l)
		if err != nil {
			return nil, err
		}
		if served.IsAlways() {
			return nil, errors.New("every location has a limit_req of its own")
		}
		all = append(all, condition.Not(served))
	}
	return condition.And(all...), nil
}
