package nginx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"edgeguard/migrate"
)

// place is where a limit_req stands: in http, in a server or in a location.
type place struct {
	server   *ConfNode // nil for http
	location *ConfNode // nil for a server
	nested   bool      // in another location, or in another block
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
func (im *importer) locations(in *ConfNode, p place, nested bool) {
	for _, l := range in.Inner {
		if !l.Block {
			continue
		}
		q := p
		q.location, q.nested = l, nested || l.Word(0) != "location"
		im.make(l, &q)
		im.locations(l, q, true)
	}
}

// make makes the rules of one block, and notes what inner blocks inherit.
func (im *importer) make(n *ConfNode, p *place) {
	for _, d := range n.Directives("limit_req_dry_run") {
		p.dryRun = d.Word(1) == "on"
	}
	for _, d := range n.Directives("limit_req_status") {
		p.status = d.Word(1)
	}
	for _, d := range n.Directives("limit_req") {
		im.makeRule(d, p)
	}
}

// namePart returns a part of a rule's name.
func (p *place) namePart() string {
	switch {
	case p.location != nil:
		return "-" + strings.Trim(p.location.Words[len(p.location.Words)-1], "/^$~")
	case p.server != nil && len(p.server.Directives("server_name")) > 0:
		return "-" + p.server.Directives("server_name")[0].Word(1)
	}
	return ""
}

// described names the place.
func (p *place) described() string {
	switch {
	case p.location != nil:
		return fmt.Sprintf("%s of the server at %s.", strings.Join(p.location.Words, " "), p.server.Place())
	case p.server != nil:
		return fmt.Sprintf("The server at %s, without locations that have a limit_req of their own.", p.server.Place())
	}
	return "All servers, without those and without locations that have a limit_req of their own."
}

// limited reports whether a block has a limit_req of its own, which replaces those around
// it.
func limited(n *ConfNode) bool { return len(n.Directives("limit_req")) > 0 }

// condition returns which requests a place is for.
func (im *importer) condition(p *place) (*migrate.Condition, error) {
	if p.nested {
		return nil, fmt.Errorf("it is in a block inside of another: %s at %s", strings.Join(p.location.Words, " "), p.location.Place())
	}
	if p.server == nil {
		return im.readOnce(im.http, im.everywhere)
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
		return join(hosts, served, migrate.AllOf), err
	}
	without, err := im.withoutLimited(p.server)
	return join(hosts, without, migrate.AllOf), err
}

// join joins what may be nil after an error.
func join(a, b *migrate.Condition, how func(...*migrate.Condition) *migrate.Condition) *migrate.Condition {
	if a == nil || b == nil {
		return nil
	}
	return how(a, b)
}

// everywhere returns the condition of a limit_req of http: all that no inner one is for.
func (im *importer) everywhere() (*migrate.Condition, error) {
	var all []*migrate.Condition
	for _, s := range im.servers {
		inner := slices.ContainsFunc(s.Inner, func(l *ConfNode) bool {
			return l.Word(0) == "location" && (limited(l) || len(l.Directives("return")) > 0)
		})
		if !limited(s) && !inner {
			continue
		}
		served, err := im.hosts(s)
		if err == nil && !limited(s) {
			var rest *migrate.Condition
			if rest, err = im.withoutLimited(s); err == nil {
				served = migrate.AllOf(served, migrate.Negate(rest))
			}
		}
		if err != nil {
			return nil, err
		}
		if served.IsAlways() {
			return nil, errors.New("every request has a limit_req of its own")
		}
		all = append(all, migrate.Negate(served))
	}
	return migrate.AllOf(all...), nil
}

// withoutLimited returns which paths of a server are served by no location with a
// limit_req of its own, and by none that answers by itself: nginx does that first.
func (im *importer) withoutLimited(s *ConfNode) (*migrate.Condition, error) {
	var all []*migrate.Condition
	for _, l := range s.Directives("location") {
		if !limited(l) && len(l.Directives("return")) == 0 {
			nested := false
			l.EachBelow(func(n *ConfNode) { nested = nested || n.Word(0) == "limit_req" })
			if nested {
				return nil, fmt.Errorf("a location inside of the one at %s has a limit_req of its own", l.Place())
			}
			continue
		}
		served, err := im.location(s, l)
		if err != nil {
			return nil, err
		}
		if served.IsAlways() {
			return nil, errors.New("every location has a limit_req of its own, or answers by itself")
		}
		all = append(all, migrate.Negate(served))
	}
	return migrate.AllOf(all...), nil
}
