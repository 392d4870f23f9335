package rules

import (
	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// predicate is a compiled [Match]. Plain structs, looked through from the
// cheapest to the dearest, rather than a closure for each term: every call
// that is saved is a tenth of the whole.
type predicate struct {
	need               edgeguard.Field // what must be known for anything to match
	notKinds           edgeguard.Kind
	status, port       ranges
	method, path, host term
	crawler            term     // of who the client is, as a crawler
	methods            lengths  // of the texts of method
	target             target   // 0 where it is not asked for
	own                *Hosts   // of the site, for target
	uncountable        []string // terms that proxies cannot count
}

// matchFields looks at all that needs no normal form.
func (p *predicate) matchFields(ev *edgeguard.Event) bool {
	return ev.Known&p.need == p.need &&
		ev.Kind&p.notKinds == 0 &&
		p.status.has(ev.Status) &&
		p.port.has(ev.Port) &&
		(p.need&edgeguard.FieldMethod == 0 ||
			p.matchMethod(ev.Method)) &&
		(p.need&edgeguard.FieldCrawler == 0 || p.crawler.match(ev.Crawler)) &&
		(p.target == 0 || p.target&targetOf(ev, p.own) != 0)
}

func (p *predicate) matchMethod(method string) bool {
	if !p.methods.has(method) { // nearly always, and the text need not be fetched for it
		return p.method.open
	}
	if plainMethod(method) {
		return p.method.match(method)
	}
	return p.matchOddMethod(method)
}

// matchOddMethod is a separate function, so that only odd methods pay for the
// room.
//
//go:noinline
func (p *predicate) matchOddMethod(method string) bool {
	var room [methodRoom]byte
	return p.method.match(unsafetext.String(appendUpper(room[:0], method)))
}

// matchTexts looks at the rest: the path is in a form that is compared, the host as sent.
func (p *predicate) matchTexts(host string, f form) bool {
	return p.matchPath(f) && p.matchHost(host)
}

func (p *predicate) matchPath(f form) bool {
	switch {
	case p.need&edgeguard.FieldPath == 0:
		return true
	case f.bare == "":
		return p.path.match(f.path)
	}
	return p.path.matchEither(f.path, f.bare)
}

func (p *predicate) matchHost(host string) bool {
	if p.need&edgeguard.FieldHost == 0 || p.host.matchAsIs(host) {
		return true
	}
	if plainHost(host) {
		return p.host.match(host)
	}
	return p.matchOddHost(host)
}

// matchOddHost is a separate function, so that only odd hosts pay for the
// room.
//
//go:noinline
func (p *predicate) matchOddHost(host string) bool {
	var room [hostRoom]byte
	return p.host.match(unsafetext.String(normalHost(room[:0], host)))
}
